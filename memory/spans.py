"""Owns the spans of time that a question names: "last week", "in May", "the spring of 2024", 上周."""

from __future__ import annotations

import calendar
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta

from memory.dates import mentions
from memory.patterns import Pattern

_MONTHS = {name.lower(): n for n, name in enumerate(calendar.month_name) if name}
_MONTHS |= {name.lower(): n for n, name in enumerate(calendar.month_abbr) if name and n != 5}
_NAMES = "|".join(sorted(_MONTHS, key=len, reverse=True))
_MONTH = Pattern(
    rf"(?<![\w-])(?:(?P<day>\d{{1,2}})(?:st|nd|rd|th)?(?: of)? )?(?P<month>{_NAMES})\b\.?"
    r"(?:,? (?P<day2>\d{1,2})(?:st|nd|rd|th)?\b(?!:))?(?:,? (?P<year>(?:19|20)\d\d))?",
    re.IGNORECASE,
)
_MAY = Pattern(
    r"\b(?:in|last|this|next|of|since|during|early|late|mid) may\b|\bmay,? (?:\d|of)", re.IGNORECASE
)
"""The one month whose name is another word."""
_HAN_MONTH = Pattern(
    r"(?:(?P<year>(?:19|20)\d\d)年|(?P<which>去年|今年|前年))?(?P<month>1[0-2]|[1-9]|十[一二]?|[一二三四五六七八九])月(?!份?后)"
)
_YEAR = Pattern(r"(?<![\d-])(?P<year>(?:19|20)\d\d)(?![\d-])(?:年)?")
_SEASON = Pattern(
    r"\b(?:(?P<which>last|this) )?(?P<season>spring|summer|autumn|winter|(?:in|last|this|the) fall)\b(?: of)?"
    r"(?: (?P<year>(?:19|20)\d\d))?|(?P<hwhich>去年|今年)?(?P<han>春|夏|秋|冬)(?:天|季)",
    re.IGNORECASE,
)
_SEASONS = {
    "spring": 3,
    "summer": 6,
    "autumn": 9,
    "fall": 9,
    "winter": 12,
    "春": 3,
    "夏": 6,
    "秋": 9,
    "冬": 12,
}
_TODAY = Pattern(r"today|this morning|今天|今早|今晨", re.IGNORECASE)
_RELATIVE = Pattern(
    r"\b(?P<which>last|this|past) (?P<unit>week|month|year|weekend)\b"
    r"|\b(?:in|over|during)? ?the (?:last|past) (?P<count>\d+|few|two|three|couple of)"
    r" (?P<units>days|weeks|months|years)\b"
    r"|(?P<han>上上周|上周|上星期|上礼拜|这周|本周|上个?月|这个?月|本月|去年|今年|前年)(?![一二三四五六日天末春夏秋冬\d])",
    re.IGNORECASE,
)  # fmt: skip
_COUNTS = {"few": 4, "two": 2, "three": 3, "couple of": 2}
_DAYS_IN = {"days": 1, "weeks": 7, "months": 31, "years": 366}
_HAN_DIGITS = {c: n for n, c in enumerate("零一二三四五六七八九十")} | {"十一": 11, "十二": 12}


@dataclass(frozen=True, slots=True)
class Span:
    """The days from ``since`` to ``until``, both included."""

    since: date
    until: date


def spans(question: str, today: date, years: range) -> list[Span]:
    """Return the spans that a question names, in the past where it leaves that open.

    A month or a season without a year is that of each of ``years``: whoever asks does not always
    remember which one it was.
    """
    found = [*_relative(question, today), *_seasons(question, today, years)]
    named = list(_months(question, today, years))
    for mention in mentions(question, today):
        said = question[mention.start : mention.end]
        past = mention.day < today or _TODAY.fullmatch(said)
        if past and not named:
            found.append(Span(mention.day, mention.day))
    found += named
    if not found:
        for match in _YEAR.finditer(question):
            found.append(_year(int(match["year"])))
    return found


def _year(year: int) -> Span:
    return Span(date(year, 1, 1), date(year, 12, 31))


def _month(year: int, month: int) -> Span:
    year, month = year + (month - 1) // 12, (month - 1) % 12 + 1
    return Span(date(year, month, 1), date(year, month, calendar.monthrange(year, month)[1]))


def _months(question: str, today: date, years: range) -> Iterator[Span]:
    for match in _MONTH.finditer(question):
        month = _MONTHS[match["month"].lower()]
        if month == 5 and not _MAY.search(question) and not match["day"]:
            continue
        day = int(match["day"] or match["day2"] or 0)
        for year in [int(match["year"])] if match["year"] else years:
            whole = _month(year, month)
            if 0 < day <= whole.until.day:
                yield Span(date(year, month, day), date(year, month, day))
            yield whole
    for match in _HAN_MONTH.finditer(question):
        month = int(match["month"]) if match["month"].isdigit() else _HAN_DIGITS[match["month"]]
        said = {"去年": today.year - 1, "今年": today.year, "前年": today.year - 2}.get(
            match["which"] or ""
        )
        for year in [int(match["year"])] if match["year"] else [said] if said else years:
            yield _month(year, month)


def _seasons(question: str, today: date, years: range) -> Iterator[Span]:
    for match in _SEASON.finditer(question):
        first = _SEASONS[match["han"] or match["season"].lower().split()[-1]]
        which = (match["which"] or match["hwhich"] or match["season"] or "").lower().split(" ")[0]
        if match["year"]:
            chosen = [int(match["year"])]
        elif which in ("last", "去年"):
            ended = [
                y
                for y in (today.year, today.year - 1, today.year - 2)
                if _month(y, first + 2).until < today
            ]
            chosen = [today.year - 1] if which == "去年" else ended[:1]
        elif which in ("this", "今年"):
            chosen = [today.year]
        else:
            chosen = list(years)
        for year in chosen:
            yield Span(_month(year, first).since, _month(year, first + 2).until)


def _relative(question: str, today: date) -> Iterator[Span]:
    monday = today - timedelta(days=today.weekday())
    for match in _RELATIVE.finditer(question):
        if match["units"]:
            count = match["count"].lower()
            days = (_COUNTS.get(count) or int(count)) * _DAYS_IN[match["units"].lower()]
            yield Span(today - timedelta(days=days), today)
            continue
        han = match["han"] or ""
        unit = (match["unit"] or "").lower()
        back = (
            2 if han.startswith(("上上", "前")) else 0 if han.startswith(("这", "本", "今")) else 1
        )
        if match["which"] and match["which"].lower() == "this":
            back = 0
        if unit == "weekend":
            saturday = monday + timedelta(
                days=5 - 7 * max(back, int(today < monday + timedelta(days=5)))
            )
            yield Span(saturday, saturday + timedelta(days=1))
        elif unit == "week" or (han and han[-1] in "周期拜"):
            first = monday - timedelta(days=7 * back)
            yield Span(first, first + timedelta(days=6))
        elif unit == "month" or han.endswith("月"):
            yield _month(today.year, today.month - back)
        else:
            yield _year(today.year - back)
