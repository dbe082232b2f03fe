"""Owns how a text falls into chunks: the pieces that search finds, each with where it stands.

Chunks follow the text: a memory entry or a note's bullet is one; other Markdown falls apart at its
headings, and a section longer than about 300 tokens at paragraphs and sentences, with the last sentence
of one piece repeated at the start of the next.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date

from memory.entries import MemoryFile
from memory.notes import parts
from memory.tokens import CJK

LONGEST = 300
"""Tokens of a chunk, about: a Latin word counts 1.3, an ideograph 1."""
_HEADING = re.compile(r" {0,3}(#{1,6})\s+(.*?)\s*#*\s*$")
_SENTENCE = re.compile(r"[^.!?。！？\n]*(?:[.!?。！？]+[\"'”’)]*\s*|\n+|$)")
_TIME = re.compile(
    r"\b(?:yesterday|today|tonight|tomorrow|last|next|ago|weekend|weeks?|months?|years?|since|recently|soon"
    r"|(?:mon|tues|wednes|thurs|fri|satur|sun)day|january|february|march|april|may|june|july|august"
    r"|september|october|november|december|summer|winter|spring|autumn|fall|morning|night|\d{4})\b"
    r"|昨天|今天|明天|前天|后天|上周|下周|上个?月|下个?月|去年|明年|今年|星期|周[一二三四五六日末]|\d+[年月日号]|早上|晚上",
    re.IGNORECASE,
)
QUESTION, TIMED = 1, 2
"""Flags of a chunk: it ends with a question; it speaks of a time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    """A piece of text and where it stands. ``title`` is its context: headings, a day, a session."""

    text: str
    first: int
    """The first line, from 1; for a session the id of the message."""
    last: int
    day: date | None = None
    kind: str = ""
    speaker: str = ""
    title: str = ""
    trust: str = "user"
    """Whose words they are: ``user``, ``assistant``, ``file``."""

    @property
    def digest(self) -> bytes:
        """What an embedding of this chunk is stored under: 16 bytes over all that is embedded."""
        return hashlib.blake2b(self.embedded.encode("utf-8", "replace"), digest_size=16).digest()

    @property
    def embedded(self) -> str:
        """The text as an embedder sees it."""
        return f"{self.speaker}: {self.text}" if self.speaker else self.text

    @property
    def counted(self) -> str:
        """The text as keyword search sees it: with speaker and headings, which name what it is about."""
        return " ".join(part for part in (self.speaker, self.title, self.text) if part)

    @property
    def flags(self) -> int:
        """The bits that ranking reads."""
        asks = self.text.rstrip().endswith(("?", "？"))
        return QUESTION * asks | TIMED * bool(_TIME.search(self.text) or self.kind == "commitment")


def tokens(text: str) -> float:
    """Return about how many tokens a text has; what has no spaces (base64) counts by its characters."""
    wide = len(CJK.findall(text))
    rest = CJK.sub(" ", text) if wide else text
    return wide + max(1.3 * len(rest.split()), (len(rest) - rest.count(" ")) / 10)


def entry_chunks(text: str, *, day: date | None = None, trust: str = "user") -> list[Chunk]:
    """Return a chunk for each bullet of a memory file or a day of notes, and for the prose around."""
    file = MemoryFile(raw=text)
    found: list[Chunk] = []
    titles: list[str] = []
    at = line = 0

    def prose(end: int) -> None:
        nonlocal line
        part = text[at:end]
        if not part.strip():
            line += part.count("\n")
            return
        for piece in section_chunks(part, trust=trust, day=day, titles=titles, bare=False):
            found.append(_moved(piece, line))
        line += part.count("\n")

    for entry in file.entries:
        prose(entry.start)
        span = text[entry.start : entry.end]
        body, kind, speaker, _ = parts(entry.text)
        found += [
            Chunk(
                text=body,
                first=line + 1,
                last=line + max(1, len(span.rstrip("\r\n").split("\n"))),
                day=day,
                kind=kind,
                speaker=speaker,
                title=" > ".join(t for t in titles if t and not _is_day(t)),
                trust=trust,
            )
        ] * _says_something(body)
        line += span.count("\n")
        at = entry.end
    prose(len(text))
    return found


