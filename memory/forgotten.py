"""Owns forgetting: what holds a text, its removal from text and rows, and the tombstones.

A tombstone is a salted hash, never the words: it keeps background steps that still hold an old copy
from writing it back, and lets the user say the same anew later.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from typing import Any

from memory import db
from memory.entries import MemoryFile
from memory.rows import to_ms
from memory.sessions import SessionStore
from memory.tokens import CJK

GONE = "[forgotten]"
_WORD = re.compile(r"[\w'’]+")
_SENTENCE = re.compile(r"[^.!?。！？\n]*[.!?。！？]?\s?")


@dataclass(frozen=True, slots=True)
class Needle:
    """What shall be forgotten, compared without case, by white space as such and in any of Unicode's
    spellings of a letter. ``others`` are further texts that go with it."""

    text: str
    others: tuple[str, ...] = ()

    @property
    def _pattern(self) -> re.Pattern[str]:
        return _compiled((self.text, *self.others))

    def within(self, text: str) -> bool:
        """Whether ``text`` holds it."""
        return bool(self._pattern.search(text))

    def names(self, path: str) -> bool:
        """Whether the name of a file or folder holds it; there ``-``, ``_`` and ``.`` are spaces."""
        return self.within(path) or self.within(re.sub(r"[-_.]+", " ", path))

    def without_name(self, path: str) -> str:
        """Return another name for a file or folder whose name holds it."""
        return f"forgotten{Path(path).suffix}" if self.names(path) else path

    def without(self, text: str) -> str:
        """Return ``text`` with each sentence that holds it replaced by ``[forgotten]``."""
        if not self.within(text):
            return text
        parts = []
        for sentence in _SENTENCE.findall(text):
            end = sentence[len(sentence.rstrip()) :]
            parts.append(f"{GONE}{end}" if self.within(sentence) else sentence)
        joined = "".join(parts)
        return self._pattern.sub(GONE, joined)  # it may run over the end of a sentence

    def without_bullets(self, text: str) -> str:
        """Return Markdown without the bullets that hold it; elsewhere sentences go."""
        if not self.within(text):
            return text
        file = MemoryFile(raw=text)
        for entry in reversed(file.entries):
            if self.within(text[entry.start : entry.end]):
                file = file.remove(entry)
        return self.without(file.raw)

    def only(self, text: str) -> str:
        """Return ``text`` with nothing but the words themselves replaced: for code and outputs."""
        return self._pattern.sub(GONE, text)


@lru_cache(maxsize=256)
def _compiled(texts: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{_pattern_of(text)})" for text in texts), re.IGNORECASE)


def _pattern_of(text: str) -> str:
    """Words as such, white space of any kind between them (and inside Chinese, where a line may
    break anywhere); a plural or possessive ending belongs to the word, other letters do not."""
    text = unicodedata.normalize("NFC", text)
    parts = []
    for word in text.replace("’", "'").split():
        escaped = "".join(
            rf"{_letter(c)}\s*" if CJK.match(c) else ("['’]" if c == "'" else _letter(c))
            for c in word
        )
        parts.append(escaped.removesuffix(r"\s*"))
    pattern = r"\s+".join(parts)
    start = r"(?<!\w)" if text[0].isalnum() and not CJK.match(text[0]) else ""
    end = (
        r"(?:['’]?s|es)?(?![\w\u0300-\u036f])"
        if text[-1].isalpha() and not CJK.match(text[-1])
        else ""
    )
    if text[-1].isdigit():
        end = r"(?!\d)"
    return start + pattern + end


def _letter(char: str) -> str:
    """Return a pattern for a character in each of its spellings: composed, decomposed, full width."""
    spellings = [char]
    if (apart := unicodedata.normalize("NFD", char)) != char:
        spellings.append(apart)
    if "!" <= char <= "~":
        spellings.append(chr(ord(char) + 0xFEE0))
    escaped = [re.escape(spelling) for spelling in spellings]
    return escaped[0] if len(escaped) == 1 else f"(?:{'|'.join(escaped)})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """One place that holds the text: a file with its line, or a row of the archive."""

    place: str
    text: str


# -- the archive ----------------------------------------------------------------------------


def traces_in(store: SessionStore, needle: Needle) -> list[Trace]:
    """Return what in the archive holds the text: messages, titles, prompts, states."""
    found = []
    for row in _candidates(store, needle):
        where = f"session {row['session_id']}, message {row['id']}"
        if needle.within(row["text"]):
            found.append(Trace(place=where, text=row["text"]))
        elif row["data"] and needle.within(_plain(row["data"])):
            found.append(Trace(place=f"{where} (what travelled with it)", text=""))
    for row in store.query("SELECT id, title, system_prompt, state FROM sessions"):
        for name in ("title", "system_prompt", "state"):
            if needle.within(row[name]):
                found.append(Trace(place=f"session {row['id']}, {name.replace('_', ' ')}", text=""))
    return found


def _candidates(store: SessionStore, needle: Needle) -> Iterator[Any]:
    """Yield the messages whose text or extras hold it, found by the longest word of each text."""
    seen: set[int] = set()
    for text in (needle.text, *needle.others):
        word = max(_WORD.findall(text.replace("'", " ").replace("’", " ")) or [""], key=len)
        plain = word if word.isascii() else ""  # in other scripts a letter has several spellings
        rows = store.query(
            "SELECT m.id, m.text, m.data, s.id AS session_id FROM messages m JOIN turns t ON t.id = m.turn"
            " JOIN sessions s ON s.key = t.session WHERE ?1 = '' OR instr(lower(m.text), ?1)"
            " OR instr(lower(coalesce(m.data, '')), ?1)",
            (plain.lower(),),
        )
        for row in rows:
            if row["id"] not in seen and (
                needle.within(row["text"]) or (row["data"] and needle.within(_plain(row["data"])))
            ):
                seen.add(row["id"])
                yield row


def _plain(data: str) -> str:
    """Return the strings inside stored JSON: escapes would hide what is looked for."""
    return "\n".join(_strings(json.loads(data)))


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
        if value[:1] in ("{", "["):
            try:
                yield from _strings(json.loads(value))
            except ValueError:
                return
    elif isinstance(value, dict):
        for key, item in value.items():
            yield str(key)
            yield from _strings(item)
    elif isinstance(value, list):
        for item in value:
            yield from _strings(item)


def remove_from(store: SessionStore, needle: Needle, now: datetime) -> int:
    """Remove the text from the archive, leave a tombstone, and compact the file; return how many
    rows changed. Nothing of it is left in free pages, the log or the full-text index."""
    changed = 0
    rows = list(_candidates(store, needle))
    with db.transaction(store.connection()) as connection:
        for row in rows:
            data = (
                json.dumps(_without(json.loads(row["data"]), needle), ensure_ascii=False)
                if row["data"]
                else None
            )
            connection.execute(
                "UPDATE messages SET text = ?, data = ? WHERE id = ?",
                (needle.without(row["text"]), data, row["id"]),
            )
            changed += 1
        connection.create_function("scrub", 1, lambda text: needle.only(text or ""))
        connection.execute("UPDATE turns SET error = scrub(error) WHERE error != ''")
        connection.execute("UPDATE sessions SET cwd = scrub(cwd) WHERE cwd != scrub(cwd)")
        for row in connection.execute(
            "SELECT key, title, system_prompt, state FROM sessions"
        ).fetchall():
            values = (
                needle.without(row["title"]),
                needle.without_bullets(row["system_prompt"]),
                json.dumps(_without(json.loads(row["state"] or "{}"), needle), ensure_ascii=False),
            )
            if values[:2] != (row["title"], row["system_prompt"]) or needle.within(row["state"]):
                connection.execute(
                    "UPDATE sessions SET title = ?, system_prompt = ?, state = ? WHERE key = ?",
                    (*values, row["key"]),
                )
                changed += 1
        connection.execute("UPDATE hook_steps SET detail = ''")
        connection.executemany(
            "INSERT OR REPLACE INTO forgotten(digest, words, at) VALUES (?, ?, ?)",
            [(*_tombstone(text), to_ms(now)) for text in (needle.text, *needle.others)],
        )
    from memory.full_text import compact

    compact(store)
    return changed


def _without(value: Any, needle: Needle) -> Any:
    if isinstance(value, str):
        if value[:1] in ("{", "["):
            try:
                return json.dumps(_without(json.loads(value), needle), ensure_ascii=False)
            except ValueError:
                pass
        return needle.without(value)
    if isinstance(value, dict):
        return {needle.without(key): _without(item, needle) for key, item in value.items()}
    return [_without(item, needle) for item in value] if isinstance(value, list) else value


# -- tombstones -----------------------------------------------------------------------------


def _units(text: str) -> list[str]:
    low = unicodedata.normalize("NFKC", text).casefold()
    return list(CJK.sub(r" \g<0> ", low).split()) if CJK.search(low) else _WORD.findall(low)


def _digest(units: list[str]) -> str:
    return hashlib.sha256(("reverie:" + " ".join(units)).encode()).hexdigest()


def _tombstone(text: str) -> tuple[str, int]:
    units = _units(text)
    return _digest(units), len(units)


def is_forgotten(store: SessionStore) -> Callable[[str, datetime], bool]:
    """Return a test: does a text that was said at a moment hold what was forgotten after it?"""
    stones = {
        (row["words"], row["digest"]): row["at"]
        for row in store.query("SELECT digest, words, at FROM forgotten")
    }
    lengths = {length for length, _ in stones}

    def test(text: str, said: datetime) -> bool:
        units = _units(text) if stones else []
        moment = to_ms(said)
        for length in lengths:
            for start in range(len(units) - length + 1):
                at = stones.get((length, _digest(units[start : start + length])))
                if at is not None and moment <= at:
                    return True
        return False

    return test


def scrubber(store: SessionStore) -> Callable[[str, datetime], str] | None:
    """Return what removes forgotten sentences from a text that was said at a moment; None when
    nothing was ever forgotten. It is how a chat that still holds a fact loses it as well."""
    if not store.query("SELECT 1 FROM forgotten LIMIT 1"):
        return None
    test = is_forgotten(store)

    def scrub(text: str, said: datetime) -> str:
        if not text or not test(text, said):
            return text
        parts = [
            f"{GONE}{s[len(s.rstrip()) :]}" if test(s, said) else s for s in _SENTENCE.findall(text)
        ]
        joined = "".join(parts)
        return GONE if test(joined, said) else joined  # it ran over the end of a sentence

    return scrub


# -- files ----------------------------------------------------------------------------------


def files_of(root: Path) -> Iterator[Path]:
    """Yield all files of a home. Folders of the home that are links are followed; links inside them
    are not: what lies there is not the home's."""
    for path in sorted(root.iterdir()):
        if path.is_dir():
            for folder, _, names in os.walk(path):
                yield from (Path(folder) / name for name in sorted(names))
        else:
            yield path


