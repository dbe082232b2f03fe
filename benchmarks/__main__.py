"""Runs every benchmark in turn; exits 1 when one misses a bar."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

HELPERS = {"__init__", "__main__", "measure"}


def main() -> int:
    """Run all."""
    worst = 0
    for path in sorted(Path(__file__).parent.glob("*.py")):
        if path.stem not in HELPERS:
            print(f"== {path.stem}", flush=True)
            worst |= subprocess.run([sys.executable, "-m", f"benchmarks.{path.stem}"]).returncode
    return worst


if __name__ == "__main__":
    sys.exit(main())
