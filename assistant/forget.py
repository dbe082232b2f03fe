"""Owns ``forget``: a fact leaves the home everywhere that it lives, and that is proved on bytes."""

from __future__ import annotations

import shutil
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from assistant.errors import ReverieError
from assistant.history import History
from assistant.home import Home
from memory.atomic import write_atomic
from memory.forgotten import Needle, Trace, remove_from, text_files, traces_in, traces_of_files
from memory.lock import locked
from memory.sessions import SessionStore

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
        for path in _copies(home, needle):
            path.unlink()
        shutil.rmtree(home.root / "index", ignore_errors=True)  # derived: it is rebuilt
    history.rewrite(needle.within, needle.without_bullets)
    left = [path for path in holding(home.root, needle) if path != home.config]
    left += [home.database] if traces_in(store, needle) else []
    if left:
        names = ", ".join(str(path.relative_to(home.root)) for path in left[:5])
        raise StillThere(
            f"It is still in {names}. Next step: look there; if another reverie process runs, end it and "
            "run this again."
        )
    return found


def _needle(text: str) -> Needle:
    if (len("".join(text.split())) < SHORTEST and text.isascii()) or not text.strip():
        raise ReverieError(
            f"{text!r} is too short: it would take half of everything along. "
            "Next step: give the words of the fact."
        )
    return Needle(" ".join(text.split()))


def _copies(home: Home, needle: Needle) -> list[Path]:
    """Return rescued databases and backups that hold the text: they are whole files, so they go."""
    return [
        path
        for path in home.root.glob("state.db.damaged-*")
        if needle.within(path.read_bytes().decode("utf-8", "ignore"))
    ]


def holding(root: Path, needle: Needle) -> Iterator[Path]:
    """Yield the files of a home in whose bytes the text stands, git objects unpacked: the proof."""
    for path in root.rglob("*"):
        if not path.is_file() or path.is_symlink():
            continue
        raw = path.read_bytes()
        if "objects" in path.parts:
            try:
                raw = zlib.decompress(raw)
            except zlib.error:
                pass
        if needle.within(raw.decode("utf-8", "ignore")):
            yield path
