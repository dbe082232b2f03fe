"""Owns the ways in which a text is read: as it means, not as it is spelt.

Each view keeps, for every character, the line of the raw text that it came from.
"""

from __future__ import annotations

import base64
import binascii
import codecs
import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from skills_guard.segments import SHELL, Line, Place, Segment
from skills_guard.shell import resolved

_TAGS = re.compile("[\U000e0020-\U000e007e]{2,}")
_SELECTORS = re.compile("[\ufe00-\ufe0f\U000e0100-\U000e01ef]{4,}")
_FLAG = re.compile("\U0001f3f4[\U000e0020-\U000e007e]{2,7}\U000e007f")
_UNSEEN = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff"
    "\uffa0\ufff9-\ufffb\ue000-\uf8ff\U0001d173-\U0001d17a\U000e0000-\U000e0fff\U000f0000-\U0010fffd]"
)
"""Format characters, fillers, variation selectors, private use: what shows nothing."""
_WORD = re.compile(r"[^\W\d_]{2,}")
_SPACED = re.compile(r"(?<!\w)(?:\w[ .\-_*]){5,}\w(?!\w)")
_DOTTED = re.compile(r"(?<![\w.])\w(?:[.\-_*]\w){2,}(?![\w])")
_ALL_SPACED = re.compile(r"\w(?:[ .\-_*]\w){1,}")
_BASE64 = re.compile(r"(?<![\w+/=.-])[A-Za-z0-9+/_-]{20,20000}={0,2}(?![\w+/=])")
_HEX = re.compile(r"(?<![\w])(?:[0-9A-Fa-f]{2}){12,8000}(?![\w])")
_ESCAPES = re.compile(
    r"(?:\\x[0-9A-Fa-f]{2}|\\u00[0-9A-Fa-f]{2}|\\[0-3][0-7]{2}|%[2-7][0-9A-Fa-f]){4,4000}"
)
_CODES = re.compile(
    r"(?:fromCharCode\(|chr\(|bytes\(\[|bytearray\(\[)\s*((?:\d{2,3}\s*,\s*){3,2000}\d{2,3})"
)
_STRING = re.compile(r"(['\"])((?:(?!\1)[^\\\n]){8,2000})\1")
_ROT13 = re.compile(r"rot_?13|N-ZA-Mn-za-m|n-za-m", re.IGNORECASE)
_REVERSED = re.compile(r"\[::-1\]|\|\s*rev\b|\.reverse\(|reversed\(|-join\s*\S{1,40}\[-1\.\.")
_LONGEST = 4_000
_SENTENCE = 3
_LOOKALIKES = str.maketrans(
    "аеорсухіїјѕһԁԛԝкмнтвгзпԍАВЕКМНОРСТУХІЈЅҮοαρυνικετηχγΑΒΕΖΗΙΚΜΝΟΡΤΥΧօսոցҽԼւᴀᴇɪᴏᴜɡɑıł",
    "aeopcyxiijshdqwkmhtbrznGABEKMHOPCTYXIJSYoapuvikethxyABEZHIKMNOPTYXounghLlaeiougail",
)
_LEET_WORD = re.compile(
    r"\b(?=\d?[a-z@$]{0,12}[013457@$])(?=[\w@$]{0,12}[a-z]{2})[a-z013457@$]{4,20}\b"
)
_LEET = str.maketrans("013457@$", "oieastas")


@dataclass(frozen=True, slots=True)
class Unit:
    """A text that rules are tried on: a paragraph, a command, a line of code; seen in one view."""

    text: str
    starts: tuple[int, ...]
    numbers: tuple[int, ...]
    place: Place
    segment: Segment
    view: str = "plain"
    around: str = ""
    """Of code within a sentence: the sentence."""

    @property
    def is_wordy(self) -> bool:
        """Whether a line of code holds a sentence: a comment, a message."""
        return not self.text.isascii() or self.text.strip().count(" ") >= _SENTENCE

    def line_at(self, offset: int) -> int:
        """Return the line of the raw text that a character came from."""
        return self.numbers[max(0, bisect_right(self.starts, offset) - 1)]


