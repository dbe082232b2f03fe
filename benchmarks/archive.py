"""The session archive at 100,000 messages: append, search, size; and ten writers at once."""

from __future__ import annotations

import itertools
import random
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

from benchmarks.measure import ROOT, Row, percentile, report, scratch, seconds_of
from memory import db
from memory.rows import to_ms
from memory.session_search import search
from memory.sessions import Session, SessionStore
from memory.transcript import Message, Turn, new_turn_id

MESSAGES = 100_000
COMMON = ("the", "project", "deploy", "meeting", "budget")
WRITER = """
import sys
from pathlib import Path
from memory.sessions import SessionStore
from tests.conftest import add_session
store = SessionStore(Path(sys.argv[1]))
add_session(store, *[(f"question {n}", "answer") for n in range(100)])
"""


def fill(store: SessionStore, rng: random.Random) -> tuple[int, list[str]]:
    """Store a history with word frequencies like those of language; return its bytes and words."""
    words = [
        "".join(rng.choices("abcdefghijklmnopqrstuvwxyz", k=rng.randint(3, 9)))
        for _ in range(20_000)
    ]
    weights = list(itertools.accumulate(1 / (rank + 1) for rank in range(len(words))))
    start, size = datetime(2024, 1, 1, tzinfo=UTC), 0
    with db.transaction(store.connection()) as connection:
        for key in range(1, 501):
            connection.execute(
                "INSERT INTO sessions(key, id, started, updated) VALUES (?,?,0,0)", (key, f"s{key}")
            )
        for number in range(MESSAGES // 2):
            moment = start + timedelta(minutes=15 * number)
            turn = new_turn_id(moment)
            connection.execute(
                "INSERT INTO turns(id, session, status) VALUES (?,?,'done')",
                (turn, number // 100 + 1),
            )
            for role in (0, 1):
                chosen = rng.choices(words, cum_weights=weights, k=rng.randint(8, 50))
                chosen += [word for word in COMMON if rng.random() < 0.4]
                rng.shuffle(chosen)
                text = " ".join(chosen)
                size += len(text)
                connection.execute(
                    "INSERT INTO messages(turn, role, created, text) VALUES (?,?,?,?)",
                    (turn, role, to_ms(moment), text),
                )
    store.query("PRAGMA wal_checkpoint(TRUNCATE)")
    return size, words


def main() -> int:
    """Measure and report."""
    rng = random.Random(1)
    rows: list[Row] = []
    with scratch() as folder:
        store = SessionStore(Path(folder) / "state.db")
        size, words = fill(store, rng)
        rows.append(Row("database over its text", store.path.stat().st_size / size, 2.5, "times"))
        queries = [
            *COMMON,
            "project deploy",
            "meeting budget project",
            "what did we say about the budget meeting",
            *[words[rank] for rank in (0, 1, 5, 30, 300, 3000, 12_000)],
            *[f"{words[rank]} {words[rank * 2]}" for rank in (3, 40, 500, 5000)],
            '"project deploy"',
            "deploying budgets",
            "C++",
            "no-such-word",
            "微信",
        ]
        times = [1000 * seconds_of(lambda q=q: search(store, q)) for q in queries * 5]
        rows.append(Row("session_search, 100,000 messages: p50", percentile(times, 0.5), 15, "ms"))
        rows.append(Row("session_search, 100,000 messages: p95", percentile(times, 0.95), 60, "ms"))
        now = datetime.now(UTC)
        session = Session.begin(source="chat", cwd="", model="", system_prompt="", now=now)
        store.adopt(session)
        times = []
        for _ in range(300):
            now = datetime.now(UTC)
            turn = Turn(
                id=new_turn_id(now),
                session=session.id,
                started=now,
                status="done",
                messages=tuple(
                    Message(role=role, text=" ".join(rng.choices(words, k=40)), created=now)
                    for role in ("user", "assistant")
                ),
            )
            times.append(1000 * seconds_of(lambda t=turn: store.finish(t)))
        rows.append(Row("append of one turn: p50", percentile(times, 0.5), 5, "ms"))
        store.close()
        rows.append(
            Row(
                "ten processes, 100 turns each: turns kept",
                ten_writers(folder),
                1000,
                "turns",
                False,
            )
        )
    return report(rows)


def ten_writers(folder: str) -> int:
    """Return how many of 1,000 turns ten processes at once have stored."""
    path = f"{folder}/shared.db"
    processes = [
        subprocess.Popen([sys.executable, "-c", WRITER, path], cwd=ROOT) for _ in range(10)
    ]
    for process in processes:
        process.wait()
    store = SessionStore(Path(path))
    kept: int = store.query("SELECT count(*) FROM turns WHERE status = 'done'")[0][0]
    store.close()
    return kept


if __name__ == "__main__":
    sys.exit(main())
