"""Owns dates in plain words, English and Chinese: what day "tomorrow" was when it was said.

A note that says "tomorrow" is wrong the day after. So relative words are replaced by the date, and
words that stay true (a weekday, "5 December") get the date in brackets behind them.
"""

from __future__ import annotations

import calendar
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, timedelta

from memory.patterns import Pattern

_DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_MONTHS = tuple(calendar.month_name[n].lower() for n in range(1, 13))
# A short form alone is often another word ("the sun", "sat down"): it needs company.
_DAY = (
    r"(?:(?:mon|tues|wednes|thurs|fri|satur|sun)day"
    r"|(?:(?<=on )|(?<=by )|(?<=next )|(?<=this )|(?<=last ))(?:mon|tues?|wed|thu(?:rs?)?|fri|sat|sun)\b"
    r"|(?:mon|tues?|wed|thu(?:rs?)?|fri|sat|sun)(?=,? \d{1,2}(?::\d\d| ?(?:am|pm)\b|$)))"
)
_MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?"
    r"|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)"
)
_COUNT = r"(?:\d{1,3}|an?|one|two|three|four|five|six|seven|eight|nine|ten)"
_WORDS = {
    w: n for n, w in enumerate("zero one two three four five six seven eight nine ten".split())
}
_WORDS |= {"a": 1, "an": 1}
_HAN = {
    "一": 1,
    "二": 2,
    "两": 2,
    "三": 3,
    "四": 4,
    "五": 5,
    "六": 6,
    "七": 7,
    "八": 8,
    "九": 9,
    "十": 10,
}
_HAN_NUMBER = r"(?:\d{1,3}|[一二两三四五六七八九十]{1,3})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Mention:
    """A date that a text names: where, which day, and whether its words will be wrong later."""

    start: int
    end: int
    day: date
    relative: bool


Reader = Callable[[re.Match[str], date], date | None]


def _number(text: str) -> int:
    if text.isdigit():
        return int(text)
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    if text.startswith("十"):
        return 10 + (_HAN.get(text[1:], 0))
    if len(text) >= 2 and text[1] == "十":
        return _HAN[text[0]] * 10 + (_HAN[text[2]] if len(text) > 2 else 0)
    return _HAN.get(text, 0)


def _in_days(days: int) -> Reader:
    return lambda match, today: today + timedelta(days=days)


def _counted(scale: int) -> Reader:
    return lambda match, today: today + timedelta(days=scale * _number(match["n"]))


def _weekday(match: re.Match[str], today: date) -> date:
    """The next such day; with "next" the one in the week after this one."""
    wanted = next(n for n, name in enumerate(_DAYS) if match["day"].lower()[:3] == name[:3])
    return _on_weekday(wanted, (match["which"] or "").lower(), today)


def _han_weekday(match: re.Match[str], today: date) -> date:
    wanted = "一二三四五六日天".index(match["day"]) % 7 if match["day"] != "天" else 6
    which = {"上": "before", "下": "next", "这": "this", "本": "this"}.get(match["which"] or "", "")
    return _on_weekday(wanted, which, today)


def _on_weekday(wanted: int, which: str, today: date) -> date:
    monday = today - timedelta(days=today.weekday())
    if which == "next":
        return monday + timedelta(days=7 + wanted)
    if which == "before":
        return monday - timedelta(days=7 - wanted)
    if which == "last":
        ahead = (today.weekday() - wanted) % 7 or 7
        return today - timedelta(days=ahead)
    ahead = (wanted - today.weekday()) % 7
    return today + timedelta(days=ahead or (0 if which == "this" else 7))


def _calendar_day(year: str | None, month: int, day: int, today: date) -> date | None:
    """A day without a year is the next one to come, or one of the last two months."""
    try:
        if year:
            return date(int(year), month, day)
        found = date(today.year, month, day)
        return found if found >= today - timedelta(days=62) else date(today.year + 1, month, day)
    except ValueError:
        return None


def _month_day(match: re.Match[str], today: date) -> date | None:
    month = next(n for n, name in enumerate(_MONTHS, 1) if match["month"].lower()[:3] == name[:3])
    return _calendar_day(match["year"], month, int(match["n"]), today)


def _han_month_day(match: re.Match[str], today: date) -> date | None:
    return _calendar_day(match["year"], _number(match["month"]), _number(match["n"]), today)


def _day_of_month(match: re.Match[str], today: date) -> date | None:
    day = _number(match["n"])
    if not 1 <= day <= 31:
        return None
    month = today.replace(day=1)
    for _ in range(3):
        if day <= calendar.monthrange(month.year, month.month)[1]:
            found = month.replace(day=day)
            if found >= today:
                return found
        month = (month + timedelta(days=32)).replace(day=1)
    return None


def _month_end(match: re.Match[str], today: date) -> date:
    return today.replace(day=calendar.monthrange(today.year, today.month)[1])


def _feast(month: int, day: int) -> Reader:
    return lambda match, today: _calendar_day(None, month, day, today)


def _iso(match: re.Match[str], today: date) -> date | None:
    try:
        return date.fromisoformat(match.group())
    except ValueError:
        return None


def _p(pattern: str) -> Pattern:
    return Pattern(pattern, re.IGNORECASE)


