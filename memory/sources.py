"""Owns what is searched: which files and sessions there are, and bringing the index to them.

One process at a time brings it up to date; a document at a time, so it can be stopped anywhere and goes
on where it was. Files first, because they change while a person looks; sessions behind them.
"""

from __future__ import annotations

import logging
import os
import re
import stat
import struct
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, tzinfo
from pathlib import Path

from memory.chunks import Chunk, entry_chunks, message_chunks, section_chunks
from memory.embedders import Embedder
from memory.index import Index
from memory.lock import Locked, locked
from memory.rows import from_ms
from memory.session_search import QUIET_SOURCES
from memory.sessions import SessionStore

log = logging.getLogger(__name__)
LARGEST = 5_000_000
"""Bytes of a file that is indexed; a larger one is left out and named by ``doctor``."""
_DAY = re.compile(r"(\d{4}-\d\d-\d\d)\.md$")
_TEXT = (".md", ".markdown", ".txt", ".text", ".rst", ".org")
_FRONT = re.compile(r"\A---\s*\n(.*?)\n---\s*(?:\n|\Z)", re.DOTALL)
_BATCH = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A file to be searched: ``name`` is its path as people see it, ``source`` what kind it is of."""

    name: str
    place: str
    source: str

    @property
    def path(self) -> Path:
        """Where it is."""
        return Path(self.place)

    def stamp(self) -> str:
        """Return what changes when the file does, its rights included; '' when it is gone."""
        try:
            status = os.stat(self.place)  # noqa: PTH116 - a thousand times a search: pathlib costs ten times as much
        except OSError:
            return ""
        return f"{status.st_mtime_ns}.{status.st_ctime_ns}.{status.st_size}.{status.st_ino}"

    def chunks(self) -> list[Chunk]:
        """Return the pieces of the file. Raises ``OSError`` and :class:`LeftOut`."""
        text = _read(self.place).decode("utf-8", "replace").removeprefix("\ufeff")
        text = text.replace("\r\n", "\n").replace("\r", "\n")
        found = _DAY.search(self.name)
        day = date.fromisoformat(found[1]) if found and _is_date(found[1]) else None
        if self.source == "skills":
            return _skill(text)
        if self.source in ("memory", "archive", "notes"):
            return entry_chunks(text, day=day)
        if self.source == "dreams":
            return section_chunks(text, trust="assistant", bare=False)
        return section_chunks(text, trust="file")


class LeftOut(Exception):
    """A file that is not indexed; the message says why."""


def _read(place: str) -> bytes:
    """Return the bytes of a regular file: opening anything else could wait for ever."""
    descriptor = os.open(place, os.O_RDONLY | os.O_NONBLOCK)
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise LeftOut("is no regular file")
        if status.st_size > LARGEST:
            raise LeftOut(f"is larger than {LARGEST // 1_000_000} MB")
        return file.read(LARGEST + 1)


def _is_date(text: str) -> bool:
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True


def _skill(text: str) -> list[Chunk]:
    """Return what a skill says of itself: name and description; how it is done is read when it is used."""
    import yaml

    front = _FRONT.match(text)
    try:
        said = yaml.safe_load(front[1]) if front else None
    except (yaml.YAMLError, ValueError, RecursionError):  # ValueError: a date that is none
        said = None
    if not isinstance(said, dict) or not said.get("description"):
        return section_chunks(text, trust="file")[:1]
    told = f"{said.get('name', '')}: {said['description']}"
    return [
        Chunk(
            text=told,
            first=1,
            last=front[0].count("\n") if front else 1,
            trust="file",
            kind="skill",
        )
    ]


class Sources:
    """Where the searchable text of a home is."""

    def __init__(
        self,
        root: Path,
        folders: Sequence[Path] = (),
        *,
        store: SessionStore | None,
        zone: tzinfo,
        without: Collection[str] = (),
    ) -> None:
        """``without`` are names of files that are not searched, such as what came with the program."""
        self._without = frozenset(without)
        self._root = root
        self._folders = tuple(folders)
        self._store = store
        self._zone = zone

    def documents(self) -> list[Document]:
        """Return the files, the most telling first."""
        root = str(self._root)
        found = [
            Document(name=name, place=f"{root}/{name}", source=source)
            for name, source in (
                ("USER.md", "memory"),
                ("MEMORY.md", "memory"),
                ("DREAMS.md", "dreams"),
            )
            if (self._root / name).is_file()
        ]
        for name in sorted(_files(f"{root}/memory", (".md",)), reverse=True):
            source = "notes" if _DAY.search(name) else "archive"
            found.append(Document(name=_shown(name[len(root) + 1 :]), place=name, source=source))
        for place in _files(f"{root}/skills", ("SKILL.md",)):
            name = _shown(place[len(root) + 1 :])
            if name not in self._without:
                found.append(Document(name=name, place=place, source="skills"))
        for folder in self._folders:
            for name in _files(str(folder), _TEXT):
                found.append(Document(name=_shown(name), place=name, source="files"))
        return found

    def update(self, index: Index, stop: Callable[[], bool] = lambda: False) -> int:
        """Bring the chunks up to date; return how many are new. Waits for no other process: where one
        is at it, nothing is done and 0 returned."""
        try:
            with locked(index.lock, patience_s=0.0):
                return self._update_files(index, stop) + self._update_sessions(index, stop)
        except Locked:
            return 0

    def is_behind(self, index: Index) -> bool:
        """Whether files or sessions have changed since they were indexed."""
        stamps = index.stamps()
        documents = self.documents()
        names = {document.name for document in documents}
        if any(d.stamp() not in ("", stamps.get(d.name)) for d in documents):
            return True
        if any(not name.startswith("session:") and name not in names for name in stamps):
            return True
        return self._store is not None and index.meta("sessions") != self._state(self._store)

    def _update_files(self, index: Index, stop: Callable[[], bool]) -> int:
        stamps = index.stamps()
        documents = self.documents()
        names = {document.name for document in documents}
        gone = [n for n in stamps if not n.startswith("session:") and n not in names]
        if gone:
            index.remove(gone)
        new = 0
        for document in documents:
            stamp = document.stamp()
            if stop():
                break
            if stamp and stamps.get(document.name) != stamp:
                chunks, problem = _chunks_or_why(document)
                new += index.put(document.name, document.source, stamp, chunks, left_out=problem)
        return new

    # -- sessions ---------------------------------------------------------------------------

    def _state(self, store: SessionStore) -> str:
        row = store.query(
            "SELECT (SELECT max(id) FROM messages), (SELECT count(*) FROM messages),"
            " (SELECT count(*) FROM turns WHERE status = 'undone')"
        )[0]
        return f"{row[0]}.{row[1]}.{row[2]}"

    def _update_sessions(self, index: Index, stop: Callable[[], bool]) -> int:
        store = self._store
        if store is None:
            return 0
        state = self._state(store)
        if index.meta("sessions") == state:
            return 0
        stamps = {n: s for n, s in index.stamps().items() if n.startswith("session:")}
        rows = store.query(
            "SELECT s.id, s.source, max(m.id) AS last, count(*) AS n FROM messages m"
            " JOIN turns t ON t.id = m.turn JOIN sessions s ON s.key = t.session"
            " WHERE t.status != 'undone' GROUP BY s.key"
        )
        there = {f"session:{row['id']}": (row["last"], row["n"]) for row in rows}
        quiet = {f"session:{row['id']}" for row in rows if row["source"] in QUIET_SOURCES}
        gone = [name for name in stamps if name not in there]
        if gone:
            index.remove(gone)
        new = 0
        for name, (last, count) in sorted(there.items(), key=lambda item: -item[1][0]):
            if stop():
                return new
            if stamps.get(name) == f"{last}.{count}":
                continue
            old_last, old_count = _numbers(stamps.get(name, "0.0"))
            chunks, seen = self._chunks_of(store, name.removeprefix("session:"), old_last)
            extends = old_count > 0 and old_count + seen == count
            if old_count and not extends:  # something was undone or forgotten: all of it anew
                chunks, _ = self._chunks_of(store, name.removeprefix("session:"), 0)
            source = "jobs" if name in quiet else "sessions"
            new += index.put(name, source, f"{last}.{count}", chunks, extend=extends)
        index.set_meta("sessions", state)
        return new

    def _chunks_of(self, store: SessionStore, session: str, after: int) -> tuple[list[Chunk], int]:
        """Return the chunks of what was said in a session behind a message, and how many messages that
        is. What tools brought is no testimony and not searched."""
        rows = store.query(
            "SELECT m.id, m.role, m.text, m.created FROM messages m JOIN turns t ON t.id = m.turn"
            " JOIN sessions s ON s.key = t.session WHERE s.id = ? AND m.id > ? AND t.status != 'undone'"
            " ORDER BY m.id",
            (session, after),
        )
        found: list[Chunk] = []
        for row in rows:
            if row["role"] < 2 and row["text"].strip():
                found += message_chunks(
                    row["text"],
                    message=row["id"],
                    day=from_ms(row["created"]).astimezone(self._zone).date(),
                    speaker=("you", "Reverie")[row["role"]],
                    trust=("user", "assistant")[row["role"]],
                )
        return found, len(rows)


def _chunks_or_why(document: Document) -> tuple[list[Chunk], str]:
    """Return a file's chunks, or none and why: one bad file must not keep the others from being found."""
    try:
        return document.chunks(), ""
    except LeftOut as reason:
        return [], str(reason)
    except OSError as error:
        return [], f"cannot be read ({error.strerror})"
    except Exception as error:  # whatever is in it
        log.warning("%s cannot be indexed", document.name, exc_info=True)
        return [], f"cannot be indexed ({type(error).__name__}: {error})"


