"""Owns the search index on disk: chunks with their terms, and vectors by content.

Derived from files and sessions, so it can be deleted at any time: ``index/index.db`` is rebuilt,
``index/vectors.db`` keeps the costly part, vectors by what was embedded. Each document changes in one
transaction, so a reader sees the old chunks or the new ones.
"""

from __future__ import annotations

import logging
import secrets
import shutil
import sqlite3
import threading
from array import array
from collections.abc import Callable, Iterable, Sequence
from datetime import date
from pathlib import Path

from memory import db, terms
from memory.chunks import Chunk
from memory.errors import Corrupt, StorageError
from memory.lock import locked

log = logging.getLogger(__name__)
SCHEMA = 2
_TABLES = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE documents (
  id INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE, source TEXT NOT NULL, stamp TEXT NOT NULL,
  left_out TEXT NOT NULL DEFAULT '');
CREATE TABLE chunks (
  id INTEGER PRIMARY KEY AUTOINCREMENT, document INTEGER NOT NULL REFERENCES documents(id) ON DELETE CASCADE,
  position INTEGER NOT NULL, first INTEGER NOT NULL, last INTEGER NOT NULL, day INTEGER NOT NULL,
  kind TEXT NOT NULL, speaker TEXT NOT NULL, title TEXT NOT NULL, trust TEXT NOT NULL, text TEXT NOT NULL,
  flags INTEGER NOT NULL, length INTEGER NOT NULL, digest BLOB NOT NULL, terms BLOB NOT NULL);
CREATE INDEX chunks_of_document ON chunks(document, position);
CREATE INDEX chunks_digest ON chunks(digest);
CREATE TABLE vocabulary (id INTEGER PRIMARY KEY, term TEXT NOT NULL UNIQUE);
"""
_VECTORS = """
CREATE TABLE IF NOT EXISTS vectors.vectors (
  model TEXT NOT NULL, digest BLOB NOT NULL, vector BLOB NOT NULL, PRIMARY KEY (model, digest)) WITHOUT ROWID;
