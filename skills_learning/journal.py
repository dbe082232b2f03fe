"""Owns the journal of skills: what was learned, changed, dropped, taken back, when and why.

One JSON object a line in ``skills/.journal.jsonl``; the lines that the user was told of are counted.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from memory.atomic import write_atomic
from memory.lock import locked

Event = Literal[
    "learned", "updated", "waiting", "dropped", "installed", "approved", "rejected",
    "removed", "restored", "undone", "rolled back", "proposed",
]  # fmt: skip
TOLD: tuple[Event, ...] = ("learned", "updated", "waiting", "rolled back", "proposed")
"""Events that a chat says by itself."""
HANDLED: tuple[Event, ...] = ("learned", "updated", "waiting", "dropped")
"""Events by which a turn has been learned from; none is learned from twice."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Happening:
    """One line of the journal. ``turn`` is the short id of the turn that was the reason."""

    event: Event
    skill: str
    why: str
    when: str
    turn: str = ""
    version: int = 0

    def line(self) -> str:
        """Return it as the chat says it."""
        if self.event == "learned":
            return f"learned: {self.skill} (reverie skills show {self.skill}, undo {self.skill})"
        if self.event == "updated":
            undo = f"reverie skills undo {self.skill}"
            return f"updated: {self.skill}, version {self.version}: {self.why} ({undo})"
        if self.event == "waiting":
            return f"a skill waits for you: {self.skill}: {self.why} (reverie skills pending)"
        return f"skill {self.skill} {self.event}: {self.why}"


class Journal:
    """The journal of one home's skills."""

    def __init__(self, folder: Path, lock: Path) -> None:
        self._file = folder / ".journal.jsonl"
        self._told = folder / ".journal.told"
        self._lock = lock

    def add(
        self,
        event: Event,
        skill: str,
        why: str,
        *,
        turn: str = "",
        version: int = 0,
        now: datetime | None = None,
    ) -> Happening:
        """Append a line."""
        when = (now or datetime.now(UTC)).isoformat(timespec="seconds")
        happening = Happening(
            event=event,
            skill=skill,
            why=" ".join(why.split())[:400],
            when=when,
            turn=turn,
            version=version,
        )
        row = json.dumps(asdict(happening), ensure_ascii=False) + "\n"
        with locked(self._lock):
            self._file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            descriptor = os.open(self._file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
            with os.fdopen(descriptor, "ab") as file:
                file.write(row.encode("utf-8", "replace"))
        return happening

    def all(self) -> list[Happening]:
        """Return the lines, oldest first; half a line of a killed process is skipped."""
        try:
            text = self._file.read_text(encoding="utf-8", errors="replace")
        except OSError:
            return []
        found = []
        for row in text.splitlines():
            try:
                found.append(Happening(**json.loads(row)))
            except (ValueError, TypeError):
                continue
        return found

    def of_turn(self, turn: str) -> list[Happening]:
        """Return what was learned from a turn, or decided not to be."""
        return [h for h in self.all() if h.turn == turn and h.event in HANDLED]

    def news(self) -> list[str]:
        """Return what the user was not told yet, and count it as told."""
        happenings = self.all()
        try:
            seen = int(self._told.read_text())
        except (OSError, ValueError):
            seen = 0
        if seen >= len(happenings):
            return []
        fresh: Sequence[Happening] = happenings[seen:]
        with locked(self._lock):
            write_atomic(self._told, str(len(happenings)).encode())
        return [h.line() for h in fresh if h.event in TOLD]
