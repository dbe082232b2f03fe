"""Owns how files of the home are written: whole or not at all, private from their first byte."""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path


def write_atomic(path: Path, content: bytes, mode: int = 0o600) -> None:
    """Replace ``path`` by ``content``: temporary file beside it, fsync, rename, fsync the folder.

    A reader sees the old bytes or the new ones; after a power cut too. An existing file keeps its
    mode. A symbolic link is followed: the file that it names is replaced, the link stays.
    Raises ``OSError``; the old file is then untouched.
    """
    target = path.resolve()
    target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    try:
        mode = target.stat().st_mode & 0o777
    except FileNotFoundError:
        pass
    descriptor, name = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".tmp", dir=target.parent)
    temporary = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fchmod(stream.fileno(), mode)
            os.fsync(stream.fileno())
        temporary.replace(target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    _sync_folder(target.parent)


def sweep(folder: Path) -> None:
    """Remove the temporary files that killed writes left in ``folder``: those older than an hour, as
    a write takes moments."""
    for path in folder.glob(".*.tmp"):
        try:
            if time.time() - path.stat().st_mtime > 3_600:
                path.unlink()
        except FileNotFoundError:
            continue  # another process sweeps as well


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