def unit(
    pieces: Iterable[Line], place: Place, segment: Segment, view: str, glue: str = "\n"
) -> Unit:
    """Join lines into a unit."""
    starts, numbers, texts, at = [], [], [], 0
    for number, text in pieces:
        starts.append(at)
        numbers.append(number)
        texts.append(text)
        at += len(text) + len(glue)
    first = segment.lines[0][0] if segment.lines else 1
    return Unit(
        glue.join(texts), tuple(starts) or (0,), tuple(numbers) or (first,), place, segment, view
    )


def plain(line: str) -> str:
    """Return a line in compatibility form, without characters that show nothing, with look-alikes in
    words of mixed script as the letters that they imitate."""
    if line.isascii():
        return line
    folded = unicodedata.normalize("NFKC", _UNSEEN.sub("", line))
    return folded if folded.isascii() else _WORD.sub(_unmixed, folded)


def _unmixed(match: re.Match[str]) -> str:
    word = match[0]
    if word.isascii():
        return word
    told = word.translate(_LOOKALIKES)
    has_latin = any(c.isascii() for c in word)
    return told if has_latin and told.isascii() else word


def smuggled(line: str) -> str:
    """Return what tag characters outside of flags, and variation selectors read as bytes, spell; '' where
    there are none."""
    found = _TAGS.findall(_FLAG.sub("", line))
    told = ["".join(chr(ord(c) - 0xE0000) for c in run) for run in found]
    for run in _SELECTORS.findall(line):
        raw = bytes(ord(c) - 0xFE00 if ord(c) < 0xE0100 else ord(c) - 0xE0100 + 16 for c in run)
        told.append(raw.decode("utf-8", "replace"))
    return " ".join(told)


def units(segment: Segment) -> Iterator[Unit]:
    """Yield a segment in each of its views."""
    lines = [(n, plain(text)) for n, text in segment.lines]
    yield from _smuggled_units(segment)
    if segment.place in ("code", "script", "data"):
        yield from _code_units(segment, lines)
    else:
        yield from _prose_units(segment, lines)
    yield from _decoded_units(segment, lines)


def _smuggled_units(segment: Segment) -> Iterator[Unit]:
    for number, raw in segment.lines:
        if raw.isascii():
            continue
        if text := smuggled(raw):
            yield unit([(number, text)], "hidden", segment, "tags")
        if _UNSEEN.search(raw):
            place: Place = "rawcode" if segment.place in ("code", "script") else "raw"
            yield unit([(number, raw[:_LONGEST])], place, segment, "raw")


def _prose_units(segment: Segment, lines: list[Line]) -> Iterator[Unit]:
    glue = "\n" if segment.place in ("front", "table") else " "
    marks = " \t>" if segment.place == "quote" else None
    pieces = [(number, text.strip(marks)) for number, text in lines]
    for part in _windows(pieces):
        whole = unit(part, segment.place, segment, "plain", glue)
        yield whole
        yield from _inline_units(segment, whole)
    for number, text in pieces:
        for other in _respelt(text):
            yield unit([(number, other)], segment.place, segment, "respelt")


def _windows(pieces: list[Line]) -> Iterator[list[Line]]:
    """Yield the lines of a paragraph in parts that are short enough for a pattern, overlapping."""
    held: list[Line] = []
    size = 0
    for number, text in pieces:
        for start in range(0, max(len(text), 1), _LONGEST - 400):
            piece = text[start : start + _LONGEST]
            if size + len(piece) > _LONGEST and held:
                yield held
                held = held[-2:] if sum(len(t) for _, t in held[-2:]) < _LONGEST // 2 else []
                size = sum(len(t) for _, t in held)
            held.append((number, piece))
            size += len(piece)
    if held:
        yield held


