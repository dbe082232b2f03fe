"""Dates in plain words, in both languages."""

from __future__ import annotations

from datetime import date

import pytest

from memory.dates import absolute, mentions

MONDAY = date(2026, 11, 30)

CASES = [
    ("I fly to Rome tomorrow", "2026-12-01"),
    ("exam the day after tomorrow", "2026-12-02"),
    ("dinner tonight", "2026-11-30"),
    ("in three days", "2026-12-03"),
    ("in two weeks we get the keys", "2026-12-14"),
    ("see you on Thursday", "2026-12-03"),
    ("vet mon 8:30", "2026-12-07"),
    ("next Wednesday", "2026-12-09"),
    ("last Friday", "2026-11-27"),
    ("on 22 May 2027", "2027-05-22"),
    ("the 9th of dec", "2026-12-09"),
    ("Dec 5", "2026-12-05"),
    ("rent is due on the 1st", "2026-12-01"),
    ("by the end of the month", "2026-11-30"),
    ("明天下午三点开会", "2026-12-01"),
    ("后天交初稿", "2026-12-02"),
    ("大后天出发", "2026-12-03"),
    ("周五下午", "2026-12-04"),
    ("下周三体检", "2026-12-09"),
    ("12月12号跑半马", "2026-12-12"),
    ("十二月二十五日", "2026-12-25"),
    ("三天后到", "2026-12-03"),
    ("两周后搬家", "2026-12-14"),
    ("元旦之前", "2027-01-01"),
    ("平安夜吃火锅", "2026-12-24"),
    ("面试改到17号下午", "2026-12-17"),
    ("2026-12-24", "2026-12-24"),
]


@pytest.mark.parametrize(("text", "day"), CASES)
def test_the_day_that_was_meant(text: str, day: str) -> None:
    assert [m.day.isoformat() for m in mentions(text, MONDAY)] == [day]


@pytest.mark.parametrize(
    "text",
    [
        "may I ask",
        "the sun is out",
        "地铁7号线",
        "I march on",
        "31 people",
        "31st floor",
        "4-1",
        "周到的服务",
    ],
)
def test_what_is_no_date(text: str) -> None:
    assert mentions(text, MONDAY) == []


def test_words_that_go_stale_are_replaced_and_others_kept() -> None:
    assert absolute("Tomorrow I fly to Rome", MONDAY) == "2026-12-01 I fly to Rome"
    assert absolute("the party is on Saturday", MONDAY) == "the party is on Saturday (2026-12-05)"
    assert absolute("明天飞罗马，周六回来", MONDAY) == "2026-12-01飞罗马，周六 (2026-12-05)回来"
    assert absolute("due 2026-12-24", MONDAY) == "due 2026-12-24"
