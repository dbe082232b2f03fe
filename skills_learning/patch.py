"""Owns changes of a skill's text: exact spans, each found once, never more than a quarter lost."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

MOST_LOST = 0.25
"""The share of a text that a change may take away."""


class PatchRefused(ValueError):
    """A change that is not made; the message says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Patch:
    """Replaces the span ``old``, which stands once in the text, by ``new``."""

    old: str
    new: str


def patched(text: str, patches: Sequence[Patch], read: str | None = None) -> str:
    """Return ``text`` with all changes, or raise :class:`PatchRefused` and change nothing.

    ``read`` is what the author of the change had before its eyes: a span outside of it is not touched.
    """
    if not patches:
        raise PatchRefused("there is nothing to change")
    lost = 0
    out = text
    for patch in patches:
        if not patch.old.strip():
            raise PatchRefused("a change names no text that it replaces")
        if read is not None and patch.old not in read:
            raise PatchRefused("a change touches a part that was not read")
        count = out.count(patch.old)
        if count != 1:
            where = "does not stand in the skill" if count == 0 else f"stands {count} times in it"
            raise PatchRefused(f"the text to replace {where}: {patch.old[:60]!r}")
        lost += _lost(patch)
        out = out.replace(patch.old, patch.new)
    if lost > MOST_LOST * len(text):
        raise PatchRefused(
            f"the change takes away {lost / len(text):.0%} of the text; 25 % are the most"
        )
    for title, lines in _sections(text).items():
        kept = "\n".join(_plain(line) for line in _sections(out).get(title, []))
        gone = [line for line in lines if _plain(line) not in kept]
        if len(lines) > 1 and 2 * len(gone) >= len(lines):
            raise PatchRefused(
                f"the change takes away {len(gone)} of {len(lines)} lines of `{title}`"
            )
    if out == text:
        raise PatchRefused("there is nothing to change")
    return out


def _sections(text: str) -> dict[str, list[str]]:
    """Return the lines of each section of the second level that say something."""
    found: dict[str, list[str]] = {}
    for part in re.split(r"^## ", text, flags=re.MULTILINE)[1:]:
        title, *lines = part.splitlines()
        found[title.strip()] = [line for line in lines if line.strip()]
    return found


def _lost(patch: Patch) -> int:
    """Return how many characters of the old span are not in the new one, line by line: a line that moved,
    got another number or grew is not lost."""
    kept = "\n".join(_plain(line) for line in patch.new.splitlines())
    return sum(len(line) for line in patch.old.splitlines() if _plain(line) not in kept)


def _plain(line: str) -> str:
    return re.sub(r"^\s*(?:\d+[.)]|[-*])\s+", "", line).strip()


def add_to_section(text: str, title: str, line: str) -> Patch | None:
    """Return the change that adds ``line`` at the end of a section; None where there is no such section or
    it says so already."""
    lines = text.split("\n")
    start = next(
        (
            n
            for n, row in enumerate(lines)
            if row.lstrip("#").strip().lower() == title.lower() and row.startswith("#")
        ),
        None,
    )
    if start is None or line.strip() in (row.strip() for row in lines):
        return None
    end = next((n for n in range(start + 1, len(lines)) if lines[n].startswith("#")), len(lines))
    last = max((n for n in range(start, end) if lines[n].strip()), default=start)
    old = "\n".join(lines[start : last + 1])
    return Patch(old=old, new=f"{old}\n{line}")
