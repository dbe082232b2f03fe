"""Owns the model's engine for notes: one structured call, parsed tolerantly, checked by code.

What a model proposes is written only when the user's own words support it: no name, number or
negation that was not said. A truncated or empty answer writes nothing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from datetime import date
from typing import Any

from memory.dates import absolute, mentions
from memory.fact_cues import NEGATIVE
from memory.facts import Fact
from memory.recall_words import stem, words
from memory.statements import relation

KINDS = ("preference", "fact", "person", "decision", "commitment", "correction", "lesson")
MOST = 8
PROMPT = """\
Read what a user said to their assistant and list what is worth remembering for months: preferences,
facts about the user, people and things around them, decisions, appointments with dates, corrections
of the assistant, lessons about tools and places. Questions, requests, hypotheticals, quotations,
fiction and passing moods are not. Stay close to the user's words and keep the subject ("my sister is
vegetarian"), negations and the language. Today is {today}; write dates as YYYY-MM-DD.

Already known, do not repeat:
{known}

The user said:
<said>
{said}
</said>

Answer with JSON only: {{"notes": [{{"kind": "{kinds}", "text": "..."}}]}}; an empty list is a good answer."""


class NoProposal(ValueError):
    """The model's answer holds no usable list; the message says why."""


def prompt(said: str, known: Sequence[str], today: date) -> str:
    """Return the one request that is made for a turn."""
    rows = "\n".join(f"- {text}" for text in known[-40:]) or "(nothing)"
    return PROMPT.format(
        today=today.isoformat(), known=rows, said=said[:8_000], kinds="|".join(KINDS)
    )


def json_in(answer: str) -> Any:
    """Return the JSON value in an answer: bare, fenced or with prose around, trailing commas too.
    Raises :class:`NoProposal` for anything cut off."""
    text = answer.strip()
    fenced = re.search(r"```(?:json)?\s*(.*?)```", text, re.DOTALL)
    if fenced:
        text = fenced[1].strip()
    start = min((i for i in (text.find("{"), text.find("[")) if i >= 0), default=-1)
    if start < 0:
        raise NoProposal("there is no JSON in the answer")
    text = text[start : max(text.rfind("}"), text.rfind("]")) + 1]
    try:
        return json.loads(re.sub(r",(\s*[}\]])", r"\1", text))
    except ValueError as error:
        raise NoProposal(f"the JSON is broken or cut off ({error})") from error


def parse(answer: str) -> list[dict[str, Any]]:
    """Return the proposed notes from an answer, whatever the list in it is called."""
    value = json_in(answer)
    if isinstance(value, dict):
        lists = [v for v in value.values() if isinstance(v, list)]
        value = lists[0] if lists else [value]
    return [row for row in value if isinstance(row, dict)]


def proposed(
    said: str, known: Sequence[str], today: date, complete: Callable[[str], str]
) -> list[Fact]:
    """Return the facts that a model finds in what the user ``said`` and that code has accepted.

    Raises :class:`NoProposal` when its answer cannot be used; the caller then asks the rules.
    """
    facts: list[Fact] = []
    for row in parse(complete(prompt(said, known, today)))[:MOST]:
        values = [v for v in row.values() if isinstance(v, str)]
        text = str(
            row.get("text")
            or row.get("note")
            or row.get("fact")
            or max(values, key=len, default="")
        )
        text = absolute(" ".join(text.split()), today)
        kind = str(row.get("kind") or row.get("type") or "fact").lower()
        if not text or not supported(text, said, today):
            continue
        if any(relation(old, text) == "same" for old in (*known, *(f.text for f in facts))):
            continue
        kind = kind if kind in KINDS else "fact"
        facts.append(
            Fact(
                kind=kind,
                text=text,
                about_user=kind not in ("person", "lesson"),
                negated=bool(NEGATIVE.search(text)),
            )
        )
    return facts


def supported(text: str, said: str, today: date) -> bool:
    """Whether what the user said supports ``text``: its numbers, names and dates occur, its negation
    is theirs, and most of its telling words are."""
    days = {mention.day.isoformat() for mention in mentions(said, today)}
    plain = re.sub(
        r"\(?\d{4}-\d\d-\d\d\)?", lambda m: "" if m[0].strip("()") in days else m[0], text
    )
    low = said.casefold()
    if any(number not in said for number in re.findall(r"\d+(?:[.,:]\d+)*", plain)):
        return False
    if any(name.casefold() not in low for name in re.findall(r"(?<=\s)[A-Z][\w'-]+", plain)):
        return False
    if NEGATIVE.search(plain) and not NEGATIVE.search(said):
        return False
    wanted = [stem(word) for word in words(plain) if not NEGATIVE.fullmatch(word)]
    held = {stem(word) for word in words(said)}
    shared = sum(word in held or word in low for word in wanted)
    return not wanted or shared / len(wanted) >= 0.6
