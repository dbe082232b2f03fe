"""Owns how often a memory was of use: in which turns an answer took it up. Hashes, never words."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from datetime import datetime

from memory import db
from memory.entries import same_key
from memory.recall_words import overlap
from memory.rows import to_ms
from memory.sessions import SessionStore

TAKEN_UP = 0.5
"""The share of a memory's telling words that an answer holds when it has taken it up."""


class Uses:
    """The record of uses, kept in the archive."""

    def __init__(self, store: SessionStore) -> None:
        self._store = store

    def note(self, turn: int, texts: Iterable[str], answer: str, now: datetime) -> int:
        """Record which of ``texts`` the answer of a turn took up; return how many. Repeating it changes
        nothing."""
        used = {_digest(text) for text in texts if overlap(text, answer) >= TAKEN_UP}
        if used:
            with db.transaction(self._store.connection()) as connection:
                connection.executemany(
                    "INSERT OR IGNORE INTO used(digest, turn, at) VALUES (?,?,?)",
                    [(digest, turn, to_ms(now)) for digest in sorted(used)],
                )
        return len(used)

    def counts(self, texts: Sequence[str]) -> dict[str, int]:
        """Return for each text in how many turns it was taken up."""
        rows = self._store.query("SELECT digest, count(*) FROM used GROUP BY digest")
        known = {row[0]: int(row[1]) for row in rows}
        return {text: known.get(_digest(text), 0) for text in texts}


def _digest(text: str) -> str:
    return hashlib.sha256(same_key(text).encode("utf-8", "replace")).hexdigest()[:32]
