"""Owns how ``state.db`` is opened, written under contention, and judged when it fails."""

from __future__ import annotations

import os
import random
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from memory.errors import Corrupt, DiskFull, StorageError
from memory.tokens import search_text

T = TypeVar("T")
WRITE_PATIENCE_S = 30.0
"""How long a write waits for other processes before it gives up, in seconds."""


def connect(path: Path) -> sqlite3.Connection:
    """Open ``path`` with the settings that all of Reverie uses; creates it with mode 0600.

    Write-ahead log, full synchronisation (a confirmed turn survives a power cut), deleted content
    overwritten, foreign keys on, and the SQL function ``search_text`` that the triggers call.
    SQLite gives the ``-wal`` and ``-shm`` files the mode of the database.
    """
    try:
        os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
    except OSError:
        if not path.exists():
            raise
    connection = sqlite3.connect(path, timeout=0.2, isolation_level=None, check_same_thread=False)
    connection.row_factory = sqlite3.Row
    try:
        connection.create_function("search_text", 1, search_text, deterministic=True)
        for pragma in (
            "journal_mode=WAL",
            "synchronous=FULL",
            "foreign_keys=ON",
            "secure_delete=ON",
            "cache_size=-8000",
        ):
            _pragma(connection, pragma)
    except BaseException:
        connection.close()
        raise
    return connection


def connect_read_only(path: Path) -> sqlite3.Connection:
    """Open ``path`` where nothing can be written, not even the files beside it: for a full disk.

    What another process has not yet written back from its log is not seen.
    """
    connection = sqlite3.connect(
        f"file:{path}?mode=ro&immutable=1", uri=True, isolation_level=None, check_same_thread=False
    )
    connection.row_factory = sqlite3.Row
    connection.create_function("search_text", 1, search_text, deterministic=True)
    return connection


def connect_without_space(path: Path) -> sqlite3.Connection:
    """Open ``path`` for a clean-up on a full disk: journal, log and scratch space are in memory.

    A power cut in the middle of it can damage the file, so it serves deletion alone, and only where
    the ordinary way has failed for lack of space.
    """
    connection = sqlite3.connect(path, timeout=5, isolation_level=None, check_same_thread=False)
    connection.row_factory = sqlite3.Row
    connection.create_function("search_text", 1, search_text, deterministic=True)
    for setting in (
        "temp_store=MEMORY",
        "locking_mode=EXCLUSIVE",
        "journal_mode=MEMORY",
        "foreign_keys=ON",
        "secure_delete=ON",
    ):
        _pragma(connection, setting)
    return connection


def _pragma(connection: sqlite3.Connection, setting: str) -> None:
    retrying(lambda: connection.execute(f"PRAGMA {setting}").fetchall())


def retrying(action: Callable[[], T], patience_s: float = WRITE_PATIENCE_S) -> T:
    """Run ``action`` until it is not told "locked" or "busy", with jittered pauses.

    SQLite's own busy handler wakes all waiters in step; jitter lets ten writers pass in turn.
    Raises :class:`StorageError` (or a subclass) for everything SQLite reports.
    """
    deadline = time.monotonic() + patience_s
    pause = 0.002
    while True:
        try:
            return action()
        except sqlite3.DatabaseError as error:
            if not _is_contention(error):
                raise translate(error) from error
            if time.monotonic() > deadline:
                raise StorageError(
                    f"The database was busy for {patience_s:.0f} s. Next step: see which other "
                    "reverie process holds it (reverie doctor), then try again."
                ) from error
            time.sleep(random.uniform(pause / 2, pause))  # noqa: S311 - jitter, not a secret
            pause = min(pause * 2, 0.1)


def _is_contention(error: sqlite3.Error) -> bool:
    text = str(error).lower()
    return "locked" in text or "busy" in text


def translate(error: sqlite3.Error) -> StorageError:
    """Return the storage error that a sqlite3 error means."""
    text = str(error).lower()
    if "disk is full" in text or "disk i/o" in text or "readonly" in text:
        return DiskFull(
            f"The home cannot be written ({error}). Next step: free some space; "
            "until then the chat goes on but is not saved."
        )
    if "malformed" in text or "not a database" in text or "corrupt" in text:
        return Corrupt(f"The database is damaged ({error}). Next step: reverie doctor.")
    return StorageError(f"The database refused: {error}. Next step: reverie doctor.")


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[sqlite3.Connection]:
    """One write transaction: taken at once (no upgrade dead-locks), rolled back on any error."""
    retrying(lambda: connection.execute("BEGIN IMMEDIATE"))
    try:
        yield connection
        retrying(lambda: connection.execute("COMMIT"))
    except BaseException as error:
        if connection.in_transaction:
            try:
                connection.execute("ROLLBACK")
            except sqlite3.DatabaseError:
                pass  # the connection is beyond that; the caller hears of the first error
        if isinstance(error, sqlite3.DatabaseError):
            raise translate(error) from error
        raise