def _numbers(stamp: str) -> tuple[int, int]:
    last, _, count = stamp.partition(".")
    return int(last), int(count)


def _files(folder: str, endings: Sequence[str]) -> Iterator[str]:
    """Yield the text files below a folder, hidden ones left out, in order. Links to folders are not
    followed, those to files only where they lead to a file of the same folder that is not hidden."""
    ends = tuple(ending.lower() for ending in endings)
    pending = [folder]
    while pending:
        try:
            with os.scandir(pending.pop()) as listed:
                entries = sorted(listed, key=lambda entry: entry.name)
        except OSError:
            continue  # gone, or closed to us: the files that were known there leave the index
        inside = []
        for entry in entries:
            if entry.name.startswith("."):
                continue
            if entry.is_dir(follow_symlinks=False):
                inside.append(entry.path)
            elif entry.name.lower().endswith(ends) and _is_inside(entry, folder):
                yield entry.path
        pending += reversed(inside)


def _is_inside(entry: os.DirEntry[str], folder: str) -> bool:
    """Whether an entry is a regular file of ``folder``, or a link to one."""
    if not entry.is_symlink():
        return entry.is_file(follow_symlinks=False)
    try:
        target = Path(entry.path).resolve(strict=True)
        parts = target.relative_to(Path(folder).resolve()).parts
    except (OSError, ValueError, RuntimeError):  # dangling, elsewhere, a loop
        return False
    return target.is_file() and not any(part.startswith(".") for part in parts)


def _shown(name: str) -> str:
    """Return a path as it can be stored and printed: bytes that are no UTF-8 and control characters
    escaped."""
    if name.isprintable():
        return name
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in name)


def embed_missing(
    index: Index,
    embedder: Embedder,
    *,
    stop: Callable[[], bool] = lambda: False,
    progress: Callable[[int, int], None] = lambda done, all: None,
    seconds: float = float("inf"),
) -> int:
    """Give each chunk that has none a vector; return how many were embedded. Batches are kept as they
    are done, so it can be stopped or killed anywhere and goes on from there."""
    model = embedder.fingerprint
    missing, _ = index.count_unembedded(model)
    done = 0
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline and not stop():
        batch = index.unembedded(model, _BATCH)
        if not batch:
            break
        vectors = embedder.embed_documents([text for _, text in batch])
        rows = [
            (digest, struct.pack(f"<{len(vector)}e", *vector))
            for (digest, _), vector in zip(batch, vectors, strict=True)
        ]
        index.put_vectors(model, rows)
        done += len(rows)
        progress(done, missing)
    return done
