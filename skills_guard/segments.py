"""Owns what a text is made of: front matter, prose, headings, lists, tables, quotes, code by language,
and what no reader sees (comments, hidden elements)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

Place = Literal[
    "front",
    "prose",
    "heading",
    "list",
    "table",
    "quote",
    "hidden",
    "code",
    "script",
    "data",
    "inline",
    "decoded",
    "raw",
    "rawcode",
]
Line = tuple[int, str]

SHELL = frozenset(
    "bash sh shell zsh fish console shell-session terminal command cmd bat batch powershell ps1 pwsh"
    " dockerfile makefile make text txt plaintext plain none".split()
)
DATA = frozenset(
    "json json5 jsonc yaml yml toml ini cfg conf xml csv tsv html htm svg css scss md markdown".split()
)
_BY_ENDING = {
    "sh": "bash", "bash": "bash", "zsh": "bash", "fish": "bash", "ps1": "powershell", "psm1": "powershell",
    "bat": "cmd", "cmd": "cmd", "py": "python", "pyw": "python", "js": "javascript", "mjs": "javascript",
    "cjs": "javascript", "ts": "javascript", "tsx": "javascript", "jsx": "javascript", "rb": "ruby",
    "pl": "perl", "php": "php", "go": "go", "rs": "rust", "java": "java", "cs": "csharp", "lua": "lua",
    "applescript": "applescript", "vbs": "vb", "command": "bash", "plist": "xml", "service": "ini",
}  # fmt: skip
_MARKDOWN = ("md", "mdx", "mdc", "markdown", "rst", "txt", "adoc", "org")
_FENCE = re.compile(r"^([ \t>]{0,12})(`{3,}|~{3,})\s*([\w+#.-]{0,30})")
_HEADING = re.compile(r"^ {0,3}#{1,6}\s+\S|^[A-Z][^.!?]{0,60}:?\s*\n?$")
_ATX = re.compile(r"^ {0,3}#{1,6}(?:\s|$)")
_ITEM = re.compile(r"^\s{0,12}(?:[-*+•]|\d{1,3}[.)])\s+")
_TABLE = re.compile(r"^\s{0,8}\|.*\|")
_REFERENCE = re.compile(
    r"^\s{0,3}\[(?://|comment|_|#|ai|note|hidden)[^\]]{0,20}\]:\s*(?:#|<>)", re.IGNORECASE
)
_ELEMENT = 400
_HIDING = re.compile(
    r"<(\w{1,12})\b[^>]{0,300}?(?:display\s*:\s*none|visibility\s*:\s*hidden|font-size\s*:\s*0|opacity\s*:\s*0(?![.\d])"
    r"|color\s*:\s*(?:white|#fff(?:fff)?|transparent)|\bhidden\b(?!=\"false))[^>]{0,300}>",
    re.IGNORECASE,
)


@dataclass(slots=True)
class Segment:
    """A piece of a text. ``lead`` is the paragraph before a block of code, ``top`` the heading above it."""

    place: Place
    lines: list[Line]
    language: str = ""
    lead: str = ""
    top: str = ""
    header: str = ""
    """Of a table: its first row."""
    extra: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """The lines as they stand."""
        return "\n".join(text for _, text in self.lines)


def language_of(path: str, text: str) -> str:
    """Return the language of a file: by its first line, else by its ending; ``markdown`` for prose."""
    first = text[:200].split("\n", 1)[0]
    if first.startswith("#!"):
        for name, language in (
            ("python", "python"),
            ("node", "javascript"),
            ("ruby", "ruby"),
            ("perl", "perl"),
        ):
            if name in first:
                return language
        return "bash"
    base = path.rpartition("/")[2].lower()
    ending = base.rpartition(".")[2] if "." in base[1:] else ""
    if ending in _MARKDOWN or base in ("license", "readme", "notice", "changelog", "authors"):
        return "markdown"
    if base in ("makefile", "dockerfile", "justfile", "procfile", ".envrc"):
        return "bash"
    return _BY_ENDING.get(ending, ending or "bash")


def segments(path: str, text: str) -> list[Segment]:
    """Return the segments of a file's text."""
    language = language_of(path, text)
    lines = list(enumerate(text.replace("\r\n", "\n").replace("\r", "\n").split("\n"), 1))
    if language == "markdown":
        return _Markdown(lines).run()
    place: Place = "data" if language in DATA else "script"
    return [Segment(place, lines, language)]


