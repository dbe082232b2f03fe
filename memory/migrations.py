"""Owns the schema of ``state.db``: small steps, applied once, in order, by sqlite-utils.

Why so narrow: ids are 63-bit integers (a text id needs a second index), sessions are referred to
by number, and the full-text index is external-content, so that text is stored once.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memory.lock import locked

if TYPE_CHECKING:
    from sqlite_utils import Database

SET = "reverie"


def _m001_sessions(db: Database) -> None:
    """Sessions, turns and messages; one row a message, what is not text as JSON beside it."""
    for statement in (
        """CREATE TABLE sessions (
            key INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, title TEXT NOT NULL DEFAULT '',
            source TEXT NOT NULL DEFAULT 'chat', started INTEGER NOT NULL,
            updated INTEGER NOT NULL, parent TEXT, cwd TEXT NOT NULL DEFAULT '',
            model TEXT NOT NULL DEFAULT '', system_prompt TEXT NOT NULL DEFAULT '',
            state TEXT NOT NULL DEFAULT '{}')""",
        "CREATE INDEX sessions_updated ON sessions(updated)",
        """CREATE TABLE turns (
            id INTEGER PRIMARY KEY, session INTEGER NOT NULL REFERENCES sessions(key)
              ON DELETE CASCADE, status TEXT NOT NULL, ended INTEGER,
            model TEXT NOT NULL DEFAULT '', usage TEXT NOT NULL DEFAULT '',
            error TEXT NOT NULL DEFAULT '', pid INTEGER)""",
        "CREATE INDEX turns_session ON turns(session)",
        """CREATE TABLE messages (
            id INTEGER PRIMARY KEY, turn INTEGER NOT NULL REFERENCES turns(id) ON DELETE CASCADE,
            role INTEGER NOT NULL, created INTEGER NOT NULL, text TEXT NOT NULL, data TEXT)""",
        "CREATE INDEX messages_turn ON messages(turn)",
    ):
        db.execute(statement)


def _m002_full_text(db: Database) -> None:
    """FTS5 over the messages, kept by triggers; a view supplies the text as it is indexed."""
    for statement in FULL_TEXT:
        db.execute(statement)


def _m003_hook(db: Database) -> None:
    """What the post-turn hook has done for which turn: the queue of work that is still owed."""
    db.execute(
        """CREATE TABLE hook_steps (
            turn INTEGER NOT NULL REFERENCES turns(id) ON DELETE CASCADE, step TEXT NOT NULL,
            status TEXT NOT NULL, finished INTEGER NOT NULL, ms REAL NOT NULL,
            detail TEXT NOT NULL DEFAULT '', PRIMARY KEY (turn, step)) WITHOUT ROWID"""
    )
    # Partial: it holds only what is owed, so asking for it stays instant in a long history.
    db.execute("ALTER TABLE turns ADD COLUMN hook_owed INTEGER NOT NULL DEFAULT 0")
    db.execute("CREATE INDEX turns_owed ON turns(id) WHERE hook_owed = 1")


def _m004_forgotten(db: Database) -> None:
    """Tombstones of what was forgotten: hashes of words, never the words."""
    db.execute(
        "CREATE TABLE forgotten (digest TEXT PRIMARY KEY, words INTEGER NOT NULL,"
        " at INTEGER NOT NULL) WITHOUT ROWID"
    )


def _m005_spent(db: Database) -> None:
    """What background work costs, by day and source, beside what the turns themselves cost."""
    db.execute(
        "CREATE TABLE spent (day TEXT NOT NULL, source TEXT NOT NULL, calls INTEGER NOT NULL,"
        " input INTEGER NOT NULL, output INTEGER NOT NULL, cached INTEGER NOT NULL,"
        " PRIMARY KEY (day, source)) WITHOUT ROWID"
    )


def _m006_learning(db: Database) -> None:
    """How long background work waited for a model; and which doubts the user was asked about: hashes
    of pairs of memories, never their words."""
    db.execute("ALTER TABLE spent ADD COLUMN seconds REAL NOT NULL DEFAULT 0")
    db.execute("CREATE TABLE asked (digest TEXT PRIMARY KEY, at INTEGER NOT NULL) WITHOUT ROWID")


def _m007_used(db: Database) -> None:
    """In which turns an answer took up a memory: hashes of memories, never their words."""
    db.execute(
        "CREATE TABLE used (digest TEXT NOT NULL, turn INTEGER NOT NULL, at INTEGER NOT NULL,"
        " PRIMARY KEY (digest, turn)) WITHOUT ROWID"
    )


def _m008_skill_uses(db: Database) -> None:
    """How often which skill was used and how it went; names and counts, no words of the user."""
    db.execute(
        "CREATE TABLE skill_uses (skill TEXT NOT NULL, turn INTEGER NOT NULL, version INTEGER NOT NULL,"
        " at INTEGER NOT NULL, good INTEGER, calls INTEGER NOT NULL, why TEXT NOT NULL,"
        " PRIMARY KEY (skill, turn)) WITHOUT ROWID"
    )
    # The turns whose work a skill is for: what was said in them tells when it fits.
    db.execute(
        "CREATE TABLE skill_turns (skill TEXT NOT NULL, turn INTEGER NOT NULL, PRIMARY KEY (skill, turn))"
        " WITHOUT ROWID"
    )


def _m009_nights(db: Database) -> None:
    """Which days were dreamt of and what came of it, in counts; hashes of what was promoted, so that what
    was undone is not promoted again. No words."""
    db.execute(
        "CREATE TABLE nights (day TEXT PRIMARY KEY, at INTEGER NOT NULL, engine TEXT NOT NULL,"
        " seconds REAL NOT NULL, report TEXT NOT NULL, told INTEGER NOT NULL) WITHOUT ROWID"
    )
    db.execute("CREATE TABLE promoted (digest TEXT PRIMARY KEY, day TEXT NOT NULL) WITHOUT ROWID")


FULL_TEXT = (
    # What a search brought up is no new evidence: indexed, it would echo for ever.
    """CREATE VIEW messages_indexed AS SELECT id, CASE WHEN role = 2 AND data LIKE
        '%"tool_name":"session_search"%' OR role = 2 AND data LIKE '%"tool_name":"memory%'
        THEN '' ELSE search_text(text) END AS body FROM messages""",
    """CREATE VIRTUAL TABLE messages_fts USING fts5(body, content='messages_indexed',
        content_rowid='id', tokenize='porter unicode61 remove_diacritics 2')""",
    """CREATE TRIGGER messages_fts_insert AFTER INSERT ON messages BEGIN
        INSERT INTO messages_fts(rowid, body)
        SELECT id, body FROM messages_indexed WHERE id = new.id; END""",
    """CREATE TRIGGER messages_fts_delete BEFORE DELETE ON messages BEGIN
        INSERT INTO messages_fts(messages_fts, rowid, body)
        SELECT 'delete', id, body FROM messages_indexed WHERE id = old.id; END""",
    """CREATE TRIGGER messages_fts_unindex BEFORE UPDATE OF text ON messages BEGIN
        INSERT INTO messages_fts(messages_fts, rowid, body)
        SELECT 'delete', id, body FROM messages_indexed WHERE id = old.id; END""",
    """CREATE TRIGGER messages_fts_update AFTER UPDATE OF text ON messages BEGIN
        INSERT INTO messages_fts(rowid, body)
        SELECT id, body FROM messages_indexed WHERE id = new.id; END""",
)
"""The full-text part of the schema, on its own because a damaged index is dropped and rebuilt."""

STEPS = (
    _m001_sessions,
    _m002_full_text,
    _m003_hook,
    _m004_forgotten,
    _m005_spent,
    _m006_learning,
    _m007_used,
    _m008_skill_uses,
    _m009_nights,
)


def migrate(connection: sqlite3.Connection, lock: Path) -> None:
    """Bring the schema up to date, under a lock: two processes may start on a new home at once.

    Importing sqlite-utils costs 0.2 s of CPU, so only where a step is owed.
    """
    if _applied(connection) >= {step.__name__ for step in STEPS}:
        return
    from sqlite_utils import Database, Migrations

    migrations = Migrations(SET)
    for step in STEPS:
        migrations()(step)
    with locked(lock):
        migrations.apply(Database(connection))


def _applied(connection: sqlite3.Connection) -> set[str]:
    known = connection.execute(
        "SELECT 1 FROM sqlite_master WHERE name = '_sqlite_migrations'"
    ).fetchone()
    if known is None:
        return set()
    rows: list[Any] = connection.execute(
        "SELECT name FROM _sqlite_migrations WHERE migration_set = ?", (SET,)
    ).fetchall()
    return {row[0] for row in rows}
