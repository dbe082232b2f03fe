"""Owns the spans of time that a question names: "last week", "in May", "the spring of 2024", 上周."""

from __future__ import annotations

import calendar
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta

from memory.dates import mentions
from memory.patterns import Pattern

_MONTHS = {name.lower(): n for n, name in enumerate(calendar.month_name) if name}
_MONTHS |= {name.lower(): n for n, name in enumerate(calendar.month_abbr) if name and n != 5}
_NAMES = "|".join(sorted(_MONTHS, key=len, reverse=True))
_MONTH = Pattern(
    r"(?<![\w-])(?:(?P<day>\d{1,2})(?:st|nd|rd|th)?(?: of)? )?(?P<which>last |this )?"
    rf"(?P<month>{_NAMES})\b\.?"
    r"(?:,? (?P<day2>\d{1,2})(?:st|nd|rd|th)?\b(?!:))?(?:,? (?:of )?(?P<year>(?:19|20)\d\d))?",
    re.IGNORECASE,
)
_VERBS = frozenset(("may", "march", "mar"))
"""Months whose names are other words, too: they need a day, a year, or company."""
_COMPANY = Pattern(
    r"\b(?:in|last|next|since|during|early|late|mid|until|till|before|after|from|of) (?:may|march|mar)\b"
    r"(?! (?:be|have|not|to|need|take|go)\b)|\bthis (?:may|march|mar)\b(?=\s*(?:$|[?!.,;]))",
    re.IGNORECASE,
)
_NAMED = Pattern(r"(?<=[a-z,] )(?:May|March|Mar)\b(?! (?:I|we|you|he|she|it|they|be|not)\b)")
_ISO_MONTH = Pattern(r"(?<![\d/-])(?P<year>(?:19|20)\d\d)[-/](?P<month>0?[1-9]|1[0-2])(?![\d/-])")
_HAN_NUMBER = "[一二三四五六七八九十]"
_HAN_MONTH = Pattern(
    r"(?:(?P<year>(?:19|20)\d\d)年|(?P<which>去年|今年|前年)的?)?(?<![一二三四五六七八九十\d])"
    rf"(?P<month>1[0-2]|[1-9]|十[一二]?|[一二三四五六七八九])月(?!份?后|[花饼亮球薪])"
    rf"(?:(?P<day>\d{{1,2}}|{_HAN_NUMBER}{{1,3}})[日号])?"
)
_HAN_LAST_MONTH = Pattern(rf"上个?月(?P<day>\d{{1,2}}|{_HAN_NUMBER}{{1,3}})[日号]")
_YEAR = Pattern(
    r"(?<![\d.,$€£¥#-])(?<!room )(?<!flat )(?<!gate )(?<!number )(?<!no\. )(?<!model )(?<!port )"
    r"(?<!error )(?<!code )(?<!line )(?<!page )(?<!bus )(?<!version )(?<!flight )"
    r"(?P<year>(?:19|20)\d\d)(?![\d:-]|[.,]\d)(?:年)?"
    r"(?! ?(?:km|m|kg|g|ml|kcal|mah|mb|gb|px|miles?|met(?:er|re)s?|steps|words|people|euros?|dollars|pounds"
    r"|usd|eur|yuan|calories)\b| ?(?:元|块|米|克|步|字|人|公里|号房))",
    re.IGNORECASE,
)
"""A number that can be a year, and neither the name of a room nor an amount."""
_SEASON = Pattern(
    r"\b(?:(?P<which>last|this) )?(?P<season>spring|summer|autumn|winter|(?:in|last|this|the) fall)\b(?: of)?"
    r"(?: (?P<year>(?:19|20)\d\d))?|(?P<hwhich>去年|今年|前年)?(?:的)?(?P<han>春|夏|秋|冬)(?:天|季)",
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
_COUNT = (
    r"\d{1,4}|(?:a )?couple of|a few|few|several|an?"
    r"|one|two|three|four|five|six|seven|eight|nine|ten"
)
_RELATIVE = Pattern(
    r"\b(?P<which>last|this|past) (?P<unit>week|month|year|weekend)\b"
    rf"|\b(?:last|past|previous) (?P<count>{_COUNT}) (?P<units>day|week|month|year)s?\b"
    rf"|\b(?P<ago>{_COUNT}) (?P<ago_unit>day|week|month|year)s? ago\b"
    r"|(?:最近|过去|近)(?:的)?(?P<hcount>\d{1,4}|[一两二三四五六七八九十几半]+)个?(?P<hunit>天|周|星期|礼拜|月|年)"
    r"|(?P<hago>\d{1,4}|[一两二三四五六七八九十几]+)个?(?P<hago_unit>天|周|星期|礼拜|月|年)(?:之|以)?前"
    r"|(?P<han>上上周|上周|上星期|上礼拜|这周|本周|上个?月|这个?月|本月|去年|今年|前年)(?![一二三四五六日天末春夏秋冬十\d])",
    re.IGNORECASE,
)
_COUNTS = {"few": 4, "several": 5, "couple of": 2, "a": 1, "an": 1, "几": 4, "半": 1, "两": 2}
_COUNTS |= {
    w: n for n, w in enumerate("zero one two three four five six seven eight nine ten".split())
}
_DAYS_IN = {"day": 1, "week": 7, "month": 31, "year": 366}
_DAYS_IN |= {"天": 1, "周": 7, "星期": 7, "礼拜": 7, "月": 31, "年": 366}
_YEARS_BACK = {"last year": 1, "this year": 0, "去年": 1, "今年": 0, "前年": 2}
_YEAR_SAID = Pattern(r"\b(?:last|this) year\b|去年|今年|前年", re.IGNORECASE)
EARLIEST = date(1900, 1, 1)
"""Nothing before is looked for, however many years back a question goes."""


@dataclass(frozen=True, slots=True)
class Span:
    """The days from ``since`` to ``until``, both included."""

    since: date
    until: date


def spans(question: str, today: date, years: range) -> list[Span]:
    """Return the spans that a question names, in the past where it leaves that open.

    A month or a season without a year is that of each of ``years``: whoever asks does not always
    remember which one it was. Nothing outside of 1900 to ten years from ``today`` is named.
    """
    years = range(max(years.start, EARLIEST.year), min(years.stop, today.year + 10))
    said = _YEAR_SAID.search(question)
    year = today.year - _YEARS_BACK[said[0].lower()] if said else 0
    named = [*_months(question, today, years, year), *_seasons(question, today, years, year)]
    found = [
        span
        for span in _relative(question, today)
        if not (named and span == _year(year or 1))  # "in May last year" is not the whole of it
    ]
    for mention in mentions(question, today):
        words = question[mention.start : mention.end]
        if (mention.day < today or _TODAY.fullmatch(words)) and not named:
            found.append(Span(mention.day, mention.day))
    found += named
    if not found:
        found = [_year(int(match["year"])) for match in _YEAR.finditer(question)]
    return [span for span in found if span.since.year <= today.year + 10]


def _year(year: int) -> Span:
    return Span(date(year, 1, 1), date(year, 12, 31))


def _month(year: int, month: int) -> Span:
    year, month = year + (month - 1) // 12, (month - 1) % 12 + 1
    return Span(date(year, month, 1), date(year, month, calendar.monthrange(year, month)[1]))


def _number(text: str) -> int:
    """Return a number in digits, in English or in Chinese words."""
    low = text.lower().removeprefix("a ")
    if low.isdigit():
        return int(low)
    if low in _COUNTS:
        return _COUNTS[low]
    tens, ten, ones = low.rpartition("十")
    digits = {c: n for n, c in enumerate("零一二三四五六七八九")} | {"两": 2}
    return (digits.get(tens, 1) * 10 if ten else 0) + digits.get(ones, 0)


def _months(question: str, today: date, years: range, said: int) -> Iterator[Span]:
    """Yield the months and their days that are named; ``said`` is the year that "last year" means."""
    company = _COMPANY.search(question) or _NAMED.search(question)
    for match in _MONTH.finditer(question):
        name, day = match["month"].lower(), int(match["day"] or match["day2"] or 0)
        if name in _VERBS and not (company or day or match["year"]):
            continue
        which = (match["which"] or "").strip().lower()
        month = _MONTHS[name]
        if match["year"]:
            chosen = [int(match["year"])]
        elif which:  # the last one that is over, or that of this year
            chosen = [today.year - (which == "last" and month >= today.month)]
        else:
            chosen = [said] if said else list(years)
        yield from _with_day(chosen, month, day)
    for match in _ISO_MONTH.finditer(question):
        yield _month(int(match["year"]), int(match["month"]))
    for match in _HAN_MONTH.finditer(question):
        own = int(match["year"] or 0) or said
        day = _number(match["day"] or "零")
        yield from _with_day([own] if own else list(years), _number(match["month"]), day)
    for match in _HAN_LAST_MONTH.finditer(question):
        last = _month(today.year - (today.month == 1), (today.month - 2) % 12 + 1).since
        yield from _with_day([last.year], last.month, _number(match["day"]))


def _with_day(years: Sequence[int], month: int, day: int) -> Iterator[Span]:
    for year in years:
        whole = _month(year, month)
        if 0 < day <= whole.until.day:
            yield Span(date(year, month, day), date(year, month, day))
        yield whole


def _seasons(question: str, today: date, years: range, said: int) -> Iterator[Span]:
    for match in _SEASON.finditer(question):
        first = _SEASONS[match["han"] or match["season"].lower().split()[-1]]
        which = (match["which"] or match["season"] or "").lower().split(" ")[0]
        if match["year"]:
            chosen = [int(match["year"])]
        elif which == "last":
            over = [
                y
                for y in range(today.year, today.year - 3, -1)
                if _month(y, first + 2).until < today
            ]
            chosen = over[:1]
        elif which == "this":
            chosen = [today.year]
        else:
            chosen = [said] if said else list(years)
        for year in chosen:
            yield Span(_month(year, first).since, _month(year, first + 2).until)


def _relative(question: str, today: date) -> Iterator[Span]:
    for match in _RELATIVE.finditer(question):
        if match["units"] or match["hunit"]:
            days = (
                _number(match["count"] or match["hcount"])
                * _DAYS_IN[(match["units"] or match["hunit"]).lower()]
            )
            yield Span(_back(today, days), today)
        elif match["ago_unit"] or match["hago_unit"]:
            unit = (match["ago_unit"] or match["hago_unit"]).lower()
            yield _ago(today, _number(match["ago"] or match["hago"]), _DAYS_IN[unit])
        else:
            yield _this_or_last(match, today)


def _back(today: date, days: int) -> date:
    return date.fromordinal(max(today.toordinal() - days, EARLIEST.toordinal()))


def _ago(today: date, count: int, unit: int) -> Span:
    """A day ago is that day, three weeks ago is the week around it, and so on: people round."""
    if unit == 366:
        return _year(max(today.year - count, EARLIEST.year))
    middle = _back(today, count * unit)
    if unit == 31:
        months = max(today.year * 12 + today.month - 1 - count, EARLIEST.year * 12)
        return _month(months // 12, months % 12 + 1)
    slack = timedelta(days=0 if unit == 1 else 4)
    return Span(middle - slack, middle + slack)


def _this_or_last(match: re.Match[str], today: date) -> Span:
    monday = today - timedelta(days=today.weekday())
    han, unit = match["han"] or "", (match["unit"] or "").lower()
    back = 2 if han.startswith(("上上", "前")) else 0 if han.startswith(("这", "本", "今")) else 1
    if match["which"] and match["which"].lower() == "this":
        back = 0
    if unit == "weekend":
        saturday = monday + timedelta(days=5)
        saturday -= timedelta(days=7 * max(back, int(today < saturday)))
        return Span(saturday, saturday + timedelta(days=1))
    if unit == "week" or (han and han[-1] in "周期拜"):
        first = monday - timedelta(days=7 * back)
        return Span(first, first + timedelta(days=6))
    if unit == "month" or han.endswith("月"):
        return _month(today.year, today.month - back)
    return _year(today.year - back)
