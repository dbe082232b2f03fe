"""Owns the locks of a home: one writer at a time, and never a lock that outlives its process.

The lock is the operating system's (``flock``), so a crash releases it; a lock file that is left
behind means nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from memory.errors import StorageError


class Locked(StorageError):
    """Another process kept the lock longer than this one was ready to wait."""


@contextmanager
def locked(path: Path, patience_s: float = 30.0) -> Iterator[None]:
    """Hold the lock at ``path`` (created with mode 0600); raises :class:`Locked` after the wait."""
    from filelock import FileLock, Timeout

    lock = FileLock(path, timeout=patience_s, mode=0o600, thread_local=False)
    try:
        lock.acquire(poll_interval=0.01)
    except Timeout:
        raise Locked(
            f"Another process holds {path} for more than {patience_s:.0f} s. "
            "Next step: end the other reverie process, then try again."
        ) from None
    try:
        yield
    finally:
        lock.release()
