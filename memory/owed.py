"""Owns what the post-turn hook still owes: which steps of which turns are done."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date, datetime

from memory import db
from memory.rows import to_ms
from memory.sessions import SessionStore
from memory.transcript import Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """What background work cost: tokens and calls, and seconds that were waited for a model."""

    usage: Usage = field(default_factory=Usage)
    seconds: float = 0.0

    def __add__(self, other: Spent) -> Spent:
        return Spent(usage=self.usage + other.usage, seconds=self.seconds + other.seconds)


class OwedSteps:
    """The queue of post-turn work, kept beside the turns so that no crash forgets it."""

    def __init__(self, store: SessionStore) -> None:
        self._store = store

    def owed(self, limit: int = 100) -> list[int]:
        """Return the ids of turns whose post-turn steps are not all done, oldest first."""
        rows = self._store.query(
            "SELECT id FROM turns WHERE hook_owed = 1 ORDER BY id LIMIT ?", (limit,)
        )
        return [row["id"] for row in rows]

    def steps_done(self, turn_id: int) -> set[str]:
        """Return the names of the post-turn steps that are done for a turn."""
        rows = self._store.query(
            "SELECT step FROM hook_steps WHERE turn = ? AND status = 'done'", (turn_id,)
        )
        return {row["step"] for row in rows}

    def record_step(
        self, turn_id: int, step: str, status: str, ms: float, detail: str, now: datetime
    ) -> None:
        """Note how a post-turn step of a turn went; the last word per step counts."""
        with db.transaction(self._store.connection()) as connection:
            connection.execute(
                "INSERT OR REPLACE INTO hook_steps(turn, step, status, finished, ms, detail)"
                " SELECT ?,?,?,?,?,? WHERE EXISTS (SELECT 1 FROM turns WHERE id = ?)",
                (turn_id, step, status, to_ms(now), ms, detail, turn_id),
            )

    def spend(self, source: str, usage: Usage, now: datetime, seconds: float) -> None:
        """Add what a piece of background work cost."""
        with db.transaction(self._store.connection()) as connection:
            connection.execute(
                "INSERT INTO spent(day, source, calls, input, output, cached, seconds)"
                " VALUES (?,?,?,?,?,?,?) ON CONFLICT(day, source) DO UPDATE SET"
                " calls = calls + excluded.calls, input = input + excluded.input,"
                " output = output + excluded.output, cached = cached + excluded.cached,"
                " seconds = seconds + excluded.seconds",
                (
                    now.date().isoformat(),
                    source,
                    usage.calls,
                    usage.input,
                    usage.output,
                    usage.cached,
                    seconds,
                ),
            )

    def spent(self, since: date) -> dict[str, Spent]:
        """Return what background work cost since a day, by source."""
        rows = self._store.query(
            "SELECT source, sum(calls) AS calls, sum(input) AS input, sum(output) AS output,"
            " sum(cached) AS cached, sum(seconds) AS seconds FROM spent WHERE day >= ? GROUP BY source",
            (since.isoformat(),),
        )
        return {
            row["source"]: Spent(
                usage=Usage(
                    calls=row["calls"],
                    input=row["input"],
                    output=row["output"],
                    cached=row["cached"],
                ),
                seconds=row["seconds"],
            )
            for row in rows
        }

    def settle(self, turn_id: int) -> None:
        """Take a turn out of the hook's queue."""
        with db.transaction(self._store.connection()) as connection:
            connection.execute("UPDATE turns SET hook_owed = 0 WHERE id = ?", (turn_id,))
