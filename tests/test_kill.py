"""Killed at any moment of a turn: nothing that was confirmed is lost, and the next start works."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from memory import full_text
from memory.sessions import SessionStore
from memory.transcript import legal
from tests.support.cli import ROOT, environment, reverie

KILLS = 50


@pytest.mark.slow
def test_fifty_kills_lose_nothing_that_was_confirmed(tmp_path: Path) -> None:
    at = tmp_path / "home"
    random.seed(7)
    confirmed: list[str] = []
    sent = 0
    for _ in range(KILLS):
        process = subprocess.Popen(
            [sys.executable, "-m", "assistant.cli", "--json"],
            env=environment(at),
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            encoding="utf-8",
        )
        assert process.stdin and process.stdout
        asked = []
        buffer = ""
        try:
            for _ in range(random.randint(1, 4)):
                sent += 1
                text = f"remember that item {sent} is stored in box {sent * 7}"
                process.stdin.write(text + "\n")
                process.stdin.flush()
                asked.append(text)
            # So many turns are confirmed, then comes the kill, at any moment of the next one.
            wanted = random.randint(0, len(asked) - 1)
            while wanted and (line := process.stdout.readline()):
                buffer += line
                wanted -= '"turn_ended"' in line
            time.sleep(random.uniform(0.0, 0.12))
        finally:
            process.send_signal(signal.SIGKILL)
            process.wait()
        buffer += process.stdout.read()  # a few lines: they fit into the pipe
        ended = [
            line for line in buffer.splitlines() if line.endswith("}") and "turn_ended" in line
        ]
        done = [json.loads(line) for line in ended]
        confirmed += [
            text for text, event in zip(asked, done, strict=False) if event["status"] == "done"
        ]
        process.stdin.close()
        process.stdout.close()
    assert reverie(at, "-m", "hello").returncode == 0
    store = SessionStore(at / "state.db")
    assert full_text.check(store) == []
    said = set()
    for session in store.recent(10_000):
        turns = store.turns(session.id)
        assert "running" not in {turn.status for turn in turns}
        history = store.history(session.id)
        assert legal(history) == history
        said |= {m.text for m in history if m.role == "user"}
    store.close()
    assert len(confirmed) >= 10, "the kills came too early to prove anything"
    assert set(confirmed) <= said
    kept = (at / "USER.md").read_text() + (at / "MEMORY.md").read_text()
    for text in confirmed:
        fact = text.removeprefix("remember that ")
        assert fact.casefold() in kept.casefold() or len(kept) > 2000