def _respelt(text: str) -> set[str]:
    """Return a line with spaced letters closed up, and with digits as the letters that they stand for."""
    closed = text
    if _SPACED.search(text) or _DOTTED.search(text):
        parts = re.split(r"\s{2,}", text)
        closed = " ".join(
            re.sub(r"[ .\-_*]", "", p) if _ALL_SPACED.fullmatch(p.strip()) else _closed(p)
            for p in parts
        )
    other = {closed}
    for one in (text, closed):
        if _LEET_WORD.search(one):
            other.add(_LEET_WORD.sub(lambda m: m[0].translate(_LEET), one))
    return other - {text}


def _closed(text: str) -> str:
    text = _DOTTED.sub(lambda m: re.sub(r"[.\-_*]", "", m[0]), text)
    return _SPACED.sub(lambda m: re.sub(r"[ .\-_*]", "", m[0]), text)


_INLINE = re.compile(r"(`{1,2})([^`\n]{4,600})\1")


def _inline_units(segment: Segment, whole: Unit) -> Iterator[Unit]:
    for match in _INLINE.finditer(whole.text):
        start = (
            max(whole.text.rfind(". ", 0, match.start()), whole.text.rfind("\n", 0, match.start()))
            + 1
        )
        ends = [
            e
            for e in (whole.text.find(". ", match.end()), whole.text.find("\n", match.end()))
            if e >= 0
        ]
        around = whole.text[start : min(ends, default=len(whole.text))]
        number = whole.line_at(match.start())
        for command in resolved([(number, match[2])]):
            yield Unit(command[1], (0,), (number,), "inline", segment, "shell", around)


def _code_units(segment: Segment, lines: list[Line]) -> Iterator[Unit]:
    """Yield code line by line, with strings joined, and commands as a shell would see them."""
    is_shell = segment.language in SHELL or segment.language in ("", "yaml", "yml", "toml", "json")
    for number, text in lines:
        for start in range(0, max(len(text), 1), _LONGEST - 400):
            part = text[start : start + _LONGEST]
            if part.strip():
                yield Unit(part, (0,), (number,), segment.place, segment)
                if segment.language not in SHELL and (joined := _joined(part)) != part:
                    yield Unit(joined, (0,), (number,), segment.place, segment, "joined")
                if (
                    "\\n" in part
                ):  # a string that holds lines: "\\ncurl" is curl at the beginning of one
                    broken = re.sub(r"(?<!\\)\\[nrt]", "\n", part)
                    yield Unit(broken, (0,), (number,), segment.place, segment, "joined")
    if is_shell and len(lines) <= 20_000:
        raw = {text.strip() for _, text in lines}
        for number, command in resolved(lines):
            if command.strip() not in raw:
                yield Unit(command[:_LONGEST], (0,), (number,), segment.place, segment, "shell")


_PLUS = re.compile(r"(['\"])\s{0,4}\+\s{0,4}\1|(?<=[^\\,(\[{=:\s])(['\"])\s{1,4}\2(?=[^,)\]}:\s])")
_LIST = re.compile(r"(?<=['\"])\s{0,3},\s{0,3}(?=f?['\"])")
_PATHS = re.compile(r"\)?\s{0,3}/\s{0,3}['\"]([^'\"]{1,80})['\"]")
_HOME = re.compile(
    r"(?:pathlib\.)?Path\.home\(\)|(?:os\.path\.)?expanduser\(\s*(['\"])~\1\s*\)|os\.homedir\(\)|homedir\(\)"
    r"|(?:os\.environ|process\.env)(?:\.get\(|\[|\.)\(?['\"]?HOME['\"]?\]?\)?|\$env:USERPROFILE|%USERPROFILE%"
)


