"""Owns capacity: a memory file over its limit is brought within it, and nothing is lost.

In this order: duplicates, superseded entries, expired ones, a consolidation that a model proposes and
code checks, then the oldest entries. All that leaves goes to ``memory/archive.md`` with its reason.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from memory.atomic import write_atomic
from memory.clean import one_line
from memory.consolidation import keeps_all
from memory.entries import MemoryEntry, MemoryFile
from memory.lock import locked
from memory.patterns import Pattern
from memory.statements import relation, statement

ISO_DAY = Pattern(r"\b(\d{4}-\d\d-\d\d)\b")
_SINCE = Pattern(r"\((?:since )?\d{4}-\d\d-\d\d\)\s*$")
_EVENT = Pattern(
    r"\b(?:due|deadline|appointment|meeting|flight|trip|exam|deliver\w*|fly|interview|todo|to do"
    r"|debug\w*|fix\w*)\b"
    r"|开会|面试|体检|考试|航班|截止|到期|待办",
    re.IGNORECASE,
)
ARCHIVE_TITLE = "# What had to leave memory\n\n"

Propose = Callable[[Sequence[str], int], Sequence[str]]
"""Given the entries and the characters they may have, fewer and shorter ones; it may take seconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaving:
    """An entry that leaves a memory file, and why."""

    text: str
    reason: str


def relieve(
    file: MemoryFile,
    limit: int,
    today: date,
    shorter: Sequence[str] = (),
    uses: Callable[[Sequence[str]], Mapping[str, int]] = lambda texts: {},
    worth: Callable[[str], float] = lambda text: 0.0,
) -> tuple[MemoryFile, list[Leaving]]:
    """Return ``file`` within ``limit`` characters, and what left it; what fits is not touched.

    ``shorter`` are entries proposed in place of those that the first three steps leave; they are
    taken only if they keep all that these hold. ``uses`` tells how often a text was of use: what was least
    leaves first, then what has the least ``worth``, the oldest among equals. What a person wrote around
    the entries stays; if that alone is over the limit, the file ends without entries and over its limit.
    """
    file, gone = _tidied(file, limit, today)
    if file.size > limit and shorter:
        file = _consolidated(file, shorter, gone)
    if file.size > limit:
        over, leaving = file.size - limit, []
        counts = uses([entry.text for entry in file.entries])
        for entry in sorted(
            file.entries, key=lambda e: (counts.get(e.text, 0), worth(e.text))
        ):  # stable: the oldest first
            if over <= 0:
                break
            used = counts.get(entry.text, 0)
            reason = (
                f"used in {used} answers, the least" if used else "it was the oldest of the unused"
            )
            leaving.append((entry, f"room was needed; {reason}"))
            over -= entry.end - entry.start
        file = _without(file, leaving, gone)
    return file, gone


def _tidied(file: MemoryFile, limit: int, today: date) -> tuple[MemoryFile, list[Leaving]]:
    """Take out what is said twice, superseded or past, step by step while the file is too long."""
    gone: list[Leaving] = []
    for step in (_duplicates, _superseded, lambda entries: _expired(entries, today)):
        if file.size > limit:
            file = _without(file, step(file.entries), gone)
    return file, gone


def _without(
    file: MemoryFile, leaving: Iterable[tuple[MemoryEntry, str]], gone: list[Leaving]
) -> MemoryFile:
    raw = file.raw
    for entry, reason in sorted(leaving, key=lambda pair: pair[0].start, reverse=True):
        raw = raw[: entry.start] + raw[entry.end :]
        gone.append(Leaving(text=entry.text, reason=reason))
    return MemoryFile(raw=raw)


