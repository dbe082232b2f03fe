"""Owns the rescue of a damaged ``state.db``: the file is moved aside whole, what reads is copied."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from memory import db
from memory.sessions import SessionStore

TABLES = ("sessions", "turns", "messages", "hook_steps")
_KEYS = {"sessions": "key", "turns": "id", "messages": "id"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Rescue:
    """What came of it: where the damaged file is now, and how many rows were saved, by table."""

    aside: Path
    saved: dict[str, int]

    def __str__(self) -> str:
        counts = ", ".join(
            f"{n} {table}" for table, n in self.saved.items() if table != "hook_steps"
        )
        return (
            f"The database was damaged. It is kept as {self.aside}; {counts} could be read from it "
            "and are here again. Next step: nothing; keep the old file until you miss nothing."
        )


def rescue(path: Path, now: datetime) -> Rescue:
    """Move the damaged database aside and make a new one of what SQLite can still read.

    Raises ``OSError`` when the folder cannot be written.
    """
    aside = path.with_name(f"{path.name}.damaged-{now:%Y%m%d-%H%M%S}")
    path.replace(aside)
    for suffix in ("-wal", "-shm"):
        beside = path.with_name(path.name + suffix)
        if beside.exists():
            beside.replace(aside.with_name(aside.name + suffix))
    store = SessionStore(path)
    saved = dict.fromkeys(TABLES, 0)
    try:
        old = sqlite3.connect(f"file:{aside}?mode=ro", uri=True)
    except sqlite3.DatabaseError:
        return Rescue(aside=aside, saved=saved)
    try:
        with db.transaction(store.connection()) as new:
            new.execute("PRAGMA defer_foreign_keys = ON")
            for table in TABLES:
                saved[table] = _copy(old, new, table)
            # A turn whose session was lost still holds words: give it a session to be found in.
            new.execute(
                "INSERT OR IGNORE INTO sessions(key, id, title, started, updated)"
                " SELECT DISTINCT session, 'rescued-' || session, '(rescued)', id >> 20, id >> 20"
                " FROM turns WHERE session NOT IN (SELECT key FROM sessions)"
            )
            new.execute("DELETE FROM messages WHERE turn NOT IN (SELECT id FROM turns)")
            new.execute("DELETE FROM hook_steps WHERE turn NOT IN (SELECT id FROM turns)")
    finally:
        old.close()
        store.close()
    return Rescue(aside=aside, saved=saved)


def _copy(old: sqlite3.Connection, new: sqlite3.Connection, table: str) -> int:
    columns = [row[1] for row in new.execute(f"PRAGMA table_info({table})")]
    try:
        there = {row[1] for row in old.execute(f"PRAGMA table_info({table})")}
    except sqlite3.DatabaseError:
        return 0
    names = [name for name in columns if name in there]
    if not names:
        return 0
    insert = (
        f"INSERT OR IGNORE INTO {table}({', '.join(names)}) VALUES ({', '.join('?' * len(names))})"
    )
    count = 0
    for row in _readable(old, table, names):
        try:
            count += new.execute(insert, row).rowcount
        except sqlite3.IntegrityError:
            continue  # a torn row; its neighbours are still good
    return count


def _readable(
    old: sqlite3.Connection, table: str, names: list[str]
) -> Iterator[tuple[object, ...]]:
    """Yield rows from both ends towards the damage, since a scan stops at the first bad page."""
    key = _KEYS.get(table)
    order = f"ORDER BY {key}" if key else ""
    seen: set[object] = set()
    for direction in ("", "DESC") if key else ("",):
        try:
            for row in old.execute(f"SELECT {', '.join(names)} FROM {table} {order} {direction}"):
                mark = row[names.index(key)] if key else row
                if mark in seen:
                    return
                seen.add(mark)
                yield row
        except sqlite3.DatabaseError:
            continue
