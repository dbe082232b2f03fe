"""Owns the session archive: sessions, their turns and messages in ``state.db``.

The user's words are stored before the model is asked; what the turn led to follows in one
transaction. A turn that its process did not finish is found at the next start and closed as
interrupted, so no history ever ends in the middle of a tool call.
"""

from __future__ import annotations

import os
import secrets
import sqlite3
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from memory import db, full_text
from memory.clean import one_line
from memory.errors import DiskFull, StorageError
from memory.migrations import migrate
from memory.rows import (
    ROLES,
    dump,
    first_turn,
    from_ms,
    message_of,
    redact_json,
    redacted,
    to_ms,
    turn_of,
    usage_of,
    usage_text,
)
from memory.transcript import Message, Turn, Usage, legal

TITLE_LENGTH = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """One conversation. ``system_prompt`` is frozen when it starts, so that resuming is free."""

    id: str
    title: str
    source: str
    started: datetime
    updated: datetime
    model: str
    cwd: str
    parent: str | None
    system_prompt: str
    messages: int = 0

    @classmethod
    def begin(
        cls, *, source: str, cwd: str, model: str, system_prompt: str, now: datetime
    ) -> Session:
        """Return a new session; its id is local date, time and six random hex digits."""
        return cls(
            id=f"{now:%Y%m%d-%H%M%S}-{secrets.token_hex(3)}",
            title="",
            source=source,
            started=now,
            updated=now,
            model=model,
            cwd=cwd,
            parent=None,
            system_prompt=system_prompt,
        )


class UnknownSession(LookupError):
    """No session, or more than one, answers to what was given."""


