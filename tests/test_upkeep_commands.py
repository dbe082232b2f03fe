"""status, usage, export, private: what is owed, what it cost, taking it away, leaving nothing."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest

from memory.sessions import SessionStore
from tests.conftest import add_session
from tests.support.cli import reverie


@pytest.fixture
def at(tmp_path: Path) -> Path:
    return tmp_path / "home"


def test_what_is_owed_is_done_by_status_wait(at: Path) -> None:
    reverie(at, "-m", "hello")
    store = SessionStore(at / "state.db")
    add_session(store, ("I prefer tea to coffee", "ok"))
    store.close()
    owed = json.loads(reverie(at, "status", "--json").stdout)
    assert len(owed["owed"]) == 1
    done = reverie(at, "status", "--wait")
    assert "Nothing is owed." in done.stdout and "notes" in done.stdout
    assert "I prefer tea" in (at / "memory" / "2026-11-01.md").read_text()
    assert json.loads(reverie(at, "status", "--json").stdout)["failed"] == []


def test_usage_by_source(at: Path) -> None:
    reverie(at, "-m", "hello")
    sources = json.loads(reverie(at, "usage", "--json").stdout)["sources"]
    assert sources["chat"]["calls"] == 1
    assert "all" in reverie(at, "usage", "--days", "1").stdout


def test_export_holds_everything_and_no_secret(at: Path, tmp_path: Path) -> None:
    reverie(at, stdin="remember that I like jazz\nI prefer tea 好\n")
    (at / ".env").write_text("KEY=secret-value\n")
    out = tmp_path / "out"
    assert "Exported" in reverie(at, "export", str(out)).stdout
    assert "jazz" in (out / "USER.md").read_text()
    rows = [json.loads(line) for line in (out / "sessions.jsonl").read_text().splitlines()]
    assert rows[0]["turns"][1]["messages"][0]["text"] == "I prefer tea 好"
    assert "tea 好" in next((out / "sessions").glob("*.md")).read_text()
    assert list((out / "memory").glob("*.md")) and (out / ".git").is_dir()
    assert all(b"secret-value" not in p.read_bytes() for p in out.rglob("*") if p.is_file())
    assert reverie(at, "export", str(out)).returncode == 2


def test_nothing_of_a_private_chat_remains(at: Path, tmp_path: Path) -> None:
    reverie(at, "-m", "remember that I like jazz")
    before = {p: p.read_bytes() for p in at.rglob("*") if p.is_file() and "state.db" not in p.name}
    with sqlite3.connect(at / "state.db") as raw:
        turns = raw.execute("SELECT count(*) FROM turns").fetchone()
    done = reverie(
        at,
        "private",
        stdin="what do you know about me?\nremember that I hide zebras\n",
        TMPDIR=str(tmp_path),
    )
    assert done.returncode == 0
    assert "I like jazz" in done.stdout and "Stored" in done.stdout
    after = {p: p.read_bytes() for p in at.rglob("*") if p.is_file() and "state.db" not in p.name}
    assert before == after
    with sqlite3.connect(at / "state.db") as raw:
        assert raw.execute("SELECT count(*) FROM turns").fetchone() == turns
    assert not list(tmp_path.glob("reverie-private-*"))
    assert not list(Path("/dev/shm").glob("reverie-private-*"))
