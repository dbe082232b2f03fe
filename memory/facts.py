"""Owns what a finished turn says that is worth a note: the deterministic engine.

It works on the user's sentences, in English and Chinese, and keeps them in the user's own words:
subject, negation and speaker stay as they were said. Questions, requests, hypotheticals, fiction,
quotations and pasted documents yield nothing; dates are made absolute.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, tzinfo

from memory import fact_cues as cues
from memory.dates import absolute, mentions
from memory.notes import Note
from memory.patterns import Pattern
from memory.tokens import CJK
from memory.transcript import Turn

LONGEST = 400
TOGETHER = 260
"""Characters up to which a fact takes in the sentences that go on about it."""
_QUOTED = Pattern(
    r"\"[^\"\n]{8,}\"|“[^”\n]{6,}”|「[^」\n]{6,}」|(?<![\w])'[^'\n]{12,}'(?!\w)|‘[^’\n]{8,}’"
)
_FENCED = Pattern(r"```.*?(?:```|\Z)", re.DOTALL)
_END = Pattern(
    r"(?<=[!?。！？])\s*|(?<=[a-z0-9)\"'’”%])\.(?=\s|$)\s*|(?<=[A-Z]{2})\.\s+|[;；]\s*|\n+|…+|\.{3,}"
)
_TAG = Pattern(
    r",?\s*\b(?:ok(?:ay)?|right|yeah|pls|please|alright|deal)\?\s*$|(?:好吗|好吧|行吗|可以吗|哈|哦|啊)[?？]?$",
    re.I,
)
_TAIL = Pattern(
    r"[,，]?\s*(?:\b(?:so|and|but|any idea|or)\b\s+)?\b(?:what|how|which|where|who|can|could|should|would|do|does|is|are|any)\b[^,]*\?\s*$",
    re.I,
)
_FIRST_PERSON = Pattern(r"\b(?:i|i'?m|i'?ve|my|we|our)\b|我|咱", re.IGNORECASE)
_CLAUSE_ZH = Pattern(r"[，,、]\s*|\s+(?=[\u4e00-\u9fff])")


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """One thing worth keeping: its kind, in whose words, about whom."""

    kind: str
    text: str
    about_user: bool
    negated: bool


def facts(text: str, today: date, *, corrects: bool = False) -> list[Fact]:
    """Return what ``text``, said by the user on ``today``, tells that lasts.

    ``corrects`` says that the assistant had spoken just before, so that "no, on Thursday" can be
    a correction of it.
    """
    found: list[Fact] = []
    own = _own_words(text)
    if own is None:
        return found
    loose = ""  # a statement without a cue; it goes with the next one that has too little to stand alone
    attached = False  # whether the last sentence belongs to the last fact
    for position, sentence in enumerate(_sentences(own)):
        told = _told(sentence)
        if told is None:
            loose, attached = "", False
            continue
        kind = _kind(told, today, corrects and position < 2)
        if kind is None:
            # What follows a fact without a question between goes on about it.
            if attached and len(found[-1].text) + len(told) < TOGETHER and not _asks(told):
                found[-1] = _fact(found[-1].kind, f"{found[-1].text}. {absolute(told, today)}")
            else:
                loose, attached = told, False
            continue
        goes_on = bool(cues.GOES_ON.search(told))
        if (_is_thin(told) or goes_on) and (loose or attached):
            if attached:
                found[-1] = _fact(found[-1].kind, f"{found[-1].text}. {absolute(told, today)}")
                continue
            told = f"{loose}. {told}"
        elif _is_thin(told) and len(told) < 12 and not CJK.search(told):
            continue
        found.append(_fact(kind, absolute(told, today)))
        loose, attached = "", True
    return found


def _fact(kind: str, text: str) -> Fact:
    return Fact(
        kind=kind,
        text=text,
        about_user=kind not in ("person", "lesson"),
        negated=bool(cues.NEGATIVE.search(text)),
    )


def _asks(told: str) -> bool:
    return bool(cues.REQUEST.search(told))


def _is_thin(told: str) -> bool:
    """Whether a sentence says too little without the one before: few words, no name, no number."""
    if CJK.search(told):
        return len(CJK.findall(told)) <= 6 and not re.search(r"\d|我", told)
    return len(told.split()) <= 8 and not (
        re.search(r"\d|(?<=\s)[A-Z][a-z]", told) or re.search(r"\b(?:i|my|we)\b", told, re.I)
    )


def notes_of(turn: Turn, zone: tzinfo) -> list[Note]:
    """Return the notes that a finished turn is worth; only what the user said counts."""
    notes = []
    for message in turn.messages:
        if message.role != "user":
            continue
        when = message.created.astimezone(zone)
        for fact in facts(message.text, when.date()):
            notes.append(Note(kind=fact.kind, text=fact.text, who="you", turn=turn.id, when=when))
    return notes


def wish(text: str, today: date) -> Fact | None:
    """Return what a message asks, in so many words, to remember; None when it asks for nothing, or
    for a task ("remember to call") or a recollection ("remember when we met?")."""
    own = _own_words(text)
    for sentence in _sentences(own) if own else ():
        match = cues.REMEMBER.search(sentence)
        if match is None or cues.QUESTION.search(sentence):
            continue
        told = (match["what"] or match["zh"]).strip(" .。!！")
        if len(told.split()) < 2 and not CJK.search(told):
            return None
        if cues.NO_WISH.search(told) or cues.TAKEN_BACK.search(own or "") or _then_asks(told):
            return None
        told = absolute(told[0].upper() + told[1:], today)
        kind = _kind(told, today, corrects=False) or "fact"
        about_user = bool(_FIRST_PERSON.search(told)) or kind == "preference"
        return Fact(
            kind=kind, text=told, about_user=about_user, negated=bool(cues.NEGATIVE.search(told))
        )
    return None


def _then_asks(told: str) -> bool:
    """Whether a clause behind the first is a request: "note that f(x) = 2x, compute f(3)" is a task."""
    return any(cues.REQUEST.search(clause) for clause in re.split(r"[,;，；]\s*", told)[1:])


def is_statement(text: str) -> bool:
    """Whether a message tells something about the speaker, lasting or not."""
    own = _own_words(text)
    told = [_told(sentence) for sentence in _sentences(own)] if own else []
    return any(t and _FIRST_PERSON.search(t) and not cues.REQUEST.search(t) for t in told)


def _own_words(text: str) -> str | None:
    """Return what in a message is the user's own statement, or None when nothing is."""
    text = _FENCED.sub("\n", text)
    if len(text) > 4_000 or (cues.NOT_ABOUT_NOW.search(text[:160]) and _is_framed(text)):
        return None
    if cues.PASTED.search(text):
        head, mark, _ = text.partition("\n")
        if mark or re.search(r"[:：]", head):
            text = re.split(r"[:：]", head)[0] if len(text) > 60 else ""
    if len(cues.TABLE_ROW.findall(text)) > 1:
        text = cues.TABLE_ROW.sub("", text)
    lines = [line for line in text.split("\n") if not cues.CODE.search(line) and line[:1] != ">"]
    return _QUOTED.sub(" ", "\n".join(lines))