class SessionStore:
    """The archive at ``path``. Safe for many threads (a connection each) and processes.

    All text passes ``redact`` on its way in: what an archive never held cannot leak from it.

    Every method raises :class:`memory.errors.StorageError` when SQLite cannot do it.
    """

    def __init__(self, path: Path, redact: Callable[[str], str] = lambda text: text) -> None:
        self.path = path
        self._redact = redact
        self._local = threading.local()
        self.connection()

    # -- the connection ---------------------------------------------------------------------

    def connection(self) -> sqlite3.Connection:
        """Return this thread's connection; a database that was removed meanwhile is made anew."""
        held: sqlite3.Connection | None = getattr(self._local, "connection", None)
        if held is not None and self._local.inode == self._inode():
            return held
        if held is not None:
            held.close()
        try:
            connection = db.connect(self.path)
        except DiskFull:
            if not self.path.exists() or not self.path.stat().st_size:
                raise
            connection = db.connect_read_only(self.path)
            self._local.connection, self._local.inode = connection, self._inode()
            return connection
        try:
            migrate(connection, self.path.with_suffix(".lock"))
        except sqlite3.DatabaseError as error:
            connection.close()
            raise db.translate(error) from error
        self._local.connection, self._local.inode = connection, self._inode()
        return connection

    def _inode(self) -> int:
        try:
            return self.path.stat().st_ino
        except FileNotFoundError:
            return -1

    def close(self) -> None:
        """Close this thread's connection."""
        held = getattr(self._local, "connection", None)
        if held is not None:
            held.close()
            self._local.connection = None

    # -- sessions ---------------------------------------------------------------------------

    def adopt(self, session: Session) -> None:
        """Store ``session`` unless it is stored already."""
        with db.transaction(self.connection()) as connection:
            connection.execute(
                "INSERT OR IGNORE INTO sessions"
                "(id, title, source, started, updated, parent, cwd, model, system_prompt)"
                " VALUES (?,?,?,?,?,?,?,?,?)",
                (
                    session.id,
                    self._redact(session.title),
                    session.source,
                    to_ms(session.started),
                    to_ms(session.updated),
                    session.parent,
                    session.cwd,
                    session.model,
                    session.system_prompt,
                ),
            )

    def find(self, text: str) -> Session:
        """Return the session with this id, or the only one whose id or title begins with ``text``."""
        rows = self._sessions("WHERE id = ?", (text,))
        if not rows and text:
            # substr, not LIKE: what a person types is no pattern.
            rows = self._sessions(
                "WHERE substr(id, 1, length(?1)) = ?1 OR substr(title, 1, length(?1)) = ?1"
                " ORDER BY updated DESC LIMIT 3",
                (text,),
            )
        if len(rows) == 1:
            return rows[0]
        if rows:
            names = ", ".join(row.id for row in rows)
            raise UnknownSession(
                f"More than one session begins with {text!r} ({names} ...). "
                "Next step: give more of the id."
            )
        raise UnknownSession(
            f"There is no session {text!r}. Next step: reverie sessions list shows them all."
        )

    def latest(self, source: str = "chat") -> Session | None:
        """Return the session last used from ``source`` that has messages, if there is one."""
        rows = self._sessions(
            "WHERE source = ? AND EXISTS (SELECT 1 FROM turns WHERE session = sessions.key)"
            " ORDER BY updated DESC LIMIT 1",
            (source,),
        )
        return rows[0] if rows else None

    def recent(self, limit: int = 20, sources: Iterable[str] = ()) -> list[Session]:
        """Return sessions that have messages, last used first; only of ``sources`` when given."""
        names = list(sources)
        only = f" AND source IN ({','.join('?' * len(names))})" if names else ""
        return self._sessions(
            f"WHERE EXISTS (SELECT 1 FROM turns WHERE session = sessions.key){only}"
            " ORDER BY updated DESC LIMIT ?",
            (*names, limit),
        )

    def _sessions(self, where: str, values: tuple[object, ...]) -> list[Session]:
        rows = self.query(
            "SELECT *, (SELECT count(*) FROM messages JOIN turns ON turns.id = messages.turn"
            f" WHERE turns.session = sessions.key) AS n FROM sessions {where}",
            values,
        )
        return [
            Session(
                id=row["id"],
                title=row["title"],
                source=row["source"],
                started=from_ms(row["started"]),
                updated=from_ms(row["updated"]),
                model=row["model"],
                cwd=row["cwd"],
                parent=row["parent"],
                system_prompt=row["system_prompt"],
                messages=row["n"],
            )
            for row in rows
        ]

    def state(self, session_id: str) -> str:
        """Return what a session is working on, as ``set_state`` stored it; '' when it is unknown."""
        rows = self.query("SELECT state FROM sessions WHERE id = ?", (session_id,))
        return rows[0]["state"] if rows else ""

    def set_state(self, session_id: str, state: str) -> None:
        """Store what a session is working on."""
        with db.transaction(self.connection()) as connection:
            connection.execute(
                "UPDATE sessions SET state = ? WHERE id = ?",
                (redact_json(state, self._redact), session_id),
            )

    def rename(self, session_id: str, title: str) -> None:
        """Give a session another title."""
        with db.transaction(self.connection()) as connection:
            connection.execute(
                "UPDATE sessions SET title = ? WHERE id = ?", (self._redact(title), session_id)
            )

    def delete(self, session_id: str) -> int:
        """Delete a session with all that was said in it; return how many messages went.

        The file is compacted afterwards, so the space is free and the bytes are gone. It works on a
        full disk as well: that is when it is needed most.
        """
        try:
            return self._delete(session_id)
        except DiskFull:
            self.close()
            self._local.connection = db.connect_without_space(self.path)
            self._local.inode = self._inode()
            try:
                return self._delete(session_id)
            finally:
                self.close()

    def _delete(self, session_id: str) -> int:
        with db.transaction(self.connection()) as connection:
            key = connection.execute(
                "SELECT key FROM sessions WHERE id = ?", (session_id,)
            ).fetchone()
            if key is None:
                return 0
            gone = connection.execute(
                "DELETE FROM messages WHERE turn IN (SELECT id FROM turns WHERE session = ?)",
                (key[0],),
            ).rowcount
            connection.execute("DELETE FROM sessions WHERE key = ?", (key[0],))
        full_text.compact(self)
        return gone

    # -- turns ------------------------------------------------------------------------------

    def begin(self, turn: Turn) -> None:
        """Store a turn that starts: the user's words are safe before any model is asked."""

        def store() -> None:
            with db.transaction(self.connection()) as connection:
                self._insert_turn(connection, turn)
                self._insert_messages(connection, turn.id, turn.messages)

        self._mending_the_index(store)

    def _mending_the_index(self, store: Callable[[], None]) -> None:
        """Store; where only the full-text index is damaged, rebuild it and store after all.

        The words matter more than the index over them.
        """
        try:
            store()
        except DiskFull:
            raise
        except StorageError:
            if not full_text.problems(self):
                raise
            full_text.rebuild(self)
            store()

    def finish(self, turn: Turn, *, hook_owed: bool = True) -> None:
        """Store what ``turn`` led to, in one transaction; repeating it changes nothing."""
        self._mending_the_index(lambda: self._finish(turn, hook_owed))

    def _finish(self, turn: Turn, hook_owed: bool) -> None:
        with db.transaction(self.connection()) as connection:
            self._insert_turn(connection, turn)
            stored = connection.execute(
                "SELECT count(*) FROM messages WHERE turn = ?", (turn.id,)
            ).fetchone()[0]
            self._insert_messages(connection, turn.id, turn.messages[stored:])
            ended = turn.ended or turn.started
            connection.execute(
                "UPDATE turns SET status=?, ended=?, model=?, usage=?, error=?, pid=NULL,"
                " hook_owed=? WHERE id=?",
                (
                    turn.status,
                    to_ms(ended),
                    turn.model,
                    usage_text(turn.usage),
                    turn.error,
                    int(hook_owed),
                    turn.id,
                ),
            )

    def _insert_turn(self, connection: sqlite3.Connection, turn: Turn) -> None:
        said = self._redact(turn.messages[0].text) if turn.messages else ""
        updated = connection.execute(
            "UPDATE sessions SET updated = ?, title = CASE title WHEN '' THEN ? ELSE title END"
            " WHERE id = ? RETURNING key",
            (
                to_ms(turn.ended or turn.started),
                one_line(said, TITLE_LENGTH),
                turn.session,
            ),
        ).fetchone()
        if updated is None:
            raise UnknownSession(f"There is no session {turn.session!r} to store a turn in.")
        connection.execute(
            "INSERT OR IGNORE INTO turns(id, session, status, pid) VALUES (?,?,?,?)",
            (turn.id, updated[0], turn.status, os.getpid()),
        )

    def _insert_messages(
        self, connection: sqlite3.Connection, turn_id: int, messages: Iterable[Message]
    ) -> None:
        connection.executemany(
            "INSERT INTO messages(turn, role, created, text, data) VALUES (?,?,?,?,?)",
            [
                (
                    turn_id,
                    ROLES.index(m.role),
                    to_ms(m.created),
                    self._redact(m.text),
                    dump(redacted(m, self._redact).extras()),
                )
                for m in messages
            ],
        )

    def turns(self, session_id: str) -> list[Turn]:
        """Return the turns of a session in order, the undone ones too."""
        turns = self.query(
            "SELECT turns.* FROM turns JOIN sessions ON key = session WHERE sessions.id = ?"
            " ORDER BY turns.id",
            (session_id,),
        )
        messages: dict[int, list[Message]] = {row["id"]: [] for row in turns}
        for row in self.query(
            "SELECT messages.* FROM messages JOIN turns ON turns.id = turn"
            " JOIN sessions ON key = session WHERE sessions.id = ? ORDER BY messages.id",
            (session_id,),
        ):
            messages[row["turn"]].append(message_of(row))
        return [turn_of(row, session_id, messages[row["id"]]) for row in turns]

    def turn(self, turn_id: int) -> Turn | None:
        """Return one turn with its messages."""
        rows = self.query(
            "SELECT turns.*, sessions.id AS session_id FROM turns JOIN sessions ON key = session"
            " WHERE turns.id = ?",
            (turn_id,),
        )
        if not rows:
            return None
        messages = self.query("SELECT * FROM messages WHERE turn = ? ORDER BY id", (turn_id,))
        return turn_of(rows[0], rows[0]["session_id"], [message_of(m) for m in messages])

    def history(self, session_id: str) -> list[Message]:
        """Return what the next request of a session goes on from: legal, nothing undone."""
        kept = [turn for turn in self.turns(session_id) if turn.status != "undone"]
        return legal([message for turn in kept for message in turn.messages])

    def undo_last(self, session_id: str) -> Turn | None:
        """Mark the last turn of a session as undone and return it; search and history skip it."""
        standing = [turn for turn in self.turns(session_id) if turn.status != "undone"]
        if not standing:
            return None
        with db.transaction(self.connection()) as connection:
            connection.execute(
                "UPDATE turns SET status = 'undone' WHERE id = ?", (standing[-1].id,)
            )
        return standing[-1]

    def close_interrupted(self) -> int:
        """Close the turns whose process is gone; return how many. Their words stay."""
        running = self.query("SELECT id, pid FROM turns WHERE status = 'running'")
        # Our own process has just begun, so a turn under its number is an earlier bearer's.
        dead = [
            row["id"]
            for row in running
            if row["pid"] in (None, os.getpid()) or not _alive(row["pid"])
        ]
        if dead:
            with db.transaction(self.connection()) as connection:
                connection.executemany(
                    "UPDATE turns SET status = 'interrupted', pid = NULL, hook_owed = 1"
                    " WHERE id = ? AND status = 'running'",
                    [(turn_id,) for turn_id in dead],
                )
        return len(dead)

    # -- upkeep -----------------------------------------------------------------------------

    def usage(self, since: datetime) -> dict[str, Usage]:
        """Return the tokens used since a moment, by the source of the session."""
        total: dict[str, Usage] = {}
        for row in self.query(
            "SELECT source, usage FROM turns JOIN sessions ON key = session"
            " WHERE turns.id >= ? AND usage != ''",
            (first_turn(since),),
        ):
            total[row["source"]] = total.get(row["source"], Usage()) + usage_of(row["usage"])
        return total

    def query(self, sql: str, values: tuple[object, ...] = ()) -> list[sqlite3.Row]:
        """Run a reading statement and return its rows."""
        connection = self.connection()
        return db.retrying(lambda: connection.execute(sql, values).fetchall())


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
