"""Owns ``reverie private``: a chat in a home that exists for its duration alone."""

from __future__ import annotations

import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from assistant.config import find_home, use_home
from assistant.home import Home

PREFIX = "reverie-private-"
LENT = ("SOUL.md", "AGENTS.md", "USER.md", "MEMORY.md", "config.yaml", ".env")


def run(chat: Callable[[], None]) -> None:
    """Run a chat that knows what is known and leaves nothing.

    It works on copies in a temporary home, in memory where the system has a place for that, which is
    removed at the end, also after Ctrl-C or an error.
    """
    real = find_home()
    shared = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None  # noqa: S108 - memory, not disk
    folder = Path(tempfile.mkdtemp(prefix=f"{PREFIX}{os.getpid()}-", dir=shared))
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: sys.exit(130))  # a closed terminal ends it cleanly too
    _sweep(folder)
    try:
        home = Home(folder / "home")
        home.create()
        for name in LENT:
            if (real.root / name).is_file():
                shutil.copy(real.root / name, home.root / name)
        print("Private: nothing of this chat is kept.", file=sys.stderr)
        use_home(home)
        chat()
    finally:
        use_home(None)
        shutil.rmtree(folder, ignore_errors=True)


def _sweep(own: Path) -> None:
    """Remove what private chats left that were killed outright."""
    for folder in own.parent.glob(f"{PREFIX}*"):
        pid = folder.name.removeprefix(PREFIX).partition("-")[0]
        if folder != own and pid.isdigit() and not Path(f"/proc/{pid}").exists():
            shutil.rmtree(folder, ignore_errors=True)