def _is_framed(text: str) -> bool:
    """Whether the first sentence puts the whole message into a frame (a story, a translation)."""
    first = next(iter(_sentences(text)), "")
    return bool(cues.NOT_ABOUT_NOW.search(first))


def _sentences(text: str) -> Iterator[str]:
    for part in _END.split(text):
        part = (part or "").strip(" \t-*•>")
        if part:
            yield part


def _told(sentence: str) -> str | None:
    """Return the statement in a sentence, without a question at its end; None when there is none."""
    if cues.PASSING.search(sentence) or cues.NOT_ABOUT_NOW.search(sentence):
        return None
    sentence = _TAG.sub("", sentence).strip()
    if CJK.search(sentence):
        sentence = _without_questions_zh(sentence)
    elif sentence.endswith("?"):
        head = _TAIL.sub("", sentence).rstrip(" ,")
        sentence = "" if head == sentence or head.endswith("?") else head
    if len(sentence) + 3 * len(CJK.findall(sentence)) < 8 or len(sentence) > LONGEST:
        return None
    if cues.QUESTION.search(sentence):
        return None
    if match := cues.REMEMBER.search(sentence):
        return (match["what"] or match["zh"]).strip()
    return sentence.rstrip(" .。,，!！~")


def _without_questions_zh(sentence: str) -> str:
    """Drop the clauses that ask or only ask for something; Chinese strings them with commas."""
    kept = []
    clauses = [clause for clause in _CLAUSE_ZH.split(sentence) if clause]
    for clause in clauses:
        if cues.QUESTION.search(clause):
            continue
        if cues.REQUEST.search(clause) and not cues.REMEMBER.search(clause):
            continue
        kept.append(clause)
    return "，".join(kept) if len(kept) < len(clauses) else sentence


def _kind(told: str, today: date, corrects: bool) -> str | None:
    if corrects and cues.CORRECTING.search(told) and not cues.ABOUT_THE_TEXT.search(told):
        return "correction"
    if cues.REQUEST.search(told) and not re.search(r"\b(?:i|my|we|our)\b|我|咱", told, re.I):
        return None
    for kind, cue in cues.CUES:
        if cue.search(told):
            if kind == "fact" and not CJK.search(told) and cues.SOMEBODY_ELSE.search(told):
                continue
            if kind == "fact" and cues.PERSON_FIRST.search(told):
                kind = "person"
            dated = kind in ("fact", "person") and _is_appointment(told, today)
            return "commitment" if dated else kind
    return "commitment" if _is_appointment(told, today) else None


def _is_appointment(told: str, today: date) -> bool:
    return any(mention.day >= today for mention in mentions(told, today))