"""


class Index:
    """The index in ``folder``; one connection a thread, opened anew when the folder was replaced."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._local = threading.local()
        self._words: dict[str, int] = {}
        self._words_of = ""

    @property
    def path(self) -> Path:
        """The database of chunks and terms."""
        return self.folder / "index.db"

    @property
    def lock(self) -> Path:
        """Held by the process that brings the index up to date."""
        return self.folder / ".lock"

    # -- opening ----------------------------------------------------------------------------

    def connection(self) -> sqlite3.Connection:
        """Return this thread's connection; a damaged or outdated index is begun anew."""
        known = getattr(self._local, "connection", None)
        if known is not None and self._local.inode == _inode(self.path):
            return known  # type: ignore[no-any-return]
        self.close()
        try:
            connection = self._opened()
        except (StorageError, sqlite3.DatabaseError):
            self.clear()
            try:
                connection = self._opened()
            except (Corrupt, sqlite3.DatabaseError):
                self.clear(vectors=True)
                connection = self._opened()
        self._local.connection, self._local.inode = connection, _inode(self.path)
        return connection

    def _opened(self) -> sqlite3.Connection:
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        connection = db.connect(self.path)
        connection.execute("PRAGMA synchronous=NORMAL")  # derived: a power cut costs a rebuild
        wanted = f"{SCHEMA}.{terms.VERSION}"
        if not connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'meta'").fetchone():
            with db.transaction(connection):
                if not connection.execute(
                    "SELECT 1 FROM sqlite_master WHERE name='meta'"
                ).fetchone():
                    for statement in _TABLES.split(";"):
                        connection.execute(statement)
                    connection.execute("INSERT INTO meta VALUES ('version', ?)", (wanted,))
                    connection.execute("INSERT INTO meta VALUES ('generation', '0')")
                    epoch = secrets.token_hex(8)
                    connection.execute("INSERT INTO meta VALUES ('epoch', ?)", (epoch,))
        found = connection.execute("SELECT value FROM meta WHERE key = 'version'").fetchone()
        if found is None or found[0] != wanted:
            connection.close()
            raise StorageError("the index was made by another version")
        vectors = self.folder / "vectors.db"
        db.connect(vectors).close()  # private from its first byte, write-ahead log on
        connection.execute("ATTACH ? AS vectors", (str(vectors),))
        db.retrying(lambda: connection.executescript(_VECTORS))
        return connection

    def close(self) -> None:
        """Close this thread's connection."""
        known = getattr(self._local, "connection", None)
        if known is not None:
            known.close()
            self._local.connection = None

    def clear(self, *, vectors: bool = False) -> None:
        """Delete chunks, terms and what Chroma holds. Vectors stay unless they are asked for, so that
        nothing is embedded twice."""
        self.close()
        for pattern in ("index.db*", "vectors.db*") if vectors else ("index.db*",):
            for path in self.folder.glob(pattern):
                path.unlink(missing_ok=True)
        shutil.rmtree(self.folder / "chroma", ignore_errors=True)

    def heal(self) -> None:
        """Begin anew what is damaged, the vectors only where they are: those are costly."""
        sound = False
        try:
            found = self.connection().execute("PRAGMA vectors.quick_check(1)").fetchone()
            sound = found is not None and found[0] == "ok"
        except (StorageError, sqlite3.DatabaseError):
            pass
        self.clear(vectors=not sound)

    def rows(self, sql: str, values: Sequence[object] = ()) -> list[sqlite3.Row]:
        """Return the rows of a query. Raises :class:`StorageError`."""
        try:
            return db.retrying(lambda: self.connection().execute(sql, values).fetchall())
        except Corrupt:
            self.heal()
            return db.retrying(lambda: self.connection().execute(sql, values).fetchall())

    # -- meta -------------------------------------------------------------------------------

    def meta(self, key: str) -> str:
        """Return a stored word about the index, '' when there is none."""
        rows = self.rows("SELECT value FROM meta WHERE key = ?", (key,))
        return str(rows[0][0]) if rows else ""

    def set_meta(self, key: str, value: str) -> None:
        """Store a word about the index."""
        with db.transaction(self.connection()) as connection:
            connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, value))

    @property
    def generation(self) -> str:
        """What is another with each change of the chunks, and for each index that is begun anew."""
        rows = self.rows("SELECT value FROM meta WHERE key IN ('epoch', 'generation') ORDER BY key")
        return ".".join(row[0] for row in rows)

    def stamps(self) -> dict[str, str]:
        """Return for each document what it was like when it was indexed."""
        return {row[0]: row[1] for row in self.rows("SELECT path, stamp FROM documents")}

    def left_out(self) -> list[str]:
        """Return the documents that could not be indexed, each with the reason."""
        rows = self.rows("SELECT path, left_out FROM documents WHERE left_out != '' ORDER BY path")
        return [f"{row[0]} {row[1]}" for row in rows]

    # -- writing ----------------------------------------------------------------------------

    def put(
        self,
        path: str,
        source: str,
        stamp: str,
        chunks: Sequence[Chunk],
        *,
        extend: bool = False,
        left_out: str = "",
    ) -> int:
        """Store a document's chunks in place of those there were, or with ``extend`` behind them;
        return how many are new. A chunk that stands as it stood keeps its id. ``left_out`` says why a
        document has none."""
        try:
            return self._put(path, source, stamp, chunks, extend, left_out)
        except BaseException as error:
            self._words_of = ""  # ids that were rolled back are none
            if isinstance(error, Corrupt):
                self.heal()
            raise

    def _put(
        self,
        path: str,
        source: str,
        stamp: str,
        chunks: Sequence[Chunk],
        extend: bool,
        left_out: str,
    ) -> int:
        with db.transaction(self.connection()) as connection:
            document = connection.execute(
                "INSERT INTO documents(path, source, stamp, left_out) VALUES (?,?,?,?) ON CONFLICT(path)"
                " DO UPDATE SET stamp = excluded.stamp, left_out = excluded.left_out RETURNING id",
                (path, source, stamp, left_out),
            ).fetchone()[0]
            known: dict[bytes, list[sqlite3.Row]] = {}
            first = 0
            if extend:
                first = connection.execute(
                    "SELECT coalesce(max(position) + 1, 0) FROM chunks WHERE document = ?",
                    (document,),
                ).fetchone()[0]
            else:
                for row in connection.execute(
                    "SELECT id, digest, title FROM chunks WHERE document = ? ORDER BY position DESC",
                    (document,),
                ):
                    known.setdefault(row["digest"], []).append(row)
            new = 0
            for position, chunk in enumerate(chunks, first):
                same = known.get(chunk.digest)
                if same:
                    stood = same.pop()
                    connection.execute(
                        "UPDATE chunks SET position=?, first=?, last=?, day=?, kind=?, flags=? WHERE id=?",
                        (position, chunk.first, chunk.last, _ordinal(chunk.day), chunk.kind, chunk.flags,
                         stood["id"]),
                    )  # fmt: skip
                    if stood["title"] != chunk.title:
                        length, ids = self._counted(connection, chunk)
                        connection.execute(
                            "UPDATE chunks SET title=?, length=?, terms=? WHERE id=?",
                            (chunk.title, length, ids, stood["id"]),
                        )
                else:
                    self._insert(connection, document, position, chunk)
                    new += 1
            gone = [row["id"] for rows in known.values() for row in rows]
            connection.executemany("DELETE FROM chunks WHERE id = ?", [(id,) for id in gone])
            if gone:
                self._left(connection)
            self._moved_on(connection)
        return new

    def _insert(
        self, connection: sqlite3.Connection, document: int, position: int, chunk: Chunk
    ) -> None:
        length, ids = self._counted(connection, chunk)
        connection.execute(
            "INSERT INTO chunks(document, position, first, last, day, kind, speaker, title, trust, text,"
            " flags, length, digest, terms) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
            (document, position, chunk.first, chunk.last, _ordinal(chunk.day), chunk.kind, chunk.speaker,
             chunk.title, chunk.trust, chunk.text, chunk.flags, length, chunk.digest, ids),
        )  # fmt: skip

    def _counted(self, connection: sqlite3.Connection, chunk: Chunk) -> tuple[int, bytes]:
        """Return a chunk's length in terms, and the ids of its terms as they are stored."""
        words = terms.terms(chunk.counted)
        ids = array("i", self._term_ids(connection, words)).tobytes()
        return sum(not terms.is_alone(word) for word in words), ids

    def _term_ids(self, connection: sqlite3.Connection, words: Iterable[str]) -> list[int]:
        known = self._vocabulary(connection)
        ids = []
        for word in words:
            id = known.get(word)
            if id is None:
                connection.execute("INSERT OR IGNORE INTO vocabulary(term) VALUES (?)", (word,))
                row = connection.execute(
                    "SELECT id FROM vocabulary WHERE term = ?", (word,)
                ).fetchone()
                id = known[word] = row[0]
            ids.append(id)
        return ids

    def _vocabulary(self, connection: sqlite3.Connection) -> dict[str, int]:
        """Return the ids of all terms, kept as long as the index is not begun anew: ids never change."""
        epoch = connection.execute("SELECT value FROM meta WHERE key = 'epoch'").fetchone()[0]
        if self._words_of != epoch:
            rows = connection.execute("SELECT term, id FROM vocabulary")
            self._words = {row[0]: row[1] for row in rows}
            self._words_of = epoch
        return self._words

    def remove(self, paths: Iterable[str]) -> None:
        """Take documents out."""
        with db.transaction(self.connection()) as connection:
            for path in paths:
                connection.execute("DELETE FROM documents WHERE path = ?", (path,))
            self._left(connection)
            self._moved_on(connection)

    def _left(self, connection: sqlite3.Connection) -> None:
        connection.execute("INSERT OR REPLACE INTO meta VALUES ('unused words', '1')")

    def prune(self) -> None:
        """Delete the words that no chunk holds any more: what a person deleted stays nowhere."""
        if not self.meta("unused words"):
            return
        with db.transaction(self.connection()) as connection:
            used: set[int] = set()
            for row in connection.execute("SELECT terms FROM chunks"):
                used.update(array("i", row[0]))
            known = connection.execute("SELECT id FROM vocabulary").fetchall()
            connection.executemany(
                "DELETE FROM vocabulary WHERE id = ?", [(r[0],) for r in known if r[0] not in used]
            )
            connection.execute("DELETE FROM meta WHERE key = 'unused words'")
            # Ids may be given anew from here: whoever knows them by heart must read them again.
            connection.execute(
                "UPDATE meta SET value = ? WHERE key = 'epoch'", (secrets.token_hex(8),)
            )

    def _moved_on(self, connection: sqlite3.Connection) -> None:
        connection.execute("UPDATE meta SET value = value + 1 WHERE key = 'generation'")

    # -- vectors ----------------------------------------------------------------------------

    def unembedded(self, model: str, limit: int) -> list[tuple[bytes, str]]:
        """Return (digest, text to embed) of chunks that have no vector of ``model``: files before
        sessions, the newest first."""
        rows = self.rows(
            "SELECT DISTINCT c.digest, c.speaker, c.text FROM chunks c JOIN documents d ON d.id = c.document"
            " WHERE NOT EXISTS (SELECT 1 FROM vectors.vectors v WHERE v.model = ? AND v.digest = c.digest)"
            " ORDER BY d.source IN ('sessions', 'jobs'), c.day DESC, c.id DESC LIMIT ?",
            (model, limit),
        )
        return [(r[0], f"{r[1]}: {r[2]}" if r[1] else r[2]) for r in rows]

    def count_unembedded(self, model: str) -> tuple[int, int]:
        """Return how many chunks have no vector of ``model``, and how many there are."""
        row = self.rows(
            "SELECT count(*), sum(NOT EXISTS (SELECT 1 FROM vectors.vectors v WHERE v.model = ? AND"
            " v.digest = c.digest)) FROM chunks c",
            (model,),
        )[0]
        return int(row[1] or 0), int(row[0])

    def put_vectors(self, model: str, vectors: Sequence[tuple[bytes, bytes]]) -> None:
        """Store (digest, float16 vector) pairs of a model."""
        try:
            with db.transaction(self.connection()) as connection:
                connection.executemany(
                    "INSERT OR REPLACE INTO vectors.vectors VALUES (?,?,?)",
                    [(model, digest, vector) for digest, vector in vectors],
                )
                connection.execute(
                    "INSERT INTO meta VALUES ('vectors', '1')"
                    " ON CONFLICT(key) DO UPDATE SET value = value + 1"
                )
        except Corrupt:
            self.heal()
            raise

    def drop_vectors(self, digests: Iterable[bytes]) -> None:
        """Delete vectors for good: those of what was forgotten, and all that no chunk has any more."""
        connection = self.connection()
        with db.transaction(connection):
            connection.executemany(
                "DELETE FROM vectors.vectors WHERE digest = ?", [(digest,) for digest in digests]
            )
            connection.execute(
                "DELETE FROM vectors.vectors WHERE digest NOT IN (SELECT digest FROM chunks)"
            )
        connection.execute("PRAGMA vectors.wal_checkpoint(TRUNCATE)")

    def status(self) -> dict[str, object]:
        """Return what the index holds, by source."""
        rows = self.rows(
            "SELECT d.source, count(DISTINCT d.id), count(c.id) FROM documents d LEFT JOIN chunks c"
            " ON c.document = d.id GROUP BY d.source ORDER BY d.source"
        )
        return {row[0]: {"documents": row[1], "chunks": row[2]} for row in rows}


def _ordinal(day: date | None) -> int:
    return day.toordinal() if day else 0


def _inode(path: Path) -> int:
    try:
        return path.stat().st_ino
    except OSError:
        return 0


def purge(root: Path, holds: Callable[[str], bool], documents: Sequence[str] = ()) -> None:
    """Remove from the derived index what was forgotten: the vectors of texts that ``holds``, and of
    whole ``documents``, for good; chunks and terms are built anew without them."""
    folder = root / "index"
    if not folder.is_dir():
        return
    index = Index(folder)
    with locked(index.lock):
        try:
            rows = index.rows(
                "SELECT c.digest, c.text, c.title, d.path FROM chunks c JOIN documents d ON d.id = c.document"
            )
            index.drop_vectors(
                bytes(row["digest"])
                for row in rows
                if row["path"] in documents or holds(row["text"]) or holds(row["title"])
            )
        except (StorageError, sqlite3.DatabaseError) as error:
            log.warning("all vectors go, as some cannot be taken out: %s", error)
            index.clear(vectors=True)
        index.clear()
