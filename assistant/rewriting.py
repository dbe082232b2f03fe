"""Owns the mechanics inside ``.git``: reading commits, copying a history without a text, stale locks."""

from __future__ import annotations

import os
import re
import stat
import time
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from dulwich.repo import Repo

DELETED = "From a conversation that was deleted"


class Scrub(Protocol):
    """What is to leave a history: a ``Needle``, or ``ExactLines``."""

    def within(self, text: str) -> bool:
        """Whether a text holds it."""
        ...

    def without_bullets(self, text: str) -> str:
        """Return a text without it."""
        ...

    def without_name(self, path: str) -> str:
        """Return a file's name without it."""
        ...


class Rewriter:
    """Copies a history without one text in blobs, names of files and messages, and without what was
    said in some turns (short ids)."""

    def __init__(self, old: Repo, new: Repo, needle: Scrub, turns: Collection[str] = ()) -> None:
        self._old, self._new, self._needle, self._turns = old, new, needle, turns
        self._known: dict[bytes, bytes] = {}
        self._ids: dict[bytes, bytes] = {}
        self._emptied: set[bytes] = set()

    def run(self, commits: Sequence[Any]) -> Any:
        """Copy ``commits``, oldest first; return the id of the last."""
        head: Any = None
        for commit in commits:
            copy = commit.copy()
            copy.tree = self._tree(commit.tree)
            copy.parents = [head] if head else []
            copy.message = self._message(commit)
            self._new.object_store.add_object(copy)
            head = copy.id
            self._ids[commit.id[:10]] = copy.id[:10]
        return head

    def _message(self, commit: Any) -> bytes:
        undone = re.search(rb"^Undoes: (\w{10})$", commit.message, re.MULTILINE)
        turn = re.search(rb"^Turn: (\w+)$", commit.message, re.MULTILINE)
        raw = commit.message
        if (turn and turn[1].decode() in self._turns) or (undone and undone[1] in self._emptied):
            self._emptied.add(commit.id[:10])
            trailers = [mark[0] for mark in (turn, undone) if mark]
            raw = DELETED.encode() + b"\n\n" + b"\n".join(trailers)
        if undone and undone[1] in self._ids:  # what was undone has another id from now on
            raw = raw.replace(undone[0], b"Undoes: " + self._ids[undone[1]])
        text = _mended(raw, self._needle).decode("utf-8", "surrogateescape")
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


def _mended(raw: bytes, needle: Scrub) -> bytes:
    text = raw.decode("utf-8", "surrogateescape")
    if not needle.within(text):
        return raw
    return (needle.without_bullets(text) or "(forgotten)").encode("utf-8", "surrogateescape")


def index_head(repo: Repo, head: Any) -> None:
    """Make git's index say what ``head`` holds. The files are left alone, which checking it out would
    not do: what they hold beyond it is a person's."""
    from dulwich.index import IndexEntry
    from dulwich.object_store import iter_tree_contents

    index = repo.open_index()
    index.clear()
    for entry in iter_tree_contents(repo.object_store, head.tree) if head else ():
        try:
            status = os.stat(os.fsencode(repo.path) + b"/" + entry.path)  # noqa: PTH116 - bytes
        except OSError:
            continue  # deleted by hand since; the next look sees that
        if stat.S_ISREG(status.st_mode):
            index[entry.path] = IndexEntry(
                ctime=status.st_ctime,
                mtime=status.st_mtime,
                dev=status.st_dev,
                ino=status.st_ino,
                mode=entry.mode,
                uid=status.st_uid,
                gid=status.st_gid,
                size=len(repo.object_store[entry.sha].as_raw_string()),
                sha=entry.sha,
            )
    index.write()


def head_of(repo: Repo) -> Any:
    """Return the newest commit, None in an empty history."""
    from dulwich.refs import HEADREF

    try:
        return repo[repo.refs[HEADREF]]
    except KeyError:
        return None


def walk(repo: Repo, limit: int) -> list[Any]:
    """Return the last commits, newest first."""
    if head_of(repo) is None:
        return []
    return [entry.commit for entry in repo.get_walker(max_entries=limit)]


def parent_of(repo: Repo, commit: Any) -> Any:
    """Return the commit before, None for the first."""
    return repo[commit.parents[0]] if commit.parents else None


def file_at(repo: Repo, commit: Any, name: str) -> bytes | None:
    """Return a file as it was in a commit, None when it was not there."""
    from dulwich.object_store import tree_lookup_path

    if commit is None:
        return None
    try:
        _, sha = tree_lookup_path(repo.get_object, commit.tree, name.encode())
    except KeyError:
        return None
    content: bytes = repo.get_object(sha).as_raw_string()
    return content


def break_stale_locks(git: Path) -> None:
    """Remove the lock files of git that a killed process left: the caller holds the home's lock, so
    none of ours is at work; a git of the user's gets a second to finish."""
    for lock in (*git.glob("*.lock"), *git.glob("refs/**/*.lock"), *git.glob("objects/??/*.lock")):
        try:
            time.sleep(max(0.0, min(1.0, lock.stat().st_mtime + 1.0 - time.time())))
            lock.unlink()
        except FileNotFoundError:
            continue
