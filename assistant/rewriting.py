"""Owns the mechanics inside ``.git``: copying a history without a text, breaking stale locks."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dulwich.repo import Repo


class Rewriter:
    """Copies a history, with blobs and messages passed through ``without`` where ``within``."""

    def __init__(
        self, old: Repo, new: Repo, within: Callable[[str], bool], without: Callable[[str], str]
    ) -> None:
        self._old, self._new, self._within, self._without = old, new, within, without
        self._known: dict[bytes, bytes] = {}

    def run(self, commits: Sequence[Any]) -> Any:
        """Copy ``commits``, oldest first; return the id of the last."""
        head: Any = None
        for commit in commits:
            copy = commit.copy()
            copy.tree = self._tree(commit.tree)
            copy.parents = [head] if head else []
            copy.message = self._mended(commit.message)
            self._new.object_store.add_object(copy)
            head = copy.id
        return head

    def _mended(self, raw: bytes) -> bytes:
        text = raw.decode("utf-8", "surrogateescape")
        if not self._within(text):
            return raw
        return (self._without(text) or "(forgotten)").encode("utf-8", "surrogateescape")

    def _tree(self, sha: Any) -> Any:
        from dulwich.objects import Blob, Tree

        if sha in self._known:
            return self._known[sha]
        item = self._old[sha]
        if isinstance(item, Tree):
            made: Any = Tree()
            for entry in item.items():
                made.add(entry.path, entry.mode, self._tree(entry.sha))
        else:
            made = Blob.from_string(self._mended(item.as_raw_string()))
        self._new.object_store.add_object(made)
        self._known[sha] = made.id
        return made.id


def break_stale_locks(git: Path) -> None:
    """Remove the lock files of git that a killed process left: the caller holds the home's lock, so
    none of ours is at work; a git of the user's gets a second to finish."""
    for lock in (*git.glob("*.lock"), *git.glob("refs/**/*.lock"), *git.glob("objects/??/*.lock")):
        try:
            time.sleep(max(0.0, min(1.0, lock.stat().st_mtime + 1.0 - time.time())))
            lock.unlink()
        except FileNotFoundError:
            continue
