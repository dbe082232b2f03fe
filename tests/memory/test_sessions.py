"""The archive: turns are stored whole, many processes at once, and damage is survived."""

from __future__ import annotations

import os
import sqlite3
import stat
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory import full_text
from memory.owed import OwedSteps
from memory.salvage import rescue
from memory.session_search import search
from memory.sessions import Session, SessionStore, UnknownSession
from memory.transcript import Message, ToolCall, Turn, Usage, legal, new_turn_id
from tests.conftest import add_session

NOW = datetime(2026, 11, 30, 8, tzinfo=UTC)


@pytest.fixture
def store(tmp_path: Path) -> SessionStore:
    store = SessionStore(tmp_path / "state.db")
    yield store
    store.close()


def begun(store: SessionStore, text: str = "hello") -> Turn:
    session = Session.begin(source="chat", cwd="", model="", system_prompt="p", now=NOW)
    store.adopt(session)
    message = Message(role="user", text=text, created=NOW, context="<context>now</context>")
    return Turn(id=new_turn_id(NOW), session=session.id, started=NOW, messages=(message,))


def test_a_turn_comes_back_as_it_was_stored(store: SessionStore) -> None:
    turn = begun(store)
    call = ToolCall(id="c1", name="read_file", arguments='{"path": "a"}')
    whole = Turn(
        id=turn.id,
        session=turn.session,
        started=NOW,
        ended=NOW,
        status="done",
        model="openai:x",
        usage=Usage(input=3, output=4, cached=1, reasoning=2, calls=2),
        messages=(
            *turn.messages,
            Message(
                role="assistant",
                text="",
                created=NOW,
                tool_calls=(call,),
                thinking=({"type": "thinking", "signature": "s"},),
                provider="anthropic:y",
            ),
            Message(
                role="tool", text="no", created=NOW, call_id="c1", tool_name="read_file", error=True
            ),
            Message(role="assistant", text="done 好", created=NOW),
        ),
    )
    store.begin(turn)
    store.finish(whole)
    store.finish(whole)
    back = store.turns(turn.session)
    assert len(back) == 1
    stripped = [Message.restore(m.role, m.text, m.created, m.extras()) for m in back[0].messages]
    assert tuple(stripped) == whole.messages
    assert (back[0].usage, back[0].status, back[0].model) == (whole.usage, "done", "openai:x")


def test_words_are_safe_before_the_answer(store: SessionStore) -> None:
    turn = begun(store, "please keep this")
    store.begin(turn)
    other = SessionStore(store.path)
    assert search(other, "keep this")[0].snippet == "please keep this"
    other.close()


def test_a_turn_of_a_dead_process_is_closed(store: SessionStore) -> None:
    turn = begun(store)
    store.begin(turn)
    process = subprocess.Popen([sys.executable, "-c", "pass"])
    process.wait()
    with sqlite3.connect(store.path) as raw:
        raw.create_function("search_text", 1, str)
        raw.execute("UPDATE turns SET pid = ?", (process.pid,))
    raw.close()
    assert store.close_interrupted() == 1
    assert store.turns(turn.session)[0].status == "interrupted"
    assert OwedSteps(store).owed() == [turn.id]


def test_find_by_beginning_and_by_title(store: SessionStore) -> None:
    first = add_session(store, ("Plan the garden", "ok"), at=datetime(2026, 1, 1, tzinfo=UTC))
    second = add_session(store, ("100%_sure", "ok"), at=datetime(2026, 2, 1, tzinfo=UTC))
    assert store.find(first[:8]).id == first
    assert store.find("100%").id == second
    with pytest.raises(UnknownSession, match="More than one"):
        store.find("2026")
    with pytest.raises(UnknownSession, match="Next step"):
        store.find("%")


def test_files_are_private_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0o022)
    try:
        store = SessionStore(tmp_path / "state.db")
        add_session(store, ("a", "b"))
        for path in tmp_path.glob("state.db*"):
            assert stat.S_IMODE(path.stat().st_mode) == 0o600, path
        store.close()
    finally:
        os.umask(before)


def test_undo_takes_turns_back_one_by_one(store: SessionStore) -> None:
    session = add_session(store, ("one", "1"), ("two", "2"))
    assert store.undo_last(session).messages[0].text == "two"
    assert [m.text for m in store.history(session)] == ["one", "1"]
    assert store.undo_last(session).messages[0].text == "one"
    assert store.undo_last(session) is None


