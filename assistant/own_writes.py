"""Owns the knowledge which files stand as the assistant wrote them, by the content's git id."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path

from memory.atomic import write_atomic

NAME = ".own-writes"


def blob_id(path: Path) -> str:
    """Return git's id of a file's content."""
    content = path.read_bytes()
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


def mark(root: Path, files: Sequence[Path]) -> None:
    """Note that ``files`` of the home at ``root`` are the assistant's as they are now."""
    marks = _read(root)
    for path in files:
        if path.exists():
            marks[path.relative_to(root).as_posix()] = blob_id(path)
    write_atomic(root / NAME, json.dumps(marks).encode())


def by_hand(root: Path, names: Sequence[str]) -> list[str]:
    """Return those of ``names`` that do not stand as the assistant wrote them last."""
    marks = _read(root)
    return [
        name
        for name in names
        if not (root / name).exists() or marks.get(name) != blob_id(root / name)
    ]


def clear(root: Path, names: Sequence[str]) -> None:
    """Forget the marks of files that are committed now."""
    marks = _read(root)
    left = {name: id for name, id in marks.items() if name not in names}
    if left != marks:
        write_atomic(root / NAME, json.dumps(left).encode())


def pending(root: Path) -> list[Path]:
    """Return the files that the assistant wrote and that are not committed yet."""
    return [root / name for name in _read(root)]


def _read(root: Path) -> dict[str, str]:
    try:
        marks: dict[str, str] = json.loads((root / NAME).read_bytes())
    except (OSError, ValueError):
        return {}
    return marks
