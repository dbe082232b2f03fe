"""Owns the health of the full-text index and of the database file: check, rebuild, compact."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING

from memory import db
from memory.errors import StorageError
from memory.migrations import FULL_TEXT

if TYPE_CHECKING:
    from memory.sessions import SessionStore


def check(store: SessionStore) -> list[str]:
    """Return what is wrong with the database; empty means healthy. Reads the whole file."""
    found = [str(row[0]) for row in store.query("PRAGMA quick_check(5)")]
    return ([] if found == ["ok"] else found) + problems(store)


def problems(store: SessionStore) -> list[str]:
    """Return what is wrong with the full-text index alone."""
    connection = store.connection()
    test = "INSERT INTO messages_fts(messages_fts, rank) VALUES ('integrity-check', 1)"
    try:
        db.retrying(lambda: connection.execute(test))
    except StorageError as error:
        return [f"full-text index: {error}"]
    return []


def rebuild(store: SessionStore) -> None:
    """Drop the full-text index and build it anew from the messages."""
    with db.transaction(store.connection()) as connection:
        for name in ("insert", "delete", "unindex", "update"):
            connection.execute(f"DROP TRIGGER IF EXISTS messages_fts_{name}")
        # DROP TABLE would ask the damaged index itself; its pages are reclaimed below.
        connection.execute("PRAGMA writable_schema=ON")
        connection.execute("DELETE FROM sqlite_master WHERE name GLOB 'messages_fts*'")
        connection.execute("PRAGMA writable_schema=OFF")
        connection.execute("DROP VIEW IF EXISTS messages_indexed")
    store.close()  # a new connection reads the schema as it now is
    with db.transaction(store.connection()) as connection:
        for statement in FULL_TEXT:
            connection.execute(statement)
        connection.execute("INSERT INTO messages_fts(messages_fts) VALUES ('rebuild')")
    compact(store)


def compact(store: SessionStore) -> None:
    """Rebuild the full-text index and the file: no deleted word is left in either."""
    connection = store.connection()
    in_log = connection.execute("PRAGMA journal_mode").fetchone()[0] == "wal"
    for statement in (
        "INSERT INTO messages_fts(messages_fts) VALUES ('rebuild')",
        "VACUUM",
        *(("PRAGMA wal_checkpoint(TRUNCATE)",) if in_log else ()),
    ):
        _run(connection, statement)


def _run(connection: sqlite3.Connection, statement: str) -> None:
    db.retrying(lambda: connection.execute(statement).fetchall())
