"""Owns MEMORY.md and USER.md: one Markdown bullet an entry, everything else left byte for byte.

A file is the user's first: headings, tables, code, comments, CRLF, a BOM and bytes that are no
UTF-8 survive every change. An edit touches the span of its entry and nothing else.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Literal

from memory.atomic import write_atomic
from memory.clean import clean
from memory.lock import locked
from memory.statements import at_odds, relation
from memory.tokens import CJK_RANGE

Action = Literal["add", "replace", "remove"]

_BULLET = re.compile(r"[-*+](?:[ \t]+|$)")
_RULE = re.compile(r"([-*_])(?:[ \t]*\1){2,}[ \t]*$")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_TELLING = re.compile(
    r"[-+$€£¥#@~]*\w(?:[\w+#%$*&@/']|[.:,](?=\d)|(?<=[^\W\d])[.](?=\w)|-(?!\w)|(?<=\d)-(?=\w))*"
)
"""A word with the symbols that belong to it; a hyphen or comma between letters parts words."""
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\n|\r)|[^\r\n]+")
"""A line with its end. Not ``splitlines``: that also cuts at form feeds and Unicode separators."""
_BLOCK = re.compile(r" {0,3}(?:[#>|<]|`{3}|~{3}|\d{1,9}[.)][ \t])")
_COMMENT = re.compile(r" {0,3}<!--")
_DATED = re.compile(r"\(\d{4}-\d\d-\d\d\)\s*$")


class MemoryRefused(Exception):
    """A change that was not made; the message says why and what to do."""


class OverCapacity(MemoryRefused):
    """The file would grow past its limit. ``free`` is what is left of it, in characters."""

    def __init__(self, message: str, free: int) -> None:
        super().__init__(message)
        self.free = free


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryEntry:
    """One bullet: its text without marker and indentation, and its span in the file's text."""

    text: str
    start: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One wish: add ``text``; replace what ``old_text`` names by ``text``; remove it."""

    action: Action
    text: str = ""
    old_text: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryFile:
    """A memory file as text, every byte kept (bytes that are no UTF-8 as surrogate escapes)."""

    raw: str = ""

    @classmethod
    def read(cls, path: Path) -> MemoryFile:
        """Return the file at ``path``; a missing one is empty. Raises ``OSError``."""
        try:
            return cls(raw=path.read_bytes().decode("utf-8", "surrogateescape"))
        except FileNotFoundError:
            return cls()

    def to_bytes(self) -> bytes:
        """Return the bytes of the file."""
        return self.raw.encode("utf-8", "surrogateescape")

    @property
    def size(self) -> int:
        """Characters of the whole file, the user's own text included."""
        return len(self.raw)

    @property
    def newline(self) -> str:
        """The line ending that the file uses."""
        return "\r\n" if "\r\n" in self.raw else "\n"

    @property
    def entries(self) -> tuple[MemoryEntry, ...]:
        """The bullets at the left margin; not those in code, comments or thematic breaks."""
        return tuple(_parse(self.raw))

    def find(self, old_text: str) -> MemoryEntry:
        """Return the one entry that ``old_text`` names: exactly, else as a part of it.

        Raises :class:`MemoryRefused` when it names none, or more than one.
        """
        wanted = old_text.strip()
        if not wanted:
            raise MemoryRefused("old_text is empty. Next step: give a part of the entry's text.")
        entries = self.entries
        for test in (
            lambda e: e.text == wanted,
            lambda e: same_key(e.text) == same_key(wanted),
            lambda e: wanted in e.text,
            lambda e: wanted.casefold() in e.text.casefold(),
        ):
            hits = [entry for entry in entries if test(entry)]
            if len(hits) == 1:
                return hits[0]
            if len({hit.text for hit in hits}) == 1:
                return hits[0]  # the same entry twice: the first is as good as the second
            if hits:
                shown = "; ".join(f"{hit.text!r}" for hit in hits[:5])
                raise MemoryRefused(
                    f"{wanted!r} names {len(hits)} entries: {shown}. "
                    "Next step: give more of the one that is meant."
                )
        raise MemoryRefused(
            f"No entry contains {wanted!r}. Next step: list the entries and copy a part of one."
        )

    def known(self, text: str) -> MemoryEntry | None:
        """Return the entry that says the same as ``text``, case, spaces and punctuation aside."""
        key = same_key(text)
        return next((entry for entry in self.entries if same_key(entry.text) == key), None)

    def add(self, text: str) -> MemoryFile:
        """Return the file with one more entry, after the last one (else at the end)."""
        bullet = _bullet(text, self.newline)
        entries = self.entries
        if entries:
            at = entries[-1].end
            before = self.raw[:at]
            lead = "" if before.endswith(("\n", "\r")) else self.newline
            return MemoryFile(raw=f"{before}{lead}{bullet}{self.newline}{self.raw[at:]}")
        before = self.raw
        if before.strip("\ufeff \t\r\n"):
            lead = self.newline if before.endswith("\n") else self.newline * 2
            before += lead if not before.endswith(self.newline * 2) else ""
        after = MemoryFile(raw=f"{before}{bullet}{self.newline}")
        if after.entries:
            return after
        # An unclosed fence or comment would swallow it: it goes before all that instead.
        mark = "\ufeff" if self.raw.startswith("\ufeff") else ""
        rest = self.raw.removeprefix(mark)
        return MemoryFile(raw=f"{mark}{bullet}{self.newline * 2}{rest}")

    def replace(self, entry: MemoryEntry, text: str) -> MemoryFile:
        """Return the file with ``entry`` saying ``text``; all else stays byte for byte."""
        ending = self._ending(entry)
        bullet = _bullet(text, self.newline, marker=self.raw[entry.start])
        return MemoryFile(raw=self.raw[: entry.start] + bullet + ending + self.raw[entry.end :])

    def remove(self, entry: MemoryEntry) -> MemoryFile:
        """Return the file without ``entry``."""
        return MemoryFile(raw=self.raw[: entry.start] + self.raw[entry.end :])

    def _ending(self, entry: MemoryEntry) -> str:
        span = self.raw[entry.start : entry.end]
        return span[len(span.rstrip("\r\n")) :]


