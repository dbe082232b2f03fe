"""Owns how often skills were used and how it went: rows of ``state.db``, by turn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from memory import db
from memory.rows import to_ms
from memory.sessions import SessionStore


@dataclass(frozen=True, slots=True, kw_only=True)
class Use:
    """One use of a skill in a turn. ``good`` is None as long as nobody has said or shown how it went."""

    skill: str
    version: int
    turn: int
    at: int
    good: bool | None
    calls: int
    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """What the uses of a skill add up to."""

    uses: int = 0
    good: int = 0
    bad: int = 0
    last: int = 0
    calls: float = 0.0
    """Tool calls of a good use, on average."""


class SkillUses:
    """The uses of one home's skills."""

    def __init__(self, store: SessionStore) -> None:
        self._store = store

    def note(self, use: Use) -> None:
        """Keep a use; the last word on a turn and a skill counts."""
        with db.transaction(self._store.connection()) as connection:
            connection.execute(
                "INSERT OR REPLACE INTO skill_uses(skill, turn, version, at, good, calls, why)"
                " VALUES (?,?,?,?,?,?,?)",
                (use.skill, use.turn, use.version, use.at, use.good, use.calls, use.why),
            )

    def belongs(self, skill: str, turn: int) -> None:
        """Keep that the work of a turn was what a skill is for."""
        with db.transaction(self._store.connection()) as connection:
            connection.execute("INSERT OR IGNORE INTO skill_turns VALUES (?,?)", (skill, turn))

    def examples(self, most: int = 6) -> dict[str, list[str]]:
        """Return what the user said in the last turns that skills are for, by skill, newest first. What
        was forgotten or deleted is not among it."""
        rows = self._store.query(
            "SELECT s.skill, m.text FROM skill_turns s JOIN messages m ON m.turn = s.turn AND m.role = 0"
            " ORDER BY s.turn DESC"
        )
        found: dict[str, list[str]] = {}
        for row in rows:
            told = found.setdefault(row["skill"], [])
            if len(told) < most:
                told.append(row["text"][:500])
        return found

    def of_turn(self, turn: int) -> list[Use]:
        """Return the uses in a turn."""
        return self._rows("WHERE turn = ?", (turn,))

    def of_skill(self, skill: str, version: int | None = None) -> list[Use]:
        """Return the uses of a skill, of one version where it is named, oldest first."""
        if version is None:
            return self._rows("WHERE skill = ?", (skill,))
        return self._rows("WHERE skill = ? AND version = ?", (skill, version))

    def tallies(self) -> dict[str, Tally]:
        """Return what all uses add up to, by skill."""
        rows = self._store.query(
            "SELECT skill, count(*) AS uses, sum(good = 1) AS good, sum(good = 0) AS bad, max(at) AS last,"
            " avg(CASE WHEN good = 1 THEN calls END) AS calls FROM skill_uses GROUP BY skill"
        )
        return {
            row["skill"]: Tally(
                uses=row["uses"],
                good=row["good"] or 0,
                bad=row["bad"] or 0,
                last=row["last"] or 0,
                calls=row["calls"] or 0.0,
            )
            for row in rows
        }

    def _rows(self, where: str, values: tuple[object, ...]) -> list[Use]:
        rows = self._store.query(f"SELECT * FROM skill_uses {where} ORDER BY turn", values)
        return [
            Use(
                skill=row["skill"],
                version=row["version"],
                turn=row["turn"],
                at=row["at"],
                good=None if row["good"] is None else bool(row["good"]),
                calls=row["calls"],
                why=row["why"],
            )
            for row in rows
        ]


def moment(now: datetime) -> int:
    """Return a moment as it is stored: milliseconds since 1970."""
    return to_ms(now)


def outcomes(uses: Sequence[Use]) -> list[bool]:
    """Return how uses went that are judged, oldest first."""
    return [use.good for use in uses if use.good is not None]
