"""Owns the mechanics inside ``.git``: copying a history without a text, breaking stale locks."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memory.forgotten import Needle

if TYPE_CHECKING:
    from dulwich.repo import Repo


class Rewriter:
    """Copies a history without one text in blobs and names of files, and without another in messages."""

    def __init__(self, old: Repo, new: Repo, needle: Needle, messages: Needle) -> None:
        self._old, self._new, self._needle, self._messages = old, new, needle, messages
        self._known: dict[bytes, bytes] = {}

    def run(self, commits: Sequence[Any]) -> Any:
        """Copy ``commits``, oldest first; return the id of the last."""
        head: Any = None
        for commit in commits:
            copy = commit.copy()
            copy.tree = self._tree(commit.tree)
            copy.parents = [head] if head else []
            copy.message = self._message(commit.message)
            self._new.object_store.add_object(copy)
            head = copy.id
        return head

    def _message(self, raw: bytes) -> bytes:
        text = _mended(_mended(raw, self._needle), self._messages).decode(
            "utf-8", "surrogateescape"
        )
        words = (self._needle.without_name(word) for word in re.split(r"(\s+)", text))
        return "".join(words).encode("utf-8", "surrogateescape")  # it may name files

    def _tree(self, sha: Any) -> Any:
        from dulwich.objects import Blob, Tree

        if sha in self._known:
            return self._known[sha]
        item = self._old[sha]
        if isinstance(item, Tree):
            made: Any = Tree()
            for entry in item.items():
                made.add(self._name(entry.path), entry.mode, self._tree(entry.sha))
        else:
            made = Blob.from_string(_mended(item.as_raw_string(), self._needle))
        self._new.object_store.add_object(made)
        self._known[sha] = made.id
        return made.id

    def _name(self, raw: bytes) -> bytes:
        name = raw.decode("utf-8", "surrogateescape")
        return self._needle.without_name(name).encode("utf-8", "surrogateescape")


def _mended(raw: bytes, needle: Needle) -> bytes:
    text = raw.decode("utf-8", "surrogateescape")
    if not needle.within(text):
        return raw
    return (needle.without_bullets(text) or "(forgotten)").encode("utf-8", "surrogateescape")


def break_stale_locks(git: Path) -> None:
    """Remove the lock files of git that a killed process left: the caller holds the home's lock, so
    none of ours is at work; a git of the user's gets a second to finish."""
    for lock in (*git.glob("*.lock"), *git.glob("refs/**/*.lock"), *git.glob("objects/??/*.lock")):
        try:
            time.sleep(max(0.0, min(1.0, lock.stat().st_mtime + 1.0 - time.time())))
            lock.unlink()
        except FileNotFoundError:
            continue
