"""Runs the real command line in a process of its own, as a user would."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def environment(home: Path, **more: str) -> dict[str, str]:
    kept = {k: v for k, v in os.environ.items() if not k.endswith(("_API_KEY", "_BASE_URL"))}
    return {**kept, "REVERIE_HOME": str(home), "PYTHONPATH": str(ROOT), "TZ": "UTC", **more}


def reverie(
    home: Path, *arguments: str, stdin: str = "", cwd: Path | None = None, **more: str
) -> subprocess.CompletedProcess[str]:
    """Run ``reverie ARGUMENTS`` and return what it printed and its exit code."""
    return subprocess.run(
        [sys.executable, "-m", "assistant.cli", *arguments],
        input=stdin.encode("utf-8", "surrogateescape").decode("utf-8", "surrogateescape"),
        capture_output=True,
        encoding="utf-8",
        errors="surrogateescape",
        cwd=cwd or home.parent,
        env=environment(home, **more),
        timeout=60,
    )