def same_key(text: str) -> str:
    """Return what is left of ``text`` without case, spaces and punctuation: equal for equal facts.

    Symbols that carry meaning stay: ``C`` and ``C++`` are two things, and so are ``1.5`` and
    ``15``, ``5`` and ``-5``, ``A`` and ``A-``.
    """
    folded = unicodedata.normalize("NFKC", text).casefold().replace("’", "'")
    words = [word.rstrip(".,:;!?'/") for word in _TELLING.findall(folded)]
    return _without_cjk_spaces(" ".join(words)) or "".join(folded.split())


def _without_cjk_spaces(text: str) -> str:
    if text.isascii():
        return text
    return re.sub(f" (?=[{CJK_RANGE}])|(?<=[{CJK_RANGE}]) ", "", text)


def _parse(raw: str) -> list[MemoryEntry]:
    entries: list[MemoryEntry] = []
    closing = ""  # what ends the code fence or the comment that is open
    apart = False  # whether a blank line came before
    start = end = -1  # the entry that is open; blank lines are its own only if more follows

    def close() -> None:
        if start >= 0:
            entries.append(MemoryEntry(text=_entry_text(raw[start:end]), start=start, end=end))

    offset = 1 if raw.startswith("\ufeff") else 0
    for line in _LINE.findall(raw[offset:]):
        at, offset = offset, offset + len(line)
        body = line.rstrip("\r\n")
        if closing:
            closing = "" if _closes(body, closing) else closing
        elif not body.strip():
            apart = True
            continue
        elif start >= 0 and body.startswith(("  ", "\t")):
            end = offset
        elif _BULLET.match(body) and not _RULE.match(body):
            close()
            start, end = at, offset
        elif start >= 0 and not apart and not _BLOCK.match(body) and not _RULE.match(body):
            end = offset  # a lazy continuation: Markdown takes it for part of the bullet
        else:
            close()
            start = -1
            closing = _opens(body)
        apart = False
    close()
    return entries


def _opens(body: str) -> str:
    """Return what must come to end the code fence or comment that a line opens, or ''."""
    if fence := _FENCE.match(body):
        return fence[1]
    return "-->" if _COMMENT.match(body) and "-->" not in body else ""


def _closes(body: str, closing: str) -> bool:
    if closing == "-->":
        return closing in body
    fence = _FENCE.match(body)
    return bool(fence and fence[1].startswith(closing) and not body.strip("`~ \t"))


def _entry_text(span: str) -> str:
    lines = [line.rstrip("\r\n") for line in _LINE.findall(span)]
    first = _BULLET.sub("", lines[0], count=1)
    rest = [line[2:] if line.startswith("  ") else line.lstrip("\t") for line in lines[1:]]
    return "\n".join([first, *rest]).strip()


def _bullet(text: str, newline: str, marker: str = "-") -> str:
    lines = normal_text(text).split("\n")
    rest = [f"  {line}" if line else "" for line in lines[1:]]
    return newline.join([f"{marker} {lines[0]}", *rest])


