"""Daily notes: one bullet a fact with its source, nothing twice, hand edits respected."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.notes import Note, NoteBook, long_id, short_id, strip_source

WHEN = datetime(2026, 11, 30, 8, 15, tzinfo=ZoneInfo("Europe/Berlin"))


@pytest.fixture
def book(tmp_path: Path) -> NoteBook:
    return NoteBook(tmp_path / "memory", tmp_path / "lock")


def note(text: str, kind: str = "fact", when: datetime = WHEN) -> Note:
    return Note(kind=kind, text=text, who="you", turn=77, when=when)


def test_a_note_reads_well_and_names_its_source(book: NoteBook) -> None:
    book.add([note("I live in Graz 🙂"), note("first\nsecond")])
    assert book.path(WHEN.date()).read_text() == (
        "# 2026-11-30\n\n- I live in Graz 🙂 (fact, you, 08:15, turn 25)\n"
        "- first second (fact, you, 08:15, turn 25)\n"
    )
    assert strip_source(book.texts(WHEN.date())[0]) == "I live in Graz 🙂"


def test_the_same_fact_stands_once_in_two_weeks(book: NoteBook) -> None:
    assert len(book.add([note("I love Chinese food")])) == 1
    for days in (0, 1, 13):
        later = WHEN + timedelta(days=days)
        assert book.add([note("Chinese food is my favourite!", when=later)]) == []
    assert len(book.add([note("I hate Chinese food", when=WHEN + timedelta(days=1))])) == 1
    # Who returns to what was said before has changed their mind again.
    assert len(book.add([note("I love Chinese food", when=WHEN + timedelta(days=2))])) == 1
    assert len(book.add([note("I love Chinese food", when=WHEN + timedelta(days=40))])) == 1


def test_a_hand_edit_is_respected(book: NoteBook) -> None:
    book.add([note("one fact here")])
    path = book.path(WHEN.date())
    path.write_text(path.read_text().replace("one fact here", "mine now") + "\nprose\n")
    book.add([note("another thing")])
    text = path.read_text()
    assert "mine now" in text and "prose" in text and "another thing" in text
    assert "one fact" not in text


def test_the_most_useful_come_first_within_the_limit(book: NoteBook) -> None:
    book.add([note("lesson about the gate", "lesson"), note("I prefer tea", "preference")])
    book.add([note("exam 2026-12-01", "commitment", WHEN - timedelta(days=1))])
    rows = book.recent(WHEN.date(), 2000).splitlines()
    assert [row.split(": ")[1] for row in rows] == [
        "exam 2026-12-01",
        "I prefer tea",
        "lesson about the gate",
    ]
    assert len(book.recent(WHEN.date(), 40)) <= 40


@given(st.integers(0, 2**63 - 1))
def test_ids_round_trip(turn: int) -> None:
    assert long_id(short_id(turn)) == turn
