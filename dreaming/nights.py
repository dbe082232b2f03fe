"""Owns what is remembered of nights in ``state.db``: the cursor, counts, and hashes of what was promoted;
never a word, so nothing here has to be forgotten."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from memory import db
from memory.entries import same_key
from memory.rows import from_ms, to_ms
from memory.sessions import SessionStore
from memory.statements import statement


@dataclass(frozen=True, slots=True, kw_only=True)
class Night:
    """One night: the last day that it took in, when it ran, by which engine, what came of how many
    candidates, why others were refused, and what it cost."""

    day: date
    at: datetime
    engine: str
    outcomes: Mapping[str, int]
    refused: Mapping[str, int]
    calls: int = 0
    tokens: int = 0
    seconds: float = 0.0
    trouble: str = ""


class Nights:
    """The nights of a home."""

    def __init__(self, store: SessionStore) -> None:
        self._store = store

    def cursor(self) -> date | None:
        """Return the last day that was dreamt of, None before the first night."""
        rows = self._store.query("SELECT max(day) AS day FROM nights")
        return date.fromisoformat(rows[0]["day"]) if rows[0]["day"] else None

    def has(self, day: date) -> bool:
        """Whether a day was dreamt of."""
        return bool(self._store.query("SELECT 1 FROM nights WHERE day = ?", (day.isoformat(),)))

    def last(self, limit: int = 1) -> list[Night]:
        """Return the last nights, newest first."""
        rows = self._store.query("SELECT * FROM nights ORDER BY day DESC LIMIT ?", (limit,))
        return [
            Night(
                day=date.fromisoformat(row["day"]),
                at=from_ms(row["at"]),
                engine=row["engine"],
                seconds=row["seconds"],
                **json.loads(row["report"]),
            )
            for row in rows
        ]

    def promoted(self) -> dict[str, date]:
        """Return the hashes of all that was ever promoted, with the day of its night."""
        rows = self._store.query("SELECT digest, day FROM promoted")
        return {row["digest"]: date.fromisoformat(row["day"]) for row in rows}

    def close(self, night: Night, texts: Iterable[str]) -> None:
        """Note a night and what it promoted, in one transaction: the cursor moves last."""
        report = {
            "outcomes": dict(night.outcomes),
            "refused": dict(night.refused),
            "calls": night.calls,
            "tokens": night.tokens,
            "trouble": night.trouble,
        }
        day = night.day.isoformat()
        with db.transaction(self._store.connection()) as connection:
            connection.executemany(
                "INSERT OR IGNORE INTO promoted(digest, day) VALUES (?,?)",
                [(digest, day) for text in texts for digest in digests(text)],
            )
            connection.execute(
                "INSERT OR REPLACE INTO nights(day, at, engine, seconds, report, told)"
                " VALUES (?,?,?,?,?,0)",
                (day, to_ms(night.at), night.engine, night.seconds, json.dumps(report)),
            )

    def untold(self) -> list[Night]:
        """Return the nights since the user was last told, which count as told from now on."""
        nights = [n for n in self.last(14) if n.day in self._untold_days()]
        if nights:
            with db.transaction(self._store.connection()) as connection:
                connection.execute("UPDATE nights SET told = 1 WHERE told = 0")
        return nights

    def _untold_days(self) -> set[date]:
        rows = self._store.query("SELECT day FROM nights WHERE told = 0")
        return {date.fromisoformat(row["day"]) for row in rows}


def digests(text: str) -> tuple[str, ...]:
    """Return the hashes that name a statement: of its words as they stand, and of what it says."""
    said = statement(text)
    content = f"{said.subject}|{said.polarity}|{' '.join(sorted(said.content))}"
    keys = [same_key(text), content] if len(said.content) > 1 else [same_key(text)]
    return tuple(hashlib.sha256(key.encode("utf-8", "replace")).hexdigest()[:32] for key in keys)


def due(cursor: date | None, now: datetime, hour: int) -> date:
    """Return the last day whose night has come at ``now``: yesterday, from ``hour`` o'clock on."""
    back = 1 if now.hour >= hour else 2
    return now.date() - timedelta(days=back)
