"""Owns doubts: two memories that may contradict each other and of which neither clearly replaces the
other. Both stay; the user is asked once which of them holds."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime

from memory import db
from memory.entries import same_key
from memory.rows import to_ms
from memory.sessions import SessionStore
from memory.statements import at_odds, statement

_COMPARED = 50
"""Earlier memories that share a telling word, at most, that one is compared with."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """A memory as it stands, and the day since which it does, where that is known."""

    text: str
    day: date | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Doubt:
    """Two memories that may contradict each other, the older one first."""

    old: Memory
    new: Memory

    @property
    def digest(self) -> str:
        """A hash that names the pair without its words."""
        return hashlib.sha256(
            "\n".join(sorted((same_key(self.old.text), same_key(self.new.text)))).encode()
        ).hexdigest()


def doubts(memories: Sequence[Memory]) -> list[Doubt]:
    """Return the pairs among ``memories``, oldest first, that may contradict each other.

    Only memories about the same person that share a telling word are compared, so that hundreds of
    them take no quadratic time.
    """
    groups: dict[tuple[str, str], list[int]] = defaultdict(list)
    found: dict[tuple[int, int], Doubt] = {}
    for position, memory in enumerate(memories):
        said = statement(memory.text)
        for key in said.content | ({said.attribute} - {""}):
            for earlier in groups[said.subject, key][-_COMPARED:]:
                if at_odds(memories[earlier].text, memory.text):
                    found[earlier, position] = Doubt(old=memories[earlier], new=memory)
            groups[said.subject, key].append(position)
    return list(found.values())


class Asked:
    """What the user was asked already; kept in the archive."""

    def __init__(self, store: SessionStore) -> None:
        self._store = store

    def first_new(self, among: Sequence[Doubt]) -> Doubt | None:
        """Return the newest doubt that was never asked about, None when there is none."""
        if not among:
            return None
        known = {row["digest"] for row in self._store.query("SELECT digest FROM asked")}
        return next((doubt for doubt in reversed(among) if doubt.digest not in known), None)

    def note(self, doubt: Doubt, now: datetime) -> None:
        """Note that the user was asked."""
        with db.transaction(self._store.connection()) as connection:
            connection.execute(
                "INSERT OR REPLACE INTO asked(digest, at) VALUES (?, ?)",
                (doubt.digest, to_ms(now)),
            )
