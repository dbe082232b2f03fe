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
from memory.recall_words import stem, words
from memory.tokens import CJK

Relation = Literal["same", "supersedes", "apart"]

_LIKE = re.compile(
    r"\b(?:love|like|enjoy|adore|prefer|favou?rite|fond of|fan of|keen on|into|crazy about)(?:s|d|ed)?\b"
    r"|喜欢|爱吃|爱喝|爱看|最爱|偏好|钟爱|热爱",
    re.IGNORECASE,
)
_DISLIKE = re.compile(
    r"\b(?:hate|dislike|loathe|detest|despise)(?:s|d)?\b|\bcan'?t (?:stand|bear)\b|\bsick of\b|讨厌|反感|受不了",
    re.IGNORECASE,
)
_NOT = re.compile(
    r"\b(?:not|no longer|never|don'?t|dont|doesn'?t|isn'?t|aren'?t|cannot|can'?t|won'?t|stopped|quit)\b|不再|不|没有?|戒",
    re.IGNORECASE,
)
_OTHERS = re.compile(
    rf"^\W*(?:[Mm]y|[Oo]ur|[Hh]is|[Hh]er|[Tt]heir) (?:\w+ ){{0,2}}?({PEOPLE_EN})\b|^\W*我(?:的|家)?({PEOPLE_ZH})"
    r"|^\W*(?!(?:I|We|You|He|She|They|It|Now)\b)([A-Z]\w+)(?:'s)? (?:is|has|likes|loves|hates|lives|works|moved)\b"
)
_SLOTS: tuple[tuple[str, re.Pattern[str]], ...] = (
    (
        "home",
        re.compile(
            r"\b(?:live|living|lives|based|moved|moving|reside|home is)(?: now| currently)? (?:in|to|at|near) (?P<v>[\w .'-]{2,40})"
            r"|(?:住在|搬到|搬去|定居在?)(?P<v2>[\u4e00-\u9fff\w]{2,12}?)(?:了|$|，|。|,)",
            re.IGNORECASE,
        ),
    ),
    (
        "name",
        re.compile(
            r"\b(?:call me|my name is|name's|i am called|i'm called|is called) (?P<v>[\w .'-]{2,40})|(?:叫我|我叫)(?P<v2>[\u4e00-\u9fff\w]{1,8})",
            re.IGNORECASE,
        ),
    ),
    (
        "work",
        re.compile(
            r"\bwork(?:s|ing)? (?:at|for) (?P<v>[\w .&'-]{2,40})|在(?P<v2>[\u4e00-\u9fff\w]{2,12})(?:上班|工作)",
            re.IGNORECASE,
        ),
    ),
    (
        "email",
        re.compile(
            r"\be-?mail(?: address)? is (?P<v>\S+@\S+)|邮箱(?:是|：)(?P<v2>\S+@\S+)", re.IGNORECASE
        ),
    ),
    (
        "phone",
        re.compile(
            r"\b(?:phone|mobile)(?: number)? is (?P<v>[+\d][\d ()-]{5,})|电话(?:是|：)(?P<v2>[+\d][\d -]{5,})",
            re.IGNORECASE,
        ),
    ),
    (
        "birthday",
        re.compile(
            r"\bbirthday is (?:on )?(?P<v>[\w ,-]{3,30})|生日(?:是|在)(?P<v2>[\w月日号-]{3,12})",
            re.IGNORECASE,
        ),
    ),
    (
        "language",
        re.compile(
            r"\b(?:answer|reply|write|respond)(?: to)?(?: me)? in (?P<v>[A-Za-z]{4,12})\b|用(?P<v2>中文|英文|德语|法语|日语)(?:回答|回复|写|交流)",
            re.IGNORECASE,
        ),
    ),
)
_EMPTY = frozenset(
    stem(word)
    for word in (
        "love like enjoy adore prefer favourite favorite fond fan keen crazy hate dislike loathe detest despise stand bear"
        " sick really very much so truly absolutely always most best thing one no not never don doesn isn can won quit stopped"
        " longer now anymore user remember since also just totally definitely quite"
    ).split()
)
_HAN_EMPTY = re.compile(
    "喜欢|讨厌|不再|爱吃|爱喝|爱看|最爱|非常|特别|真的|现在|一直|很|最|不|没有?|反感|受不了|偏好|记住"
)
_DATED = re.compile(r"\s*\((?:since )?\d{4}-\d\d-\d\d\)\s*$")
_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """What is compared: about whom, for or against (0 when it is no matter of taste), what."""

    subject: str
    polarity: int
    slot: str
    value: str
    content: frozenset[str]
    numbers: tuple[str, ...]
    tasteful: bool


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
        if found := pattern.search(plain):
            slot = name
            value = (found["v"] or found["v2"] or "").strip(" .").casefold()
            break
    bare = _HAN_EMPTY.sub(" ", plain) if CJK.search(plain) else plain
    content = frozenset(s for s in map(stem, words(bare)) if s not in _EMPTY)
    return Statement(
        subject=subject,
        polarity=polarity,
        slot=slot,
        value=value,
        content=content,
        numbers=tuple(sorted(_NUMBER.findall(plain))),
        tasteful=tasteful,
    )


def relation(old: str, new: str) -> Relation:
    """Return what ``new`` is to ``old``: the same said again, in its place, or another thing."""
    a, b = statement(old), statement(new)
    if a.subject != b.subject:
        return "apart"
    if a.slot and a.slot == b.slot and a.polarity > 0 and b.polarity > 0:
        return "same" if a.value == b.value else "supersedes"
    if not a.content or not b.content or a.numbers != b.numbers:
        return "apart"
    shared = len(a.content & b.content)
    alike = shared / len(a.content | b.content)
    if a.tasteful and b.tasteful:
        # For taste the thing itself must be the same: "Chinese food" is not "Chinese films".
        if a.content != b.content and alike < 0.75:
            return "apart"
        return "same" if a.polarity == b.polarity else "supersedes"
    if a.tasteful != b.tasteful:
        return "apart"
    if a.content == b.content or alike >= 0.8:
        if a.polarity == b.polarity:
            return "same"
        return "supersedes" if a.content == b.content else "apart"
    return "apart"
