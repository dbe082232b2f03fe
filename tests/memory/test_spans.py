"""The spans of time that a question names, and the words that only look like one."""

from __future__ import annotations

from datetime import date

import pytest

from memory.spans import spans

TODAY = date(2026, 12, 1)
YEARS = range(2024, 2027)


def told(question: str) -> list[str]:
    """The spans as ``2024-05-01..2024-05-31``, the widest years first."""
    return [f"{s.since}..{s.until}" for s in spans(question, TODAY, YEARS)]


@pytest.mark.parametrize(
    "question",
    [
        "this may be wrong",
        "the last may be the best",
        "we march to the sea",
        "二十一月",
        "五月花号是什么",
        "who sleeps in room 1999?",
        "it cost 2000 euros",
        "the file has 2048 lines, 2000 steps and version 2.2024",
        "hello",
    ],
)
def test_no_time(question: str) -> None:
    assert told(question) == []


@pytest.mark.parametrize(
    ("question", "since", "until"),
    [
        ("the budget of 2024-05", "2024-05-01", "2024-05-31"),
        ("what did we do in May last year?", "2025-05-01", "2025-05-31"),
        ("last year in may", "2025-05-01", "2025-05-31"),
        ("last March", "2026-03-01", "2026-03-31"),
        ("last December", "2025-12-01", "2025-12-31"),
        ("what did I do this May?", "2026-05-01", "2026-05-31"),
        ("去年十二月", "2025-12-01", "2025-12-31"),
        ("去年夏天去了哪里", "2025-06-01", "2025-08-31"),
        ("past 3 months", "2026-08-30", "2026-12-01"),
        ("the last few days", "2026-11-27", "2026-12-01"),
        ("five days ago", "2026-11-26", "2026-11-26"),
        ("3 months ago", "2026-09-01", "2026-09-30"),
        ("a couple of years ago", "2024-01-01", "2024-12-31"),
        ("三个月前说了什么", "2026-09-01", "2026-09-30"),
        ("最近三个月", "2026-08-30", "2026-12-01"),
        ("trip in 2024", "2024-01-01", "2024-12-31"),
        ("last 5000 years", "1900-01-01", "2026-12-01"),
    ],
)
def test_one_span(question: str, since: str, until: str) -> None:
    assert told(question) == [f"{since}..{until}"]


def test_no_number_is_too_large() -> None:
    for question in ("9999 weeks ago", "9999 years ago", "last 9999 months", "9999个月前"):
        assert told(question)[0].startswith(("18", "19"))


@pytest.mark.parametrize(
    ("question", "day"),
    [
        ("上个月3号", "2026-11-03"),
        ("2024年5月3日的会议", "2024-05-03"),
        ("on 2024-05-03", "2024-05-03"),
        ("5 May 2024", "2024-05-05"),
    ],
)
def test_a_day_and_its_month(question: str, day: str) -> None:
    assert told(question)[0] == f"{day}..{day}"


def test_a_month_without_a_year_is_that_of_each_year() -> None:
    assert told("what happened in May?") == [f"{y}-05-01..{y}-05-31" for y in YEARS]
    assert len(told("where was I on March 5?")) == 6  # day and month
    assert len(spans("in winter", TODAY, range(1, 10_000))) < 200