def text_files(root: Path) -> Iterator[Path]:
    """Yield the files of a home that hold text, the derived index and git's own left out."""
    for path in files_of(root):
        parts = path.relative_to(root).parts
        if not path.is_file() or parts[0].startswith(".git") or parts[0] in ("index", ".env"):
            continue
        if path.name.startswith("state.db") or path.name in (".lock", "config.yaml"):
            continue  # the archive has its own way; settings are the user's, and no memory
        if b"\0" not in path.read_bytes()[:8000]:
            yield path


def named(root: Path, needle: Needle) -> list[Path]:
    """Return the files and folders of a home whose own name holds the text, the deepest first."""
    found = set()
    for path in files_of(root):
        parts = path.relative_to(root).parts
        if not parts[0].startswith(".git") and parts[0] not in ("index", ".env"):
            found |= {p for p in (path, *path.parents) if p.is_relative_to(root) and p != root}
    return sorted((p for p in found if needle.names(p.name)), key=lambda p: -len(p.parts))


def traces_of_files(root: Path, needle: Needle) -> list[Trace]:
    """Return the lines of files that hold the text."""
    found = [
        Trace(place=f"{path.relative_to(root).as_posix()} (its name)", text="")
        for path in named(root, needle)
    ]
    for path in text_files(root):
        text = path.read_bytes().decode("utf-8", "replace")
        if not needle.within(text):
            continue
        lines = [n for n, line in enumerate(text.splitlines(), 1) if needle.within(line)]
        name = path.relative_to(root).as_posix()
        for number in lines or [0]:
            line = text.splitlines()[number - 1].strip() if number else ""
            found.append(Trace(place=f"{name}:{number}" if number else name, text=line))
    return found
