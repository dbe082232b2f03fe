"""Owns the rescue of a damaged ``state.db``: the file is moved aside whole, what reads is copied."""

from __future__ import annotations

import os
import shutil
import sqlite3
import tempfile
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
        with tempfile.TemporaryDirectory(dir=path.parent) as folder:
            old = sqlite3.connect(_padded(aside, Path(folder) / "copy.db"))
            try:
                with db.transaction(store.connection()) as new:
                    new.execute("PRAGMA defer_foreign_keys = ON")
                    for table in TABLES:
                        saved[table] = _copy(old, new, table)
                    _adopt_orphans(new)
            finally:
                old.close()
    finally:
        store.close()
    return Rescue(aside=aside, saved=saved)


def _padded(aside: Path, copy: Path) -> Path:
    """Return a copy of the damaged database, filled up with zeros to the length that its header
    promises: SQLite refuses a shorter file as a whole, but reads around empty pages."""
    for suffix in ("", "-wal"):
        source = aside.with_name(aside.name + suffix)
        if source.exists():
            shutil.copyfile(source, copy.with_name(copy.name + suffix))
    header = copy.read_bytes()[:100]
    if header.startswith(b"SQLite format 3\0"):
        page = int.from_bytes(header[16:18]) or 1
        promised = (65536 if page == 1 else page) * int.from_bytes(header[28:32])
        if copy.stat().st_size < promised:
            os.truncate(copy, promised)
    return copy


def _adopt_orphans(new: sqlite3.Connection) -> None:
    """Give rescued words whose turn or session was lost one to be found in."""
    new.execute(
        "INSERT OR IGNORE INTO sessions(key, id, title, started, updated)"
        " SELECT DISTINCT session, 'rescued-' || session, '(rescued)', id >> 20, id >> 20"
        " FROM turns WHERE session NOT IN (SELECT key FROM sessions)"
    )
    lost = "SELECT DISTINCT turn FROM messages WHERE turn NOT IN (SELECT id FROM turns)"
    if new.execute(lost).fetchone():
        new.execute(
            "INSERT OR IGNORE INTO sessions(id, title, started, updated)"
            f" SELECT 'rescued', '(rescued)', min(turn) >> 20, max(turn) >> 20 FROM ({lost})"
        )
        new.execute(
            "INSERT INTO turns(id, session, status)"
            f" SELECT turn, (SELECT key FROM sessions WHERE id = 'rescued'), 'done' FROM ({lost})"
        )
    new.execute("DELETE FROM hook_steps WHERE turn NOT IN (SELECT id FROM turns)")


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
    """Yield the rows that can be read: from both ends, then by leaps over the damage between."""
    select = f"SELECT {', '.join(names)} FROM {table}"
    key = _KEYS.get(table)
    if key is None:
        yield from _until_damage(old, select, ())
        return
    place = names.index(key)
    last = 0
    for row in _until_damage(old, f"{select} ORDER BY {key}", ()):
        last = max(last, int(str(row[place])))
        yield row
    step, misses = 1, 0
    while misses < 64 and last + step < 2**63:
        found = False
        for row in _until_damage(old, f"{select} WHERE {key} > ? ORDER BY {key}", (last + step,)):
            found = True
            last = max(last, int(str(row[place])))
            yield row
        step, misses = (1, 0) if found else (step * 2, misses + 1)


def _until_damage(
    old: sqlite3.Connection, sql: str, values: tuple[object, ...]
) -> Iterator[tuple[object, ...]]:
    try:
        yield from old.execute(sql, values)
    except sqlite3.DatabaseError:
        return
