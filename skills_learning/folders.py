"""Owns the files of a skill's folder: reading all of them or none, and writing them whole."""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
import tempfile
from collections.abc import Mapping
from pathlib import Path

from memory.atomic import write_atomic

MOST_FILES = 500
LARGEST = 8_000_000
MOST_BYTES = 24_000_000
COMPLETE = ".complete"
"""Marks a folder whose files are all written: only such a one takes a skill's place after a crash."""


class Unreadable(ValueError):
    """A folder or an archive that cannot become a skill; the message is a sentence for people."""


def check_path(name: str) -> None:
    """Raise :class:`Unreadable` for a path that leaves the folder or that some system reads otherwise."""
    flat = name.replace("\\", "/")
    parts = flat.split("/")
    if (
        not name
        or "\\" in name
        or flat.startswith("/")
        or any(part in ("", ".", "..") for part in parts)
        or ":" in name
        or not name.isprintable()
        or len(name) > 200
        or len(parts) > 8
    ):
        raise Unreadable(f"{name!r} is no path within a skill")


def files_of(folder: Path) -> dict[str, bytes]:
    """Return the content of each file by its path. Links that stay inside are left out, as what they lead
    to has its own name. Raises :class:`Unreadable`."""
    files: dict[str, bytes] = {}
    base = os.path.realpath(folder)
    size = 0
    for path, name, status in _walk(str(folder)):
        if stat.S_ISLNK(status.st_mode):
            target = os.path.realpath(path)
            if target != base and not target.startswith(base + os.sep):
                raise Unreadable(f"the link {name} leads out of the folder")
            continue
        if not stat.S_ISREG(status.st_mode):
            raise Unreadable(f"{name} is no regular file")
        check_path(name)
        size += status.st_size
        if status.st_size > LARGEST or size > MOST_BYTES or len(files) >= MOST_FILES:
            raise Unreadable(f"it is too large ({name})")
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | getattr(os, "O_NOFOLLOW", 0))
            with os.fdopen(descriptor, "rb") as file:
                files[name] = file.read(LARGEST)
        except OSError as error:
            raise Unreadable(f"{name} cannot be read ({error.strerror})") from None
    return files


def stamp_of(folder: str) -> str:
    """Return what changes when any file of the folder does; '' when it is gone."""
    total = hashlib.blake2b(digest_size=12)
    try:
        for _, name, status in _walk(folder):
            total.update(
                f"{name}\0{status.st_mode}.{status.st_mtime_ns}.{status.st_ctime_ns}.{status.st_size}.{status.st_ino}\n".encode(
                    "utf-8", "surrogateescape"
                )
            )
    except Unreadable:
        return ""
    return total.hexdigest()


def _walk(folder: str) -> list[tuple[str, str, os.stat_result]]:
    """Return (path, name within, status) of all that is no folder, in order; links are not followed."""
    found: list[tuple[str, str, os.stat_result]] = []
    left = [(folder, "")]
    while left:
        where, prefix = left.pop()
        try:
            with os.scandir(where) as entries:
                inside = sorted(entries, key=lambda entry: entry.name)
            for entry in inside:
                if entry.is_dir(follow_symlinks=False):
                    left.append((entry.path, f"{prefix}{entry.name}/"))
                    continue
                status = entry.stat(follow_symlinks=False)
                if prefix + entry.name != COMPLETE or status.st_size:
                    found.append((entry.path, prefix + entry.name, status))
        except OSError as error:
            raise Unreadable(f"the folder cannot be read ({error.strerror})") from None
        if len(found) > 4 * MOST_FILES or len(left) > MOST_FILES:
            raise Unreadable("it holds too many files")
    return found


def write_folder(target: Path, files: Mapping[str, bytes], aside: Path) -> None:
    """Put a folder with ``files`` in the place of ``target``; what stood there goes to ``aside``.

    Written beside it and renamed: a reader sees the old skill or the new one. A crash between the two
    renames is healed by :func:`recover`.
    """
    for name in files:
        check_path(name)
    parent = target.parent
    parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    fresh = Path(tempfile.mkdtemp(prefix=f".new-{target.name}~", dir=parent))
    try:
        for name, content in files.items():
            write_atomic(fresh / name, content, 0o700 if content.startswith(b"#!") else 0o600)
        if target.exists() or target.is_symlink():
            write_atomic(fresh / COMPLETE, b"")
            aside.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            if aside.exists():
                shutil.rmtree(aside)
            target.rename(aside)
        fresh.rename(target)
        (target / COMPLETE).unlink(missing_ok=True)
    except BaseException:
        shutil.rmtree(fresh, ignore_errors=True)
        raise


def recover(parent: Path) -> None:
    """Finish what a kill interrupted between two renames, and remove what was never finished."""
    import time

    for fresh in parent.glob(".new-*~*"):
        target = parent / fresh.name.removeprefix(".new-").rpartition("~")[0]
        if (fresh / COMPLETE).exists() and not target.exists():
            fresh.rename(target)
            (target / COMPLETE).unlink(missing_ok=True)
        elif fresh.is_dir() and time.time() - fresh.stat().st_mtime > 3_600:
            shutil.rmtree(fresh, ignore_errors=True)