class _Markdown:
    """One pass over the lines of a Markdown text."""

    def __init__(self, lines: Sequence[Line]) -> None:
        self._lines, self._at = lines, 0
        self._found: list[Segment] = []
        self._open: Segment | None = None
        self._lead = self._top = ""

    def run(self) -> list[Segment]:
        """Return the segments in order."""
        self._front()
        while self._at < len(self._lines):
            number, line = self._lines[self._at]
            if match := _FENCE.match(line):
                self._fence(match)
            elif "<!--" in line:
                self._comment()
            elif tag := _HIDING.search(line):
                self._element(tag)
            elif _REFERENCE.match(line):
                self._add("hidden", [(number, line.partition("]:")[2])])
                self._at += 1
            else:
                self._plain(number, line)
                self._at += 1
        self._close()
        return self._found

    def _add(self, place: Place, lines: list[Line], language: str = "") -> None:
        self._found.append(Segment(place, lines, language, self._lead, self._top))

    def _close(self) -> None:
        if self._open is not None:
            if self._open.place in ("prose", "list"):
                self._lead = self._open.text[-600:]
            self._found.append(self._open)
            self._open = None

    def _front(self) -> None:
        if not self._lines or self._lines[0][1].lstrip("\ufeff").strip() != "---":
            return
        for end in range(1, min(len(self._lines), 300)):
            if self._lines[end][1].strip() in ("---", "..."):
                self._add("front", list(self._lines[1:end]))
                self._at = end + 1
                return

    def _fence(self, match: re.Match[str]) -> None:
        self._close()
        mark, language = match[2], match[3].lower()
        body: list[Line] = []
        self._at += 1
        while self._at < len(self._lines):
            number, line = self._lines[self._at]
            self._at += 1
            bare = line.strip(" \t>")
            if bare.startswith(mark) and not bare.strip(mark[0]).strip():
                break
            body.append((number, line))
        if language in ("md", "markdown", "mdx"):
            self._found += [_quoted(s, self._lead) for s in _Markdown(body).run()]
        else:
            place: Place = "data" if language in DATA else "code"
            self._add(place, body, language)
        self._lead = ""

    def _comment(self) -> None:
        """Take a comment out, and what stands before and behind it on its lines."""
        number, line = self._lines[self._at]
        before, _, rest = line.partition("<!--")
        if before.strip():
            self._plain(number, before)
        body: list[Line] = []
        while "-->" not in rest:
            body.append((number, rest))
            self._at += 1
            if self._at >= len(self._lines):
                break
            number, rest = self._lines[self._at]
        else:
            inner, _, after = rest.partition("-->")
            body.append((number, inner))
            if after.strip():
                self._lines = [
                    *self._lines[: self._at],
                    (number, after),
                    *self._lines[self._at + 1 :],
                ]
                self._at -= 1
        self._add("hidden", body)
        self._at += 1

    def _plain(self, number: int, line: str) -> None:
        if not line.strip():
            self._close()
            return
        if _ATX.match(line):
            self._close()
            self._top = line.strip("# \t")
            self._add("heading", [(number, line)])
            self._lead = self._top
            return
        place = self._kind(line)
        fresh = self._open is None or place != self._open.place
        if place == "prose" and self._open is not None and self._open.place in ("list", "quote"):
            fresh = False  # a lazy continuation
        if fresh or _ITEM.match(line):
            intro = self._lead
            if self._open is not None and self._open.place == "list" and place == "list":
                intro = self._open.lead  # the items of a list share what introduces it
            self._close()
            self._open = Segment(place, [], "", intro, self._top)
            if place == "table":
                self._open.header = line
        assert self._open is not None
        self._open.lines.append((number, line))

    def _element(self, tag: re.Match[str]) -> None:
        """Take an element that hides its content out, over as many lines as it goes on."""
        number, line = self._lines[self._at]
        if line[: tag.start()].strip():
            self._plain(number, line[: tag.start()])
        end, rest, body = f"</{tag[1]}".lower(), line[tag.end() :], list[Line]()
        while end not in rest.lower() and self._at + 1 < len(self._lines) and len(body) < _ELEMENT:
            body.append((number, rest))
            self._at += 1
            number, rest = self._lines[self._at]
        inner, mark, after = rest, "", ""
        if end in rest.lower():
            at = rest.lower().find(end)
            inner, mark, after = rest[:at], rest[at : at + 1], rest[at:].partition(">")[2]
        body.append((number, inner))
        bare = [(n, re.sub(r"<[^>]{0,400}>", " ", text)) for n, text in body]
        if any(text.strip() for _, text in bare):
            self._close()
            self._add("hidden", bare)
        if mark and after.strip():
            self._plain(number, after)
        self._at += 1

    def _kind(self, line: str) -> Place:
        if _TABLE.match(line):
            return "table"
        if line.lstrip().startswith(">"):
            return "quote"
        if _ITEM.match(line):
            return "list"
        if line.startswith(("    ", "\t")) and (self._open is None or self._open.place == "code"):
            return "code"
        return "prose"


def _quoted(segment: Segment, lead: str) -> Segment:
    """Return a segment of a Markdown example within a Markdown text: what is shown, led in by ``lead``."""
    segment.lead = segment.lead or lead
    return segment