WRITER = """
import sys
from datetime import UTC, datetime
from pathlib import Path
from memory.sessions import SessionStore
sys.path.insert(0, {root!r})
from tests.conftest import add_session
store = SessionStore(Path(sys.argv[1]))
add_session(store, *[(f"{{sys.argv[2]}} question {{n}}", "answer") for n in range(int(sys.argv[3]))])
"""


def test_ten_processes_lose_nothing(tmp_path: Path) -> None:
    root = str(Path(__file__).parents[2])
    script = WRITER.format(root=root)
    path = tmp_path / "state.db"
    processes = [
        subprocess.Popen([sys.executable, "-c", script, str(path), str(n), "100"], cwd=root)
        for n in range(10)
    ]
    assert [process.wait(120) for process in processes] == [0] * 10
    store = SessionStore(path)
    assert store.query("SELECT count(*) FROM turns WHERE status = 'done'")[0][0] == 1000
    assert store.query("SELECT count(*) FROM messages")[0][0] == 2000
    assert full_text.check(store) == []
    store.close()


def test_a_truncated_database_is_rescued_as_far_as_it_reads(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    store = SessionStore(path)
    for number in range(200):
        add_session(store, (f"question {number} " + "x" * 300, "answer"))
    store.query("PRAGMA wal_checkpoint(TRUNCATE)")
    store.close()
    raw = path.read_bytes()
    path.write_bytes(raw[: len(raw) * 6 // 10])
    result = rescue(path, NOW)
    assert result.aside.read_bytes() == raw[: len(raw) * 6 // 10]
    assert result.saved["messages"] > 20
    again = SessionStore(path)
    assert full_text.check(again) == []
    assert search(again, "question")
    again.close()


def test_a_damaged_full_text_index_costs_no_message(store: SessionStore) -> None:
    add_session(store, ("before the damage", "ok"))
    connection = store.connection()
    connection.execute("UPDATE messages_fts_data SET block = x'00ff00ff' WHERE id > 1")
    store.close()
    after = add_session(store, ("after the damage", "ok"))
    assert full_text.check(store) == []
    assert search(store, "damage", limit=9)[0].snippet
    assert {hit.session for hit in search(store, "after damage", limit=1)} == {after}


def test_a_file_that_is_no_database_is_moved_aside(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    path.write_bytes(b"this is no database" * 100)
    result = rescue(path, NOW)
    assert result.aside.read_bytes().startswith(b"this is no database")
    SessionStore(path).close()


def test_deleting_frees_the_space_and_the_bytes(store: SessionStore) -> None:
    keep = add_session(store, ("keep me", "ok"))
    gone = add_session(store, *[(f"unforgettable {n} " + "y" * 2000, "ok") for n in range(200)])
    before = store.path.stat().st_size
    assert store.delete(gone) == 400
    assert store.path.stat().st_size < before / 4
    everything = b"".join(p.read_bytes() for p in store.path.parent.glob("state.db*"))
    assert b"unforgettable" not in everything
    assert store.find(keep).messages == 2


def test_schema_changes_keep_the_full_text_in_step(store: SessionStore) -> None:
    add_session(store, ("first words", "ok"))
    store.connection().execute("ALTER TABLE messages ADD COLUMN more TEXT")
    session = add_session(store, ("second words", "ok"))
    store.delete(session)
    assert full_text.check(store) == []
    rows = store.query("SELECT count(*) FROM messages_fts_docsize")[0][0]
    assert rows == store.query("SELECT count(*) FROM messages")[0][0]


MESSAGES = st.lists(
    st.one_of(
        st.builds(lambda text: Message(role="user", text=text, created=NOW), st.text(max_size=3)),
        st.builds(
            lambda text, ids: Message(
                role="assistant",
                text=text,
                created=NOW,
                tool_calls=tuple(ToolCall(id=i, name="t", arguments="{}") for i in ids),
            ),
            st.text(max_size=3),
            st.lists(st.sampled_from("abcd"), unique=True, max_size=3),
        ),
        st.builds(
            lambda id: Message(role="tool", text="r", created=NOW, call_id=id),
            st.sampled_from("abcd"),
        ),
    ),
    max_size=14,
)


@given(MESSAGES)
def test_any_record_becomes_a_legal_history(messages: list[Message]) -> None:
    out = legal(messages)
    position = 0
    while position < len(out):
        message = out[position]
        assert message.role != "tool"
        results = out[position + 1 : position + 1 + len(message.tool_calls)]
        assert [r.call_id for r in results] == [c.id for c in message.tool_calls]
        assert all(r.role == "tool" for r in results)
        position += 1 + len(message.tool_calls)
    assert [m for m in out if m.role == "user"] == [m for m in messages if m.role == "user"]
    assert legal(out) == out
