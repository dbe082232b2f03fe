"""A thousand kills during the post-turn hook over a 200-turn history: the same files as without.

Usage: python -m benchmarks.hook_kills [--kills N]. A child works the queue off and is killed at a
random moment, again and again, until N kills are done; then it is left to finish. Whenever the
queue runs dry before that, the same history is laid out anew and compared.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

from assistant.home import Home
from benchmarks.measure import ROOT, Row, home_environment, report, scratch
from memory.owed import OwedSteps
from memory.rows import to_ms
from memory.sessions import Session, SessionStore
from memory.transcript import Message, Turn

SAID = (
    "I prefer tea number {n} to coffee",
    "my sister lives in town {n}",
    "what is the weather?",
    "we decided to use plan {n}",
    "I am allergic to plant {n}",
)
WORKER = """
import sys
from pathlib import Path
from assistant.app import Assistant
from assistant.config import Config, load_environment
from assistant.home import Home
home = Home(Path(sys.argv[1]))
assistant = Assistant(home, Config(timezone="UTC"), load_environment(home), cwd=Path("/"))
print("ready", flush=True)
while assistant.hook.work_off():
    pass
"""


def lay_out(home: Home) -> None:
    """Store 200 turns that owe their steps, over 40 days, and a MEMORY.md over its limit."""
    home.create()
    home.memory.write_text("".join(f"- old fact {n}: {'x' * 40} {n * 3}\n" for n in range(80)))
    store = SessionStore(home.database)
    start = datetime(2026, 10, 1, 8, tzinfo=UTC)
    session = Session(
        id="bench",
        title="",
        source="chat",
        started=start,
        updated=start,
        model="",
        cwd="",
        parent=None,
        system_prompt="",
    )
    store.adopt(session)
    for number in range(200):
        when = start + timedelta(hours=5 * number)
        text = SAID[number % len(SAID)].format(n=number)
        store.finish(
            Turn(
                id=to_ms(when) << 20 | number,
                session="bench",
                started=when,
                ended=when,
                status="done",
                messages=(
                    Message(role="user", text=text, created=when),
                    Message(role="assistant", text="ok", created=when),
                ),
            )
        )
    store.close()


def work(home: Home, kill_after: float | None) -> bool:
    """Run the worker; kill it after so many seconds of work. Return whether it was killed."""
    process = subprocess.Popen(
        [sys.executable, "-c", WORKER, str(home.root)],
        cwd=ROOT,
        env=home_environment(str(home.root.parent)),
        stdout=subprocess.PIPE,
    )
    assert process.stdout
    process.stdout.readline()
    if kill_after is None:
        process.wait()
        return False
    time.sleep(kill_after)
    killed = process.poll() is None
    if killed:
        os.kill(process.pid, signal.SIGKILL)
    process.wait()
    process.stdout.close()
    return killed


def files(home: Home) -> dict[str, str]:
    """Return the files that the hook writes, without the date on which something was archived."""
    return {
        p.name: p.read_text() for p in (home.user, home.memory, *sorted(home.notes.glob("*.md")))
    }


def main() -> int:
    """Kill, compare, report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=1000)
    wanted = parser.parse_args().kills
    random.seed(11)
    kills = rounds = differ = 0
    with scratch() as folder:
        plain = Home(Path(folder) / "plain" / "home")
        plain.root.parent.mkdir()
        lay_out(plain)
        work(plain, None)
        expected = files(plain)
        while kills < wanted:
            home = Home(Path(folder) / "round" / "home")
            shutil.rmtree(home.root.parent, ignore_errors=True)
            home.root.parent.mkdir()
            lay_out(home)
            store = SessionStore(home.database)
            while kills < wanted and OwedSteps(store).owed(1):
                kills += work(home, random.uniform(0.0, 0.5))
            work(home, None)
            store.close()
            rounds += 1
            differ += files(home) != expected
            print(f"{kills} kills, {rounds} rounds, {differ} differ", flush=True)
    return report(
        [
            Row("kills during the post-turn hook", kills, wanted, "kills", at_most=False),
            Row("rounds whose files differ from those without kills", differ, 0, "rounds"),
        ]
    )


if __name__ == "__main__":
    sys.exit(main())
