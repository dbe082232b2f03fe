"""Owns the measuring: CPU and memory of whole processes, percentiles, the table at the end."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]


@dataclass(frozen=True)
class Row:
    """One measured figure against its bar; ``at_most`` False means that more is better."""

    what: str
    figure: float
    bar: float
    unit: str
    at_most: bool = True

    @property
    def holds(self) -> bool:
        """Whether the bar is reached."""
        return self.figure <= self.bar if self.at_most else self.figure >= self.bar


def report(rows: Sequence[Row]) -> int:
    """Print the table; return 1 when a bar is missed."""
    for row in rows:
        sign = "<=" if row.at_most else ">="
        mark = "ok  " if row.holds else "MISS"
        print(f"{mark} {row.what:<64} {row.figure:>10.3f} {sign} {row.bar:g} {row.unit}")
    return 0 if all(row.holds for row in rows) else 1


def percentile(values: Sequence[float], share: float) -> float:
    """Return the value below which ``share`` (0 to 1) of the values lie."""
    ordered = sorted(values)
    return ordered[min(int(share * len(ordered)), len(ordered) - 1)]


def run(
    arguments: Sequence[str], environment: Mapping[str, str], times: int = 5
) -> tuple[float, float]:
    """Run a command and return its best CPU seconds (user and system) and its peak memory in MB."""
    best, peak = float("inf"), 0.0
    for _ in range(times):
        process = subprocess.Popen(
            arguments, env=dict(environment), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        _, status, usage = os.wait4(process.pid, 0)
        if status:
            raise SystemExit(f"{arguments} ended with status {status}")
        process.returncode = 0
        best = min(best, usage.ru_utime + usage.ru_stime)
        scale = 1e6 if sys.platform == "darwin" else 1e3
        peak = max(peak, usage.ru_maxrss / scale)
    return best, peak


def home_environment(folder: str, **more: str) -> dict[str, str]:
    """Return an environment with a home of its own and no key of the machine."""
    kept = {k: v for k, v in os.environ.items() if not k.endswith(("_API_KEY", "_BASE_URL"))}
    return {**kept, "REVERIE_HOME": f"{folder}/home", "PYTHONPATH": str(ROOT), **more}


def cpu_of(action: object) -> float:
    """Return the CPU seconds of this process that a callable takes."""
    before = resource.getrusage(resource.RUSAGE_SELF)
    assert callable(action)
    action()
    after = resource.getrusage(resource.RUSAGE_SELF)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def seconds_of(action: object) -> float:
    """Return the wall-clock seconds that a callable takes."""
    start = time.perf_counter()
    assert callable(action)
    action()
    return time.perf_counter() - start


def scratch() -> tempfile.TemporaryDirectory[str]:
    """Return a folder that goes away."""
    return tempfile.TemporaryDirectory(prefix="reverie-bench-")
