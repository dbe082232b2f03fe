"""Owns what two statements have to do with each other: the same, one in place of the other, or apart.

Deterministic and cautious: a statement is its subject, its polarity (likes or not, is or is not) and
its telling words; some have a slot that holds one value at a time (where somebody lives). Only what
is clearly about the same thing is the same or supersedes; everything else stays side by side.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from memory.fact_cues import PEOPLE_EN, PEOPLE_ZH
from memory.patterns import Pattern
from memory.recall_words import stem, words
from memory.tokens import CJK

Relation = Literal["same", "supersedes", "apart"]

_LIKE = Pattern(
    r"\b(?:love|like|enjoy|adore|prefer|favou?rite|fond of|fan of|keen on|into|crazy about)(?:s|d|ed)?\b"
    r"|喜欢|爱吃|爱喝|爱看|最爱|偏好|钟爱|热爱",
    re.IGNORECASE,
)
_DISLIKE = Pattern(
    r"\b(?:hate|dislike|loathe|detest|despise)(?:s|d)?\b|\bcan'?t (?:stand|bear)\b|\bsick of\b|讨厌|反感|受不了",
    re.IGNORECASE,
)
_NOT = Pattern(
    r"\b(?:not|no longer|never|don'?t|dont|doesn'?t|isn'?t|aren'?t|cannot|can'?t|won'?t|stopped|quit)\b|不再|不|没有?|戒",
    re.IGNORECASE,
)
_OTHERS = Pattern(
    rf"^\W*(?:[Mm]y|[Oo]ur|[Hh]is|[Hh]er|[Tt]heir) (?:\w+ ){{0,2}}?({PEOPLE_EN})\b|^\W*我(?:的|家)?({PEOPLE_ZH})"
    r"|^\W*(?!(?:I|We|You|He|She|They|It|Now)\b)([A-Z]\w+)(?:'s)? (?:is|has|likes|loves|hates|lives|works|moved)\b"
)
_I = r"^\W*(?:i|we|i'm|we're|i am|we are|i've|we've)(?: both| all| now| currently| just| recently| have)*"
_ME_ZH = r"^(?:现在|以后)?(?:我|我们|咱们?)(?:现在|已经|刚|目前)?"
_SLOTS: tuple[tuple[str, Pattern], ...] = tuple(
    (name, Pattern(pattern, re.IGNORECASE))
    for name, pattern in (
        ("home", _I + r" (?:live|living|based|moved|moving) (?:in|to) (?P<v>[\w .'-]{2,30})$"),
        ("home", _ME_ZH + r"(?:住在|搬到|搬去|定居在?)(?P<v>[\u4e00-\u9fff\w]{2,10}?)了?$"),
        ("name", r"^\W*(?:please |just )?call me (?P<v>[\w .'-]{2,30})$"),
        ("name", r"^\W*(?:my name is|my name's|i am called|i'm called) (?P<v>[\w .'-]{2,30})$"),
        ("name", r"^(?:请|就|以后)*(?:叫我|我叫)(?P<v>[\u4e00-\u9fff\w]{1,8})$"),
        ("work", _I + r" work(?:ing)? (?:at|for) (?P<v>[A-Z][\w .&'-]{1,30})$"),
        ("email", r"^\W*my e-?mail(?: address)? is (?P<v>\S+@\S+)$"),
        ("phone", r"^\W*my (?:phone|mobile)(?: number)? is (?P<v>[+\d][\d ()-]{5,})$"),
        ("birthday", r"^\W*my birthday is (?:on )?(?P<v>[\w ,-]{3,30})$"),
        (
            "language",
            r"^\W*(?:please |from now on,? |always )*(?:answer|reply|respond)(?: to)?(?: me)? in (?P<v>[a-z]{4,12})$",
        ),
        ("language", r"^(?:请|以后|都|一律)*用(?P<v>中文|英文|英语|德语|法语|日语)(?:回答|回复)$"),
    )
)
"""What holds one value at a time, and only for the speaker, in plain present-tense sentences."""
_ATTRIBUTES: tuple[tuple[str, Pattern], ...] = tuple(
    (name, Pattern(pattern, re.IGNORECASE))
    for name, pattern in (
        (
            "lives",
            r"\b(?:lives?|living|moved|is based) (?:in|to) (?P<v>[\w'-]+)|(?:住在|搬到|搬去)(?P<z>[\u4e00-\u9fff]{2,6})",
        ),
        (
            "works",
            r"\bworks? (?:at|for) (?P<v>[\w'-]+)|在(?P<z>[\u4e00-\u9fff\w]{2,10}?)(?:工作|上班)",
        ),
        (
            "called",
            r"\b(?:is (?:called|named)|name is|name's) (?P<v>[\w'-]+)|(?:叫|名字是)(?P<z>[\u4e00-\u9fff\w]{1,6})",
        ),
        (
            "born",
            r"\b(?:birthday is|was born) (?:on |in )?(?P<v>[\w ,-]{3,20})|生日是?(?P<z>[\u4e00-\u9fff\d]{2,10})",
        ),
    )
)
"""What a person or thing mostly has one of: two values are worth a question, no more."""
_CONTRAST = Pattern(
    r"\b(?:over|than|but|before|after|instead|rather|just|more|less|only|used to|would|want|might|if|when|unless"
    r"|except|both|owes?|to|from|between|then)\b|比|而|但|只|先|再|之前|之后|以前|如果|想|除了|向|给",
    re.IGNORECASE,
)
"""Words that give the order of the others a meaning: a bag of words would turn it round."""
_SYMBOLS = Pattern(r"\w+[+#]+")
_EMPTY = frozenset(
    stem(word)
    for word in (
        "love like enjoy adore prefer favourite favorite fond fan keen crazy hate dislike loathe detest despise stand bear"
        " sick really very much so truly absolutely always most best thing one no not never don doesn isn can won quit stopped"
        " longer now anymore user remember since also just totally definitely quite"
    ).split()
)
_HAN_EMPTY = Pattern(
    "喜欢|讨厌|不再|爱吃|爱喝|爱看|最爱|非常|特别|真的|现在|一直|很|最|不|没有?|反感|受不了|偏好|记住"
)
_DATED = Pattern(r"\s*\((?:since )?\d{4}-\d\d-\d\d\)\s*$")
_NUMBER = Pattern(r"\d+(?:[.,:]\d+)*")
_MOSTLY = 0.6
"""The share of the telling words that two statements at odds have in common."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """What is compared: about whom, for or against (0 when it is no matter of taste), what."""

    subject: str
    polarity: int
    slot: str
    value: str
    content: frozenset[str]
    order: tuple[str, ...]
    numbers: tuple[str, ...]
    symbols: frozenset[str]
    attribute: str
    tasteful: bool
    contrasts: bool


@lru_cache(maxsize=4096)
def statement(text: str) -> Statement:
    """Return the statement that ``text`` makes; a date in brackets at its end is no part of it."""
    plain = _DATED.sub("", text.strip())
    other = _OTHERS.search(plain)
    subject = next((g.lower() for g in other.groups() if g), "") if other else ""
    dislikes, likes = bool(_DISLIKE.search(plain)), bool(_LIKE.search(plain))
    negated = bool(_NOT.search(_DISLIKE.sub(" ", plain)))
    tasteful = likes or dislikes
    polarity = (-1 if dislikes else 1) * (-1 if negated else 1)
    slot, value = "", ""
    for name, pattern in _SLOTS:
        if found := pattern.search(plain.rstrip(" .。!！")):
            slot = name
            value = re.sub(r" (?:now|these days|at the moment)$", "", found["v"].strip().casefold())
            break
    attribute = next((name for name, pattern in _ATTRIBUTES if pattern.search(plain)), "")
    bare = _HAN_EMPTY.sub(" ", plain) if CJK.search(plain) else plain
    order = tuple(s for s in map(stem, words(bare)) if s not in _EMPTY)
    return Statement(
        subject=subject,
        polarity=polarity,
        slot=slot,
        value=value,
        attribute=attribute,
        content=frozenset(order),
        order=order,
        symbols=frozenset(_SYMBOLS.findall(plain.casefold())),
        contrasts=bool(_CONTRAST.search(_DISLIKE.sub(" ", plain)))
        or len(_LIKE.findall(plain)) + len(_DISLIKE.findall(plain)) > 1,
        numbers=tuple(sorted(_NUMBER.findall(plain))),
        tasteful=tasteful,
    )


def relation(old: str, new: str) -> Relation:
    """Return what ``new`` is to ``old``: the same said again, in its place, or another thing."""
    a, b = statement(old), statement(new)
    if a.order and a == b and not (a.tasteful and a.contrasts):
        return "same"
    if a.subject != b.subject:
        return "apart"
    if a.slot and a.slot == b.slot:
        return "same" if a.value == b.value else "supersedes"
    if not a.content or not b.content or (a.numbers, a.symbols) != (b.numbers, b.symbols):
        return "apart"
    if a.contrasts or b.contrasts or a.tasteful != b.tasteful:
        return "apart"
    if a.tasteful:
        # For taste the thing itself must be the same: "Chinese food" is not "Chinese films".
        if a.content != b.content:
            return "apart"
        return "same" if a.polarity == b.polarity else "supersedes"
    return "supersedes" if a.order == b.order and a.polarity != b.polarity else "apart"


def at_odds(old: str, new: str) -> bool:
    """Whether two statements that stand side by side may contradict each other: about the same
    person, mostly in the same words, but one for and one against, or with another number or value."""
    a, b = statement(old), statement(new)
    if a.subject != b.subject or not a.content or not b.content or relation(old, new) != "apart":
        return False
    if a.subject and a.attribute and a.attribute == b.attribute:
        return _value(a.attribute, old) != _value(b.attribute, new)
    if a.polarity != b.polarity and a.tasteful == b.tasteful:
        return len(a.content & b.content) >= _MOSTLY * max(len(a.content), len(b.content))
    words = a.content - set(a.numbers), b.content - set(b.numbers)
    single = len(a.numbers) == len(b.numbers) == 1
    return single and a.numbers != b.numbers and words[0] == words[1] and len(words[0]) > 1


def _value(attribute: str, text: str) -> str:
    found = dict(_ATTRIBUTES)[attribute].search(text)
    return (found["v"] or found["z"] or "").casefold() if found else ""
