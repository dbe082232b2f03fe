"""A full disk: the chat goes on and reads, clean-up works with no byte free, and all is well after.

Needs a small file system of its own, so it runs where one can be mounted (root on Linux, as in CI).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.cli import reverie


@pytest.fixture
def tiny(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "tiny"
    folder.mkdir()
    if sys.platform != "linux" or os.geteuid() != 0:
        pytest.skip("needs root on Linux to mount a small file system")
    mount = ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(folder)]
    if subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("no file system can be mounted here")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


def test_the_chat_reads_on_and_clean_up_works(tiny: Path) -> None:
    at = tiny / "home"
    reverie(at, "-m", "remember that I like jazz", cwd=Path("/"))
    reverie(at, stdin=f"a long story {'x' * 300_000}\n", cwd=Path("/"))
    descriptor = os.open(tiny / "fill", os.O_WRONLY | os.O_CREAT)
    for size in (4096, 1):
        try:
            while os.write(descriptor, b"x" * size):
                pass
        except OSError:
            continue
    os.close(descriptor)
    full = reverie(
        at, stdin="what do you know about me?\nwhat did we say about jazz?\n", cwd=Path("/")
    )
    assert full.returncode == 0
    assert "I like jazz (USER.md)" in full.stdout
    assert "remember that I like jazz" in full.stdout
    assert full.stderr.count("free some space") == 1 and "Traceback" not in full.stderr
    listed = json.loads(reverie(at, "sessions", "list", "--json", cwd=Path("/")).stdout)["sessions"]
    assert len(listed) == 2
    story = next(s["id"] for s in listed if "story" in s["title"])
    before = (at / "state.db").stat().st_size
    gone = reverie(at, "sessions", "delete", story, "--yes", cwd=Path("/"))
    assert gone.returncode == 0, gone.stderr
    assert (at / "state.db").stat().st_size < before
    (tiny / "fill").unlink()
    assert reverie(at, "-m", "hello again", cwd=Path("/")).returncode == 0
    assert "hello again" in reverie(at, "sessions", "list", cwd=Path("/")).stdout
    assert reverie(at, "doctor", cwd=Path("/")).returncode == 0
