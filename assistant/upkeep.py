"""Owns the upkeep of a home at night: each step on its own, so that one that fails stops no other."""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Callable
from contextlib import closing
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

from memory import full_text
from memory.errors import StorageError

if TYPE_CHECKING:
    from assistant.app import Assistant

log = logging.getLogger(__name__)
BACKUPS_KEPT = 7
_PAGES = 2_000
"""Pages that a backup copies at a time, so that nobody waits for it."""


def keep_up(app: Assistant) -> list[str]:
    """Do the steps of a night; return a line for each: what it did, or why it failed."""
    steps: tuple[tuple[str, Callable[[], str]], ...] = (
        ("memory", lambda: f"{app.dreams.make_room()} entries to the archive"),
        ("skills", lambda: _look_at_skills(app)),
        ("index", lambda: _bring_index(app)),
        ("database", lambda: _optimise(app)),
        ("backup", lambda: back_up(app.home.database, app.home.backups, app.now().date())),
    )
    lines = []
    for name, run in steps:
        try:
            lines.append(f"{name}: {run()}")
        except (StorageError, OSError, sqlite3.Error, RuntimeError) as error:
            log.exception("the nightly step %s failed", name)
            lines.append(f"{name}: failed, {error}")
    return lines


def _look_at_skills(app: Assistant) -> str:
    found = app.skills.advice(app.now())
    return f"{len(found)} proposals: reverie skills review" if found else "nothing to propose"


def _bring_index(app: Assistant) -> str:
    if not app.recall.refresh(30.0):
        return "still behind; the next search goes on"
    app.recall.embed_new(60.0)
    return "up to date"


def _optimise(app: Assistant) -> str:
    if app.store is None:
        return "no archive"
    if problems := full_text.problems(app.store):
        full_text.rebuild(app.store)
        return f"full-text index rebuilt ({problems})"
    connection = app.store.connection()
    connection.execute("PRAGMA optimize")
    connection.execute("PRAGMA wal_checkpoint(PASSIVE)")
    return "in order"


def back_up(database: Path, folder: Path, today: date) -> str:
    """Copy the database to ``folder`` as it stands, once a day, and keep the last seven copies. A copy is
    whole or it is not there."""
    folder.mkdir(mode=0o700, exist_ok=True)
    target = folder / f"state-{today.isoformat()}.db"
    if target.exists():
        return f"{target.name} is there"
    part = target.with_suffix(".part")
    part.unlink(missing_ok=True)
    with (
        closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as source,
        closing(sqlite3.connect(part)) as copy,
    ):
        source.backup(copy, pages=_PAGES)
    part.chmod(0o600)
    part.replace(target)
    for old in sorted(folder.glob("state-*.db"))[:-BACKUPS_KEPT]:
        old.unlink()
    return f"{target.name}, {target.stat().st_size // 1024} KB"
