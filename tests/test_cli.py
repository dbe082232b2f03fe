"""The command line as a user meets it: output, exit codes, bad input."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from memory.session_search import search
from memory.sessions import SessionStore
from tests.conftest import add_session
from tests.support.cli import ROOT, environment, reverie
from tests.support.servers import ModelServer, Raw


@pytest.fixture
def at(tmp_path: Path) -> Path:
    return tmp_path / "home"


def test_it_knows_you_the_next_morning(at: Path) -> None:
    told = reverie(
        at, stdin="My name is Ada.\nI'm allergic to peanuts.\nremember that I prefer tea\n"
    )
    assert told.returncode == 0
    assert "Offline" in told.stdout
    assert "Your home is" in told.stderr
    asked = reverie(at, stdin="what do you know about me?\nwhat am I allergic to?\n")
    assert asked.returncode == 0
    for fact in ("Ada", "peanuts", "I prefer tea (USER.md)"):
        assert fact in asked.stdout
    assert "Your home is" not in asked.stderr


def test_the_same_in_chinese(at: Path) -> None:
    told = reverie(at, stdin="记住我对花生过敏\n我住在格拉茨。\n")
    assert "已存入 USER.md" in told.stdout
    asked = reverie(at, stdin="你知道我什么？\n我们聊过格拉茨吗？\n")
    assert "我对花生过敏 (USER.md)" in asked.stdout
    assert "我住在格拉茨" in asked.stdout


@pytest.mark.parametrize("kind", ["openai", "anthropic"])
def test_the_same_with_a_model_behind_either_wire(at: Path, kind: str) -> None:
    remember = {
        "text": "",
        "tool_calls": [
            {
                "name": "memory",
                "arguments": {"action": "add", "target": "user", "text": "The user is called Ada"},
            }
        ],
    }
    with ModelServer([remember, "Stored, Ada.", "Good morning, Ada."]) as server:
        base = f"{server.origin}/v1" if kind == "openai" else server.origin
        keys = {f"{kind.upper()}_BASE_URL": base, f"{kind.upper()}_API_KEY": "k"}
        told = reverie(at, "--model", f"{kind}:m", "-m", "I am called Ada", **keys)
        assert (told.returncode, told.stdout) == (0, "Stored, Ada.\n")
        asked = reverie(at, "--model", f"{kind}:m", "-m", "good morning", **keys)
        assert asked.stdout == "Good morning, Ada.\n"
        assert "The user is called Ada" in json.dumps(server.requests[2])
        assert "I am called Ada" in json.dumps(server.requests[2])  # the note of the day


def test_the_first_request_is_small(at: Path) -> None:
    with ModelServer(["hi"]) as server:
        reverie(at, "--model", "openai:m", "-m", "hello", OPENAI_BASE_URL=f"{server.origin}/v1")
        assert len(server.raw_requests[0]) <= 12_000


def test_one_json_object_per_event(at: Path) -> None:
    done = reverie(at, "--json", "-m", "remember that I like jazz")
    events = [json.loads(line) for line in done.stdout.splitlines()]
    kinds = [event["type"] for event in events]
    assert kinds[-1] == "turn_ended"
    assert {"tool_started", "tool_finished", "text_delta"} <= set(kinds)
    assert events[-1]["status"] == "done"


def test_exit_codes_tell_failure_from_wrong_use(at: Path) -> None:
    assert reverie(at, "-m", "hello").returncode == 0
    failed_tool = reverie(at, "-m", "read missing.txt")
    assert failed_tool.returncode == 1
    assert "There is no file" in failed_tool.stdout
    unknown = reverie(at, "chta")
    assert unknown.returncode == 2
    assert "Did you mean chat?" in unknown.stderr
    assert reverie(at, "--frobnicate").returncode == 2
    assert reverie(at, "--model", "gpt", "-m", "hi").returncode == 2
    no_key = reverie(at, "--model", "openai:m", "-m", "hi")
    assert no_key.returncode == 2
    assert "OPENAI_API_KEY" in no_key.stderr and "Next step" in no_key.stderr
    assert "Traceback" not in no_key.stderr


def test_a_wrong_key_is_one_sentence(at: Path) -> None:
    refused = Raw.json({"error": {"message": "Incorrect API key provided"}}, 401)
    with ModelServer([refused]) as server:
        done = reverie(
            at,
            "--model",
            "openai:m",
            "-m",
            "hi",
            OPENAI_BASE_URL=f"{server.origin}/v1",
            OPENAI_API_KEY="x",
        )
    assert done.returncode == 1
    assert "refused the key" in done.stderr and "reverie setup" in done.stderr
    assert len(server.requests) == 1
    assert reverie(at, "sessions", "list").stdout.count("hi") == 1


def test_bad_settings_name_file_line_and_the_nearest_key(at: Path) -> None:
    at.mkdir(mode=0o700)
    (at / "config.yaml").write_text("model: offline\nbudget:\n  model_cals: 3\n")
    done = reverie(at, "-m", "hi")
    assert done.returncode == 2
    assert "config.yaml, line 3" in done.stderr and "budget.model_calls" in done.stderr
    for text in ("model: [", "\x00", "model: 3", "- a list"):
        (at / "config.yaml").write_text(text)
        done = reverie(at, "-m", "hi")
        assert done.returncode == 2, text
        assert "Next step" in done.stderr and "Traceback" not in done.stderr


def test_sessions_can_be_listed_shown_searched_exported_renamed_deleted(
    at: Path, tmp_path: Path
) -> None:
    reverie(at, "-m", "I planted a walnut tree in Graz")
    listed = json.loads(reverie(at, "sessions", "list", "--json").stdout)["sessions"]
    assert [s["title"] for s in listed] == ["I planted a walnut tree in Graz"]
    id = listed[0]["id"]
    assert "walnut" in reverie(at, "sessions", "show", id).stdout
    shown = json.loads(reverie(at, "sessions", "show", id, "--json").stdout)
    assert shown["turns"][0]["messages"][0]["role"] == "user"
    hits = json.loads(reverie(at, "sessions", "search", "walnut", "tree", "--json").stdout)["hits"]
    assert hits[0]["session"] == id and "walnut" in hits[0]["snippet"]
    assert json.loads(reverie(at, "sessions", "search", "zebra", "--json").stdout) == {"hits": []}
    assert "Nothing found" in reverie(at, "sessions", "search", "zebra").stdout
    assert reverie(at, "sessions", "search", "a", "--since", "soon").returncode == 2
    reverie(at, "sessions", "rename", id, "Trees")
    assert "Trees" in reverie(at, "sessions", "list").stdout
    reverie(at, "sessions", "export", id, "-o", str(tmp_path / "out.md"))
    assert "walnut" in (tmp_path / "out.md").read_text()
    assert json.loads(reverie(at, "sessions", "export", id, "--json").stdout)["id"] == id
    refused = reverie(at, "sessions", "delete", id)
    assert refused.returncode == 2 and "--yes" in refused.stderr
    assert (
        json.loads(reverie(at, "sessions", "delete", id, "--yes", "--json").stdout)["messages"] == 2
    )
    assert "no sessions" in reverie(at, "sessions", "list").stdout
    assert b"walnut" not in (at / "state.db").read_bytes()
    missing = reverie(at, "sessions", "show", "nope")
    assert missing.returncode == 2 and "Next step" in missing.stderr


def test_a_session_goes_on_where_it_was(at: Path) -> None:
    with ModelServer(["one", "two", "three"]) as server:
        keys = {"OPENAI_BASE_URL": f"{server.origin}/v1"}
        reverie(at, "--model", "openai:m", "-m", "first", **keys)
        reverie(at, "chat", "--continue", "--model", "openai:m", "-m", "second", **keys)
        id = json.loads(reverie(at, "sessions", "list", "--json").stdout)["sessions"][0]["id"]
        reverie(at, "chat", "--session", id, "--model", "openai:m", "-m", "third", **keys)
        contents = [m["content"] for m in server.requests[2]["messages"]]
    assert [c.split("\n")[0] for c in contents[1:]] == ["first", "one", "second", "two", "third"]
    nothing = reverie(at.parent / "other", "chat", "--continue")
    assert nothing.returncode == 2


def test_slash_commands_in_a_pipe(at: Path) -> None:
    script = "/help\nremember that I like jazz\n/memory\n/notes\n/undo\n/sessions\n/usage\n/model\n/skills\n/new\n/nwe\n/quit\nnever said\n"
    done = reverie(at, stdin=script)
    assert done.returncode == 0
    for text in (
        "/undo",
        "I like jazz",
        "Taken back",
        "model calls",
        "offline",
        "daily-review",
        "A new session",
        "did you mean /new",
    ):
        assert text in done.stdout, text
    assert "never said" not in done.stdout


def test_an_ascii_locale_does_no_harm(at: Path) -> None:
    done = reverie(
        at, stdin="记住我喜欢茶 🙂\n", LANG="C", LC_ALL="C", PYTHONUTF8="0", PYTHONIOENCODING=""
    )
    assert done.returncode == 0
    assert "我喜欢茶 🙂" in done.stdout
    assert "我喜欢茶 🙂" in (at / "USER.md").read_text(encoding="utf-8")


def test_bytes_that_are_no_utf8_do_no_harm(at: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "assistant.cli"],
        input=b"remember that I like \xb4\xff jazz\n",
        capture_output=True,
        env=environment(at),
        cwd=ROOT,
    )
    assert done.returncode == 0
    assert "\ufffd\ufffd jazz" in done.stdout.decode()


def test_doctor_says_what_is_wrong_and_changes_nothing(at: Path) -> None:
    fresh = reverie(at, "doctor")
    assert "is not there yet" in fresh.stdout and not at.exists()
    reverie(at, "-m", "hello")
    assert reverie(at, "doctor").returncode == 0
    at.chmod(0o755)
    (at / ".env").write_text("OPENAI_API_KEY=x\n")
    (at / ".env").chmod(0o644)
    (at / "USER.md").write_text("# A\n\n# A\n")
    before = {p: p.stat().st_mtime_ns for p in at.rglob("*.md")}
    done = reverie(at, "doctor")
    assert done.returncode == 1
    for text in ("chmod 700", "chmod 600", "heading twice: # A"):
        assert text in done.stdout
    assert before == {p: p.stat().st_mtime_ns for p in at.rglob("*.md")}
    checks = json.loads(reverie(at, "doctor", "--json").stdout)["checks"]
    assert {c["level"] for c in checks} >= {"ok", "warn", "fail"}
    (at / "state.db").write_bytes(b"broken" * 1000)
    assert "database" in reverie(at, "doctor").stdout
    (at / "config.yaml").write_text("modle: offline\n")
    assert "did you mean `model`" in reverie(at, "doctor").stdout


def test_setup_tries_the_model_before_it_writes(at: Path) -> None:
    with ModelServer(["ready"]) as server:
        base = f"{server.origin}/v1"
        done = reverie(at, "setup", "--model", "openai:m", "--base-url", base)
        assert done.returncode == 0, done.stderr
        assert "It answers: ready" in done.stdout
        assert len(server.requests) == 1
        settings = (at / "config.yaml").read_text()
        assert '"openai:m"' in settings and base in settings
        assert reverie(at, "-m", "hi").stdout == "ready\n"
        (at / "config.yaml").write_text("# mine\n" + settings + "budget:\n  model_calls: 7\n")
        reverie(at, "setup", "--model", "offline")
        settings = (at / "config.yaml").read_text()
        assert settings.startswith("# mine\n") and "model_calls: 7" in settings
        assert "base_url" not in settings
    refused = reverie(at, "setup", "--model", "openai:m", "--base-url", "http://127.0.0.1:9/v1")
    assert refused.returncode == 2 and "Nothing was written" in refused.stderr
    asked = reverie(at, "setup")
    assert asked.returncode == 2 and "Found here" in asked.stderr


def test_keys_in_the_homes_env_file_are_used(at: Path) -> None:
    at.mkdir(mode=0o700)
    with ModelServer(["hi"]) as server:
        (at / ".env").write_text("OPENAI_API_KEY=from-file\n")
        (at / "config.yaml").write_text(f"model: openai:m\nbase_url: {server.origin}/v1\n")
        assert reverie(at, "-m", "hello").stdout == "hi\n"
        assert server.headers[0]["authorization"] == "Bearer from-file"


def test_a_home_that_cannot_be(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    done = reverie(tmp_path / "file", "-m", "hi")
    assert done.returncode == 2 and "REVERIE_HOME" in done.stderr and "Traceback" not in done.stderr


def test_the_home_is_private_and_what_exists_is_kept(at: Path) -> None:
    before = os.umask(0o022)
    try:
        reverie(at, "-m", "remember that I like tea")
    finally:
        os.umask(before)
    assert at.stat().st_mode & 0o777 == 0o700
    assert (at / ".git").stat().st_mode & 0o777 == 0o700
    files = [p for p in at.rglob("*") if p.is_file() and ".git" not in p.parts]
    loose = [p for p in files if p.stat().st_mode & 0o077]
    assert loose == []
    (at / "SOUL.md").unlink()
    (at / "USER.md").write_text("mine\n")
    reverie(at, "-m", "hello")
    assert not (at / "SOUL.md").exists()
    assert (at / "USER.md").read_text() == "mine\n"


def test_ctrl_c_in_a_running_answer(at: Path) -> None:
    slow = Raw(chunks=(b": wait\n\n",) * 100, pause_s=0.2)
    with ModelServer([slow]) as server:
        process = subprocess.Popen(
            [sys.executable, "-m", "assistant.cli", "--model", "openai:m", "-m", "hello"],
            env=environment(at, OPENAI_BASE_URL=f"{server.origin}/v1"),
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        while not server.requests:
            time.sleep(0.05)
        time.sleep(0.3)
        start = time.monotonic()
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=10)
        assert time.monotonic() - start < 1.5
    assert process.returncode == 1
    assert b"interrupted" in err and b"Traceback" not in err
    store = SessionStore(at / "state.db")
    assert search(store, "hello")
    store.close()


def test_an_old_question_is_answered_from_the_archive(at: Path) -> None:
    reverie(at, "-m", "hello")
    store = SessionStore(at / "state.db")
    add_session(store, ("My bicycle lock has the code rose-garden", "Noted."))
    store.close()
    done = reverie(at, "-m", "what is the code of my bicycle lock?")
    assert "rose-garden" in done.stdout