def _joined(text: str) -> str:
    """Return a line of a program with pieces of strings, of paths and of argument lists put together."""
    if "'" not in text and '"' not in text:
        return text
    text = (
        _HOME.sub("'~'", text) if "ome" in text or "HOME" in text or "expanduser" in text else text
    )
    text = _PLUS.sub("", text)
    if "join" not in text and "/" not in text:
        return re.sub(r"['\"]", "", _LIST.sub(" ", text)) if _LIST.search(text) else text
    text = re.sub(r"\.joinpath\(\s*(['\"][^'\"]{1,80}['\"])\s*\)", r" / \1", text)
    text = _PATHS.sub(r"/\1", text)
    text = re.sub(r"os\.path\.join\(([^()]{1,300})\)|path\.join\(([^()]{1,300})\)", _as_path, text)
    return (
        re.sub(r"['\"]", "", _LIST.sub(" ", text)) if _LIST.search(text) or "'~'" in text else text
    )


def _as_path(match: re.Match[str]) -> str:
    parts = [part.strip().strip("'\"") for part in (match[1] or match[2]).split(",")]
    return "/".join(part for part in parts if part)


# -- what is encoded ------------------------------------------------------------------------


def _decoded_units(segment: Segment, lines: list[Line]) -> Iterator[Unit]:
    for number, text in lines:
        for said in decoded_in(text):
            yield unit([(number, said)], "decoded", segment, "decoded")
    if segment.place in ("code", "script"):
        for number, command in (
            resolved(lines) if segment.language in SHELL or not segment.language else ()
        ):
            for said in decoded_in(command[:20_000]):
                yield unit([(number, said)], "decoded", segment, "decoded")


def decoded_in(text: str) -> list[str]:
    """Return what base64, hex, escapes, character codes, rot13 and reversal hide in a line: readable text
    alone, twice over where that is encoded as well."""
    found: dict[str, None] = {}
    waiting = [text]
    for _ in range(2):
        waiting = [said for one in waiting for said in _once(one[:60_000])][:20]
        found.update(dict.fromkeys(waiting))
    return list(found)


def _once(text: str) -> Iterator[str]:
    for match in _BASE64.finditer(text):
        yield from _readable(_from_base64(match[0]))
    for match in _HEX.finditer(text):
        yield from _readable(bytes.fromhex(match[0]))
    for match in _ESCAPES.finditer(text):
        yield from _readable(_unescaped(match[0]))
    for match in _CODES.finditer(text):
        codes = [int(code) for code in match[1].split(",")]
        yield from _readable(bytes(code for code in codes if code < 256))
    turned = bool(_ROT13.search(text)), bool(_REVERSED.search(text))
    if any(turned):
        for match in _STRING.finditer(text):
            if turned[0]:
                yield codecs.encode(match[2], "rot13")
            if turned[1]:
                yield match[2][::-1]


def _from_base64(text: str) -> bytes:
    plain_text = text.rstrip("=").replace("-", "+").replace("_", "/")
    try:
        return base64.b64decode(plain_text + "=" * (-len(plain_text) % 4))
    except (binascii.Error, ValueError):
        return b""


def _unescaped(text: str) -> bytes:
    out = bytearray()
    for hexed, octal in re.findall(r"(?:\\x|\\u00|%)([0-9A-Fa-f]{2})|\\([0-3][0-7]{2})", text):
        out.append(int(hexed, 16) if hexed else int(octal, 8))
    return bytes(out)


def _readable(raw: bytes) -> Iterator[str]:
    """Yield bytes as text where they are one: printable, with the punctuation of words or commands."""
    if len(raw) < 4:
        return
    wide = len(raw) % 2 == 0 and raw[1::2].count(0) > 0.8 * len(raw[1::2])  # as PowerShell takes it
    try:
        text = raw.decode("utf-16-le" if wide else "utf-8")
    except UnicodeDecodeError:
        return
    shown = sum(c.isprintable() or c in "\n\t\r" for c in text)
    if shown >= 0.95 * len(text) and (re.search(r"[ /|$(.:]", text) or len(text) < 12):
        yield text[:8_000]