# (pattern, reader, relative); earlier rows win where two overlap.
_TABLE: tuple[tuple[Pattern, Reader, bool], ...] = (
    (_p(r"\b\d{4}-\d\d-\d\d\b"), _iso, False),
    (
        _p(r"\b(?:the )?day after tomorrow\b|大后天(?!年)"),
        lambda m, t: t + timedelta(days=3 if "大" in m[0] else 2),
        True,
    ),
    (_p(r"后天"), _in_days(2), True),
    (
        _p(r"\b(?:tomorrow|tmrw|tmr)(?: (?:morning|afternoon|evening|night))?\b|明[天早晚](?:上)?"),
        _in_days(1),
        True,
    ),
    (_p(r"\b(?:the )?day before yesterday\b|前天"), _in_days(-2), True),
    (_p(r"\b(?:yesterday|last night)\b|昨[天晚](?:上)?"), _in_days(-1), True),
    (
        _p(r"\b(?:today|tonight|this (?:morning|afternoon|evening))\b|今[天晚早](?:上)?"),
        _in_days(0),
        True,
    ),
    (
        _p(rf"\bin (?P<n>{_COUNT}) days?(?:' time)?\b|(?P<n2>{_HAN_NUMBER})天[之以]?后"),
        lambda m, t: t + timedelta(days=_number(m["n"] or m["n2"])),
        True,
    ),
    (_p(rf"\bin (?P<n>{_COUNT}) weeks?(?:' time)?\b"), _counted(7), True),
    (_p(rf"(?P<n>{_HAN_NUMBER})(?:周|个?星期|个?礼拜)[之以]?后"), _counted(7), True),
    (
        _p(
            rf"\b(?:the )?(?P<n>\d{{1,2}})(?:st|nd|rd|th)?(?: of)? (?P<month>{_MONTH})\b\.?,?(?: (?P<year>(?:19|20)\d\d))?"
        ),
        _month_day,
        False,
    ),
    (
        _p(
            rf"\b(?P<month>{_MONTH})\.? (?P<n>\d{{1,2}})(?:st|nd|rd|th)?\b,?(?: (?P<year>(?:19|20)\d\d))?"
        ),
        _month_day,
        False,
    ),
    (
        _p(rf"(?:(?P<year>(?:19|20)\d\d)年)?(?P<month>{_HAN_NUMBER})月(?P<n>{_HAN_NUMBER})[号日]?"),
        _han_month_day,
        False,
    ),
    (_p(rf"\b(?:(?P<which>this|next|last|coming) )?(?P<day>{_DAY})\b(?!s|\.\w)"), _weekday, False),
    (
        _p(r"(?P<which>[上下这本])?(?:个)?(?:周|星期|礼拜)(?P<day>[一二三四五六日天])"),
        _han_weekday,
        False,
    ),
    (
        _p(r"\bthe (?P<n>\d{1,2})(?:st|nd|rd|th)\b(?! (?:of|floor|time|every|grade))"),
        _day_of_month,
        False,
    ),
    (
        _p(rf"下个?月(?P<n>{_HAN_NUMBER})[号日]"),
        lambda m, t: _day_of_month(m, _month_end(m, t) + timedelta(days=1)),
        True,
    ),
    (_p(rf"(?<![月\d])(?P<n>{_HAN_NUMBER})号(?![线楼院桌门口])"), _day_of_month, False),
    (_p(r"\bend of (?:the|this) month\b|(?:这个)?月底"), _month_end, True),
    (_p(r"\bchristmas eve\b|平安夜"), _feast(12, 24), False),
    (_p(r"\bchristmas(?: day)?\b|圣诞(?:节)?"), _feast(12, 25), False),
    (_p(r"\bnew year'?s eve\b|除夕夜|跨年夜"), _feast(12, 31), False),
    (_p(r"\bnew year'?s day\b|元旦"), _feast(1, 1), False),
)


_NO_DATE = Pattern(
    r"(?:\bevery |\beach |\blast |\bevery (?:other|second) |每个?|去年|前年|明年|后年)$",
    re.IGNORECASE,
)


def mentions(text: str, today: date) -> list[Mention]:
    """Return the dates that ``text``, said on ``today``, names; in order, none overlapping."""
    found: list[Mention] = []
    for pattern, read, relative in _TABLE:
        for match in pattern.finditer(text):
            if any(m.start < match.end() and match.start() < m.end for m in found):
                continue
            if _NO_DATE.search(text[max(match.start() - 12, 0) : match.start()]):
                continue  # "every Wednesday" is no day; "last Christmas" and 去年 are not the next one
            if re.search(r"\b(?:may|march|mar|sat)\b", match.group()) and not re.search(
                r"\bof\b", match.group()
            ):
                continue  # in lower case these are other words far more often
            day = read(match, today)
            if day is not None:
                found.append(
                    Mention(start=match.start(), end=match.end(), day=day, relative=relative)
                )
    return sorted(found, key=lambda mention: mention.start)


def absolute(text: str, today: date) -> str:
    """Return ``text`` with its dates made absolute: "tomorrow" becomes 2026-12-01, "Thursday"
    becomes "Thursday (2026-12-03)"; a date that stands there already is left alone."""
    parts, last = [], 0
    for mention in mentions(text, today):
        word = text[mention.start : mention.end]
        iso = mention.day.isoformat()
        parts.append(text[last : mention.start])
        if mention.relative:
            parts.append(iso)
        else:
            parts.append(word if iso in word else f"{word} ({iso})")
        last = mention.end
    return "".join(parts) + text[last:]
