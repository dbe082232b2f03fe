"""Start and one shot: CPU and memory of whole processes, bytes of the first request."""

from __future__ import annotations

import sys

from benchmarks.measure import Row, home_environment, report, run, scratch
from tests.support.servers import ModelServer

REVERIE = [sys.executable, "-m", "assistant.cli"]


def main() -> int:
    """Measure and report."""
    rows: list[Row] = []
    with scratch() as folder:
        environment = home_environment(folder)
        for option in ("--help", "--version"):
            cpu, _ = run([*REVERIE, option], environment)
            rows.append(Row(f"reverie {option}: CPU", cpu, 0.15, "s"))
        for kind, tail in (("openai", "/v1"), ("anthropic", "")):
            with ModelServer(["Hello."]) as server:
                keys = {
                    f"{kind.upper()}_BASE_URL": server.origin + tail,
                    f"{kind.upper()}_API_KEY": "x",
                }
                shot = [*REVERIE, "--model", f"{kind}:m", "-m", "hello"]
                run(shot, {**environment, **keys}, times=1)  # the first one makes the home
                cpu, memory = run(shot, {**environment, **keys})
                rows.append(Row(f"one shot, {kind}, instant model: CPU", cpu, 1.0, "s"))
                rows.append(Row(f"one shot, {kind}, instant model: memory", memory, 110, "MB"))
                size = len(server.raw_requests[0])
                rows.append(Row(f"first request for hello, {kind}", size, 12_000, "bytes"))
        cpu, memory = run([*REVERIE, "-m", "hello"], environment)
        rows.append(Row("one shot, offline: CPU", cpu, 1.0, "s"))
    return report(rows)


if __name__ == "__main__":
    sys.exit(main())