def _related(
    entries: Sequence[MemoryEntry], kind: str
) -> Iterable[tuple[MemoryEntry, MemoryEntry]]:
    """Yield (older, newer) pairs of a relation. Only entries that share a telling word or a slot
    are compared, so that a file of thousands takes no quadratic time."""
    groups: dict[tuple[str, str], list[int]] = defaultdict(list)
    for position, entry in enumerate(entries):
        said = statement(entry.text)
        keys = {min(said.content)} if said.content else set()
        for key in (*keys, *(sorted(said.content)[1:2]), said.slot):
            if key:
                groups[said.subject, key].append(position)
    seen: set[int] = set()
    for positions in groups.values():
        for place, newer in enumerate(positions):
            for older in positions[max(0, place - 50) : place]:
                if older not in seen and relation(entries[older].text, entries[newer].text) == kind:
                    seen.add(older)
                    yield entries[older], entries[newer]


def _duplicates(entries: Sequence[MemoryEntry]) -> list[tuple[MemoryEntry, str]]:
    return [
        (older, f"said again: {one_line(newer.text, 80)}")
        for older, newer in _related(entries, "same")
    ]


def _superseded(entries: Sequence[MemoryEntry]) -> list[tuple[MemoryEntry, str]]:
    return [
        (older, f"superseded by: {one_line(newer.text, 80)}")
        for older, newer in _related(entries, "supersedes")
    ]


def _expired(entries: Sequence[MemoryEntry], today: date) -> list[tuple[MemoryEntry, str]]:
    """Entries whose dates are all past and that speak of an event or a task."""
    rows = []
    for entry in entries:
        dates = ISO_DAY.findall(_SINCE.sub("", entry.text))
        if dates and max(dates) < today.isoformat() and _EVENT.search(entry.text):
            rows.append((entry, f"its date has passed ({max(dates)})"))
    return rows


def _consolidated(file: MemoryFile, new: Sequence[str], gone: list[Leaving]) -> MemoryFile:
    """Take the ``new`` entries in place of all others, if nothing is lost and room is won."""
    old = [entry.text for entry in file.entries]
    if not keeps_all(old, new):
        return file
    result = file
    for entry in reversed(file.entries):
        result = result.remove(entry)
    for text in new:
        result = result.add(text)
    if result.size >= file.size:
        return file
    gone += [Leaving(text=t, reason="consolidated with others") for t in old if t not in new]
    return result


def bring_within(
    path: Path,
    limit: int,
    archive: Path,
    lock: Path,
    today: date,
    propose: Propose | None = None,
    uses: Callable[[Sequence[str]], Mapping[str, int]] = lambda texts: {},
) -> list[Leaving]:
    """Bring the file at ``path`` within its limit; what leaves is in the archive before it is gone.

    ``propose`` is asked without holding the lock; what it answers is checked against the file as it
    is by then, so a change in the meantime is never lost.
    """
    shorter: Sequence[str] = ()
    if propose is not None:
        tidy, _ = _tidied(MemoryFile.read(path), limit, today)
        if tidy.size > limit and tidy.entries:
            shorter = propose([entry.text for entry in tidy.entries], limit)
    with locked(lock):
        file = MemoryFile.read(path)
        after, gone = relieve(file, limit, today, shorter, uses)
        if after.raw != file.raw:
            _archive(archive, path.name, gone, today)
            write_atomic(path, after.to_bytes())
    return gone


def keep_in_archive(
    path: Path, name: str, gone: Sequence[Leaving], lock: Path, today: date
) -> None:
    """Append entries that left the file called ``name`` to the archive at ``path``."""
    with locked(lock):
        _archive(path, name, gone, today)


def archived(raw: str, name: str, gone: Sequence[Leaving], today: date) -> str:
    """Return the text of the archive with entries that left the file called ``name``; what it holds
    already is not written again."""
    known = {entry.text for entry in MemoryFile(raw=raw).entries}
    raw = raw or ARCHIVE_TITLE
    if not raw.endswith("\n"):
        raw += "\n"
    for leaving in gone:
        text = f"{leaving.text} (left {name} on {today.isoformat()}: {leaving.reason})"
        if text not in known:
            raw = MemoryFile(raw=raw).add(text).raw if "\n" in text else raw + f"- {text}\n"
    return raw


def _archive(path: Path, name: str, gone: Sequence[Leaving], today: date) -> None:
    raw = archived(MemoryFile.read(path).raw, name, gone, today)
    write_atomic(path, raw.encode("utf-8", "surrogateescape"))
