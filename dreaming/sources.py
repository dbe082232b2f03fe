"""Owns what a night reads: the notes of a day and what the user said in the chats of that day."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta, tzinfo
from typing import Literal

from memory.facts import facts
from memory.notes import NoteBook, long_id, parts
from memory.rows import first_turn
from memory.sessions import SessionStore

Origin = Literal["note", "said", "hand"]
LONGEST_MESSAGE = 4_000
"""Characters; a longer message is a document, not talk."""
MOST_MESSAGES = 400
MOST_NOTES = 600
"""Of a day, the newest: a file that a program filled must not stop the night."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """One statement and where it stands. ``who`` is ``you`` for the user, also where a person wrote
    a bullet by hand; ``turn`` 0 where no turn is named; ``session`` '' where none is known."""

    day: date
    text: str
    kind: str
    who: str
    origin: Origin
    turn: int = 0
    session: str = ""

    @property
    def is_trusted(self) -> bool:
        """Whether the user stands behind it; what a tool or a page brought in never passes."""
        return self.who == "you"


def notes_of(notes: NoteBook, day: date) -> list[Source]:
    """Return the bullets of a day. One without a source was written by a person: its kind is open."""
    found = []
    for text in notes.texts(day)[-MOST_NOTES:]:
        body, kind, who, turn = parts(text)
        found.append(
            Source(
                day=day,
                text=body,
                kind=kind,
                who=who or "you",
                origin="note" if who else "hand",
                turn=long_id(turn) if turn else 0,
            )
        )
    return found


def said_on(store: SessionStore, day: date, zone: tzinfo) -> Iterator[Source]:
    """Yield what the user said on a day that lasts, by the rules of the daily notes. A message may say
    several things; only the user's own words are read, never an answer or what a tool returned."""
    start = datetime.combine(day, time(), zone)
    rows = store.query(
        "SELECT m.text, m.turn, s.id AS session FROM turns t JOIN messages m ON m.turn = t.id"
        " JOIN sessions s ON s.key = t.session WHERE t.id >= ? AND t.id < ? AND m.role = 0"
        " AND t.status NOT IN ('undone', 'running') AND length(m.text) <= ?"
        " AND s.source NOT IN ('import', 'job') ORDER BY t.id DESC LIMIT ?",
        (
            first_turn(start),
            first_turn(start + timedelta(days=1)),
            LONGEST_MESSAGE,
            MOST_MESSAGES,
        ),
    )
    for row in reversed(rows):
        for fact in facts(row["text"], day):
            yield Source(
                day=day,
                text=fact.text,
                kind=fact.kind,
                who="you",
                origin="said",
                turn=row["turn"],
                session=row["session"],
            )