def _is_day(title: str) -> bool:
    return bool(re.fullmatch(r"\d{4}-\d\d-\d\d", title))


def _moved(chunk: Chunk, lines: int) -> Chunk:
    return replace(chunk, first=chunk.first + lines, last=chunk.last + lines)


def section_chunks(
    text: str,
    *,
    trust: str = "file",
    day: date | None = None,
    titles: list[str] | None = None,
    bare: bool = True,
) -> list[Chunk]:
    """Return the sections of a Markdown or plain text as chunks. ``titles`` holds the headings above
    and is kept up to date; ``bare`` makes a heading with nothing below it a chunk, too."""
    trail = titles if titles is not None else []
    found: list[Chunk] = []
    start, held = 1, list[str]()
    fence = ""

    def close(next_level: int = 0) -> None:
        title = " > ".join(t for t in trail if t and not _is_day(t))
        like = Chunk(text="", first=0, last=0, day=day, title=title, trust=trust)
        pieces = list(_pieces(held, start, like))
        if bare and title and not pieces and next_level <= len(trail):
            pieces = [replace(like, text=trail[-1], first=start - 1, last=start - 1)]
        found.extend(pieces)

    for number, line in enumerate(text.split("\n"), 1):
        mark = line.lstrip()[:3]
        if mark in ("```", "~~~"):
            fence = "" if fence == mark else fence or mark
        heading = None if fence else _HEADING.match(line)
        if heading is None:
            held.append(line)
            continue
        level = len(heading[1])
        close(level)
        trail[level - 1 :] = [""] * (level - 1 - len(trail)) + [heading[2]]
        start, held = number + 1, []
    close()
    return found


def _pieces(lines: Sequence[str], start: int, like: Chunk) -> Iterator[Chunk]:
    """Yield a section's text in pieces of at most :data:`LONGEST` tokens."""
    sentences: list[tuple[int, str]] = []
    for number, line in enumerate(lines, start):
        sentences += [(number, part) for part in _short_enough(line + "\n")]
    held: list[tuple[int, str]] = []
    size = 0.0
    for number, part in sentences:
        if size + tokens(part) > LONGEST and held:
            yield from _piece(held, like)
            held = held[-1:] if tokens(held[-1][1]) < LONGEST / 4 else []
            size = sum(tokens(text) for _, text in held)
        held.append((number, part))
        size += tokens(part)
    yield from _piece(held, like)


def _piece(held: Sequence[tuple[int, str]], like: Chunk) -> Iterator[Chunk]:
    text = "".join(part for _, part in held).strip()
    if _says_something(text):
        told = [number for number, part in held if part.strip()]
        yield replace(like, text=text, first=told[0], last=told[-1])


def _says_something(text: str) -> bool:
    """Whether there is more in a text than punctuation: a letter, a digit, an emoji."""
    return any(c.isalnum() or unicodedata.category(c) == "So" for c in text)


def _short_enough(line: str) -> Iterator[str]:
    """Yield a line, or its sentences where it is long, or plain cuts of a sentence that never ends."""
    if tokens(line) <= LONGEST / 4:
        yield line
        return
    most = LONGEST * 3
    for sentence in filter(None, _SENTENCE.findall(line)):
        yield from (sentence[i : i + most] for i in range(0, len(sentence), most))


def message_chunks(text: str, *, message: int, day: date, speaker: str, trust: str) -> list[Chunk]:
    """Return a message of a session as chunks: one, or several where it is long."""
    like = Chunk(text="", first=0, last=0, day=day, speaker=speaker, trust=trust)
    return [
        replace(piece, first=message, last=message) for piece in _pieces(text.split("\n"), 1, like)
    ]