def normal_text(text: str) -> str:
    """Return ``text`` as an entry keeps it: cleaned, one kind of line end, no blank lines inside.

    Blank lines would end the bullet for some readers of Markdown, so they are left out; so is
    white space at the end of lines and the indentation of the first.
    """
    lines = [
        line.rstrip() for line in clean(text).replace("\r\n", "\n").replace("\r", "\n").split("\n")
    ]
    kept = [line for line in lines if line]
    return "\n".join([kept[0].lstrip(), *kept[1:]]) if kept else ""


def apply(
    file: MemoryFile,
    operations: Sequence[Operation],
    limit: int,
    today: date | None = None,
    *,
    newest_wins: bool = True,
) -> tuple[MemoryFile, list[str]]:
    """Return the file after all ``operations`` and a line for each; all happen or none.

    An added fact that takes the place of an entry (:func:`memory.statements.relation`) replaces it
    and carries the date of ``today``: the newest statement wins.

    The size that counts is the final one, so a batch may add first and remove later. A file that
    is over its limit already may still shrink. With ``newest_wins`` off (what comes from elsewhere is
    not newer) nothing is replaced. Raises :class:`MemoryRefused`.
    """
    done: list[str] = []
    result = file
    for operation in operations:
        result, line = _one(result, operation, today, newest_wins)
        done.append(line)
    if result.size > limit and result.size > file.size:
        free = max(limit - file.size, 0)
        entries = "\n".join(f"- {entry.text}" for entry in file.entries)
        raise OverCapacity(
            f"That would make {result.size} of {limit} characters; {free} are free. Nothing was "
            "changed. Next step: in one batch, shorten, merge or remove entries that matter less "
            f"and add the new one. The entries now:\n{entries}",
            free,
        )
    return result, done


def _one(
    file: MemoryFile, operation: Operation, today: date | None, newest_wins: bool
) -> tuple[MemoryFile, str]:
    text = normal_text(operation.text)
    if operation.action == "remove":
        entry = file.find(operation.old_text)
        return file.remove(entry), f"removed: {entry.text}"
    if not text:
        raise MemoryRefused(f"{operation.action} needs a text. Next step: say what to store.")
    if operation.action == "add":
        known = file.known(text)
        if known:
            return file, f"already known: {known.text}"
        return _add(file, text, today, newest_wins)
    entry = file.find(operation.old_text)
    twin = file.known(text)
    if twin and twin != entry:
        return file.remove(entry), f"removed: {entry.text} (already known: {twin.text})"
    return file.replace(entry, text), f"replaced: {entry.text} -> {text}"


def _add(
    file: MemoryFile, text: str, today: date | None, newest_wins: bool
) -> tuple[MemoryFile, str]:
    relations = [(relation(entry.text, text), entry) for entry in file.entries]
    if said := next((entry for kind, entry in relations if kind == "same"), None):
        return file, f"already known: {said.text}"
    old = [entry for kind, entry in relations if kind == "supersedes"]
    if not newest_wins:
        return file.add(text), f"added: {text}"
    if not old:
        return _add_beside(file, text, today)
    dated = f"{text} (since {today.isoformat()})" if today else text
    result = file
    for entry in reversed(old):  # the new one stands last: the order of a file is that of its age
        result = result.remove(entry)
    result = result.add(dated)
    gone = " / ".join(entry.text for entry in old)
    return result, f"replaced: {gone} -> {dated}"


def _add_beside(file: MemoryFile, text: str, today: date | None) -> tuple[MemoryFile, str]:
    """Add a fact beside all others, dated and named if one of them may contradict it."""
    doubted = next((entry for entry in file.entries if at_odds(entry.text, text)), None)
    if doubted is None:
        return file.add(text), f"added: {text}"
    if today and not _DATED.search(text):
        text = f"{text} ({today.isoformat()})"
    return file.add(text), f"added: {text}\nIt may contradict: {doubted.text}. Ask which holds."


def change(
    path: Path,
    operations: Sequence[Operation],
    limit: int,
    lock: Path,
    today: date | None = None,
    *,
    newest_wins: bool = True,
) -> tuple[MemoryFile, MemoryFile, list[str]]:
    """Apply ``operations`` to the file at ``path`` under the home's lock.

    Returns the file before and after, and a line for each operation. Raises
    :class:`MemoryRefused`, :class:`memory.lock.Locked` or ``OSError``; then nothing has changed.
    """
    with locked(lock):
        before = MemoryFile.read(path)
        after, done = apply(before, operations, limit, today, newest_wins=newest_wins)
        if after.raw != before.raw:
            write_atomic(path, after.to_bytes())
    return before, after, done
