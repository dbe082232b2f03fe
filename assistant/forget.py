"""Owns ``forget``: a fact leaves the home everywhere that it lives, and that is proved on bytes."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from assistant.errors import ReverieError
from assistant.history import History
from assistant.home import Home
from memory.atomic import write_atomic
from memory.entries import MemoryFile, same_key
from memory.exact_lines import ExactLines, plain, remove_copies
from memory.facts import facts
from memory.forgotten import (
    Needle,
    Trace,
    files_of,
    named,
    remove_from,
    text_files,
    traces_in,
    traces_of_files,
)
from memory.index import purge
from memory.lock import locked
from memory.notes import short_id, source_turn, strip_source
from memory.session_search import search
from memory.sessions import Session, SessionStore
from memory.statements import relation

SHORTEST = 3


class StillThere(ReverieError):
    """Something could not be removed; the message names where it still stands."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """All that holds a text."""

    traces: tuple[Trace, ...]

    def lines(self, most: int = 40) -> list[str]:
        """Return one line a place, for people."""
        rows = [
            f"{t.place}{': ' + ' '.join(t.text.split())[:120] if t.text else ''}"
            for t in self.traces
        ]
        return rows[:most] + ([f"... and {len(rows) - most} more"] if len(rows) > most else [])


def look(home: Home, store: SessionStore, history: History, text: str) -> Found:
    """Return every place that holds ``text``; changes nothing. Raises ``ReverieError``."""
    needle = _needle(text)
    traces = traces_of_files(home.root, needle) + traces_in(store, needle)
    count = history.count_holding(needle.within)
    if count:
        traces.append(Trace(place=f"history: {count} earlier versions of files", text=""))
    traces += [Trace(place=path.name, text="") for path in _copies(home, needle)]
    return Found(traces=tuple(traces))


def forget(home: Home, store: SessionStore, history: History, text: str, now: datetime) -> Found:
    """Remove ``text`` everywhere and return where it was. Raises :class:`StillThere`.

    The order makes an interruption harmless: repeating it does what is left.
    """
    needle = _needle(text)
    found = look(home, store, history, text)
    with locked(home.lock):
        remove_from(store, needle, now)
        for path in list(text_files(home.root)):
            raw = path.read_bytes()
            plain = raw.decode("utf-8", "surrogateescape")
            if needle.within(plain):
                less = needle.without_bullets if path.suffix == ".md" else needle.only
                write_atomic(path, less(plain).encode("utf-8", "surrogateescape"))
        for path in named(home.root, needle):
            path.rename(_free(path.with_name(needle.without_name(path.name))))
        for path in _copies(home, needle):
            path.unlink()
        purge(home.root, needle.within)
        home.skill_cache.unlink(missing_ok=True)
    history.rewrite(needle)
    left = [path for path in holding(home.root, needle) if path != home.config]
    left += [home.database] if traces_in(store, needle) else []
    if left:
        names = ", ".join(str(path.relative_to(home.root)) for path in left[:5])
        raise StillThere(
            f"It is still in {names}. Next step: look there; if another reverie process runs, end it and "
            "run this again."
        )
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class FromSession:
    """What came from a session: the memories and notes that only it tells, and those that another
    session tells as well, with the turn there."""

    session: Session
    only_here: tuple[str, ...]
    told_elsewhere: tuple[tuple[str, int], ...]


def from_session(
    home: Home, store: SessionStore, history: History, session: Session
) -> FromSession:
    """Return what the assistant wrote down because of a session; changes nothing."""
    turns = store.turns(session.id)
    ids = {turn.id for turn in turns}
    written, by_hand = history.written_in(ids)
    ours, theirs = set(map(plain, written)), {(name, plain(line)) for name, line in by_hand}
    standing = set()
    for path in _memories(home):
        name = path.relative_to(home.root).as_posix()
        for entry in MemoryFile.read(path).entries:
            text = strip_source(entry.text)
            turn = source_turn(entry.text)
            if turn in ids or (
                not turn
                and all(plain(line) in ours for line in text.splitlines())
                and (name, plain(text)) not in theirs
            ):
                standing.add(text)
    elsewhere = {text: _told_elsewhere(store, text, session.id) for text in standing}
    return FromSession(
        session=session,
        only_here=tuple(sorted(text for text, turn in elsewhere.items() if not turn)),
        told_elsewhere=tuple(sorted((text, turn) for text, turn in elsewhere.items() if turn)),
    )


def _memories(home: Home) -> list[Path]:
    return [home.user, home.memory, home.archive, *sorted(home.notes.glob("*.md"))]


def _told_elsewhere(store: SessionStore, text: str, session: str) -> int:
    """Return a turn of another session in which the user said the same; 0 when there is none."""
    for hit in search(store, text, limit=20):
        if hit.role != "user" or hit.session == session:
            continue
        for row in store.query("SELECT turn, text FROM messages WHERE id = ?", (hit.message_id,)):
            for fact in facts(row["text"], hit.created.date()):
                if same_key(fact.text) == same_key(text) or relation(fact.text, text) == "same":
                    return int(row["turn"])
    return 0


def forget_session(
    home: Home, store: SessionStore, history: History, found: FromSession, now: datetime
) -> None:
    """Delete a session and all that came from it alone, in files and in the history. A note that
    another session tells too stays and names that one as its source from now on."""
    ids = {turn.id for turn in store.turns(found.session.id)}
    history.keep_hand_edits()
    _, by_hand = history.written_in(set())
    theirs = {(name, plain(line)) for name, line in by_hand}
    lines = ExactLines(found.only_here)
    with locked(home.lock):
        store.delete(found.session.id)
        remove_copies(store, lines)
        other = dict(found.told_elsewhere)
        for path in _memories(home):
            file = before = MemoryFile.read(path)
            name = path.relative_to(home.root).as_posix()
            for entry in reversed(file.entries):
                text, turn = strip_source(entry.text), source_turn(entry.text)
                if turn in ids and text in other:
                    file = file.replace(
                        entry, entry.text.replace(short_id(turn), short_id(other[text]))
                    )
                elif text in found.only_here and (
                    turn in ids or (not turn and (name, plain(text)) not in theirs)
                ):
                    file = file.remove(entry)
            if file.raw != before.raw:
                write_atomic(path, file.to_bytes())
        purge(home.root, lines.within, [f"session:{found.session.id}"])
        home.skill_cache.unlink(missing_ok=True)
    kept_by_hand = {text for _, text in theirs}
    history.rewrite(ExactLines(set(found.only_here) - kept_by_hand), ids)


def _needle(text: str) -> Needle:
    if (len("".join(text.split())) < SHORTEST and text.isascii()) or not text.strip():
        raise ReverieError(
            f"{text!r} is too short: it would take half of everything along. "
            "Next step: give the words of the fact."
        )
    return Needle(" ".join(text.split()))


def _copies(home: Home, needle: Needle) -> list[Path]:
    """Return rescued databases and backups that hold the text, and a night that was not finished: they
    are whole files, so they go."""
    return [
        path
        for pattern in ("state.db.damaged-*", "backups/*", ".dream.json")
        for path in home.root.glob(pattern)
        if needle.within(path.read_bytes().decode("utf-8", "ignore"))
    ]


def _free(path: Path) -> Path:
    """Return ``path``, or the first name like it that is not taken."""
    number = 1
    free = path
    while free.exists():
        number += 1
        free = path.with_name(f"{path.stem}-{number}{path.suffix}")
    return free


def holding(root: Path, needle: Needle) -> Iterator[Path]:
    """Yield the files of a home in whose bytes the text stands, git objects unpacked: the proof."""
    for path in files_of(root):
        if not path.is_file():
            continue
        if needle.names(path.name):
            yield path
            continue
        raw = path.read_bytes()
        if "objects" in path.parts:
            try:
                raw = zlib.decompress(raw)
            except zlib.error:
                pass
        if needle.within(raw.decode("utf-8", "ignore")):
            yield path
