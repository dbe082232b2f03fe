"""Owns the daily notes: ``memory/2026-11-30.md``, one bullet a note, readable and editable by hand."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from pathlib import Path

from memory.atomic import write_atomic
from memory.clean import one_line
from memory.entries import MemoryFile, same_key
from memory.lock import locked
from memory.statements import relation

_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
_SOURCE = re.compile(
    r"\s*\((?P<kind>[a-z]+), (?P<who>[a-z ]+), (?P<time>\d\d:\d\d), turn (?P<turn>[0-9a-z]+)\)$"
)
TEXT_LIMIT = 400
_ORDER = ("correction", "commitment", "preference", "fact", "decision", "person", "lesson")
MERGED_DAYS = 14


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """One thing worth keeping from a turn. ``who`` said it: ``you`` is the user."""

    kind: str
    text: str
    who: str
    turn: int
    when: datetime
    """In the user's zone."""

    def render(self) -> str:
        """Return the note as the text of a bullet: what, then its source in brackets."""
        source = f"({self.kind}, {self.who}, {self.when:%H:%M}, turn {short_id(self.turn)})"
        return f"{one_line(self.text, TEXT_LIMIT)} {source}"


def _usefulness(text: str) -> int:
    source = _SOURCE.search(text)
    kind = source["kind"] if source else ""
    return _ORDER.index(kind) if kind in _ORDER else len(_ORDER)


def _is_news(text: str, earlier: Sequence[str]) -> bool:
    """Whether the last note about the same thing says something else, or there is none: who returns
    to what they said before a change of mind has said something new."""
    key = same_key(text)
    for old in reversed(earlier):
        kind = "same" if same_key(old) == key else relation(old, text)
        if kind != "apart":
            return kind == "supersedes"
    return True


def short_id(turn: int) -> str:
    """Return a turn's id as people see it: base 36, twelve characters."""
    text = ""
    while turn:
        turn, digit = divmod(turn, 36)
        text = _DIGITS[digit] + text
    return text or "0"


def long_id(text: str) -> int:
    """Return the turn id that :func:`short_id` wrote; raises ``ValueError`` for other text."""
    return int(text, 36)


class NoteBook:
    """The notes in ``folder``, written under the home's ``lock``."""

    def __init__(self, folder: Path, lock: Path) -> None:
        self._folder = folder
        self._lock = lock

    def path(self, day: date) -> Path:
        """Return the file of a day."""
        return self._folder / f"{day.isoformat()}.md"

    def add(self, notes: Iterable[Note]) -> list[Note]:
        """Append notes to the files of their days and return those that were new.

        A note that says the same as one of its day or of the two weeks before is not written
        again; so repeating is harmless, and a fact told daily stands once.
        """
        by_day: dict[date, list[Note]] = {}
        for note in notes:
            by_day.setdefault(note.when.date(), []).append(note)
        added: list[Note] = []
        for day, group in by_day.items():
            with locked(self._lock):
                added += self._append(day, group)
        return added

    def _append(self, day: date, notes: Sequence[Note]) -> list[Note]:
        file = MemoryFile.read(self.path(day))
        standing = {entry.text for entry in file.entries}
        earlier = [
            strip_source(text)
            for back in range(MERGED_DAYS, -1, -1)
            for text in self.texts(day - timedelta(days=back))
        ]
        added: list[Note] = []
        if not file.raw:
            file = MemoryFile(raw=f"# {day.isoformat()}\n\n")
        for note in notes:
            if note.text.strip() and note.render() not in standing and _is_news(note.text, earlier):
                earlier.append(note.text)
                file = file.add(note.render())
                added.append(note)
        if added:
            write_atomic(self.path(day), file.to_bytes())
        return added

    def texts(self, day: date) -> list[str]:
        """Return the bullets of a day as they stand in the file; none when there is no file."""
        return [entry.text for entry in MemoryFile.read(self.path(day)).entries]

    def recent(self, today: date, limit: int) -> str:
        """Return today's and yesterday's notes, the most useful first, at most ``limit`` characters.

        Useful is what keeps from a mistake today: corrections and appointments before tastes, those
        before the rest; among equals the newest.
        """
        notes = [
            (_usefulness(text), f"- {day.isoformat()}: {one_line(strip_source(text), TEXT_LIMIT)}")
            for day in (today, today - timedelta(days=1))
            for text in reversed(self.texts(day))
        ]
        rows: list[str] = []
        used = 0
        for _, row in sorted(notes, key=lambda note: note[0]):
            if used + len(row) + 1 <= limit:
                rows.append(row)
                used += len(row) + 1
        return "\n".join(rows)

    def days(self) -> list[date]:
        """Return the days that have notes, oldest first."""
        found = []
        for path in self._folder.glob("????-??-??.md"):
            try:
                found.append(date.fromisoformat(path.stem))
            except ValueError:
                continue
        return sorted(found)


def source_turn(text: str) -> int:
    """Return the turn that a bullet names as its source, 0 when it names none."""
    source = _SOURCE.search(text)
    return long_id(source["turn"]) if source else 0


def parts(text: str) -> tuple[str, str, str, str]:
    """Return a bullet's text without its source, the kind, who said it, and the turn's short id ('' where
    none is named)."""
    source = _SOURCE.search(text)
    if source is None:
        return text, "", "", ""
    return text[: source.start()], source["kind"], source["who"], source["turn"]


def strip_source(text: str) -> str:
    """Return a bullet's text without the source in brackets."""
    return _SOURCE.sub("", text)
