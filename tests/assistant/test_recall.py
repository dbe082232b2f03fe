"""Search as people and models use it: the command line, the tools, what travels with a message."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from assistant.app import Assistant
from memory.forgotten import Needle
from memory.transcript import Message, Turn
from memory.uses import Uses
from tests.conftest import ZONE, Clock, add_session, ask
from tests.support.cli import reverie

Make = Callable[..., Assistant]


def test_the_command_line(tmp_path: Path) -> None:
    at = tmp_path / "home"
    reverie(
        at,
        stdin="I am allergic to walnuts\nthe invoice INV-2931 is paid\nremember that I like jazz\n",
    )
    shown = reverie(at, "memory", "search", "which nuts must I not eat?").stdout
    assert "I am allergic to walnuts" in shown.splitlines()[1]
    found = json.loads(reverie(at, "memory", "search", "INV-2931", "--json", "--limit", "2").stdout)
    assert "INV-2931" in found["hits"][0]["snippet"]
    assert found["hits"][0]["lines"] and found["hits"][0]["date"]
    why = reverie(at, "memory", "search", "--explain", "jazz").stdout
    assert "words" in why and " = " in why
    only = json.loads(
        reverie(at, "memory", "search", "jazz", "--source", "memory", "--json").stdout
    )
    assert {hit["source"] for hit in only["hits"]} == {"memory"}
    assert "Nothing found" in reverie(at, "memory", "search", "zxq blorp 20260503").stdout
    assert reverie(at, "memory", "search", "x", "--since", "soon").returncode == 2
    state = json.loads(reverie(at, "memory", "index", "--json").stdout)
    assert state["embedded"] == state["chunks"] > 0 and state["problem"] == ""
    assert (at / "index" / "chroma" / "chroma.sqlite3").exists()
    assert "notes" in reverie(at, "memory", "index", "--rebuild").stdout


def tool(assistant: Assistant, name: str, **arguments: object) -> str:
    """Let the model call a tool in a turn, and return its result."""
    from assistant.providers.scripted import Scripted

    assistant.provider = Scripted([{"tool_calls": [{"name": name, "arguments": arguments}]}, "ok"])
    turn = ask(assistant.converse(), "look it up")
    return next(m.text for m in turn.messages if m.role == "tool")


def test_the_tools(make_assistant: Make) -> None:
    assistant = make_assistant("x")
    assistant.home.user.write_text("# You\n\n- allergic to walnuts\n")
    assert assistant.store
    add_session(assistant.store, ("the heron nests by the mill", "noted"))
    found = tool(assistant, "memory_search", query="heron")
    assert "the heron nests by the mill" in found and "you, session:" in found
    assert "USER.md:3" in tool(assistant, "memory_search", query="walnuts")
    assert "3: - allergic to walnuts" in tool(assistant, "memory_get", path="USER.md", line=2)
    only = tool(assistant, "memory_search", query="heron", sources=["memory"])
    assert "Nothing found" in only
    assert "no ISO date" in tool(assistant, "memory_search", query="heron", since="soon")
    session = found.split("session:")[1].split(",")[0]
    message = int(found.split("message ")[1].split("]")[0])
    assert "heron" in tool(assistant, "memory_get", path=f"session:{session}", line=message)


@pytest.mark.parametrize(
    "path", ["../outside", "/etc/passwd", ".env", "state.db", "memory/../.env", "a\x00b", "C:\\x"]
)
def test_memory_get_reads_what_is_searched_and_nothing_else(
    make_assistant: Make, path: str
) -> None:
    assistant = make_assistant("x")
    (assistant.home.root / ".env").write_text("SECRET_TOKEN=abcdefgh12345678\n")
    assert "not searched" in tool(assistant, "memory_get", path=path)


def test_the_running_question_is_no_answer_to_itself(make_assistant: Make) -> None:
    assistant = make_assistant("x")
    assert "Nothing found" in tool(assistant, "memory_search", query="look it up")


def test_what_was_undone_or_deleted_is_not_found(make_assistant: Make, tmp_path: Path) -> None:
    assistant = make_assistant("one", "two")
    talk = assistant.converse()
    ask(talk, "the zither is in the attic")
    assert assistant.recall.search("zither").hits
    talk.undo()
    assistant.recall._looked = 0
    assert not assistant.recall.search("zither").hits
    ask(talk, "the harp is in the attic")
    assistant.recall._looked = 0
    assert assistant.recall.search("harp").hits
    assistant.close()
    at = assistant.home.root
    deleted = reverie(at, "sessions", "delete", talk.session.id, "--yes")
    assert deleted.returncode == 0, deleted.stderr
    held = [
        p
        for p in at.rglob("*")
        if p.is_file() and Needle("harp").within(p.read_bytes().decode("utf-8", "ignore"))
    ]
    assert all("memory" in p.parts or ".git" in p.parts for p in held), held  # notes stay
    assert "message" not in reverie(at, "memory", "search", "harp").stdout


def test_forgetting_reaches_the_index(tmp_path: Path) -> None:
    at = tmp_path / "home"
    reverie(at, "-m", "I am allergic to walnuts")
    reverie(at, "memory", "index")
    assert b"walnut" in (at / "index" / "index.db").read_bytes()
    assert reverie(at, "forget", "walnuts", "--yes").returncode == 0
    held = [p.name for p in at.rglob("*") if p.is_file() and b"walnut" in p.read_bytes().lower()]
    assert held == []
    assert "Nothing found" in reverie(at, "memory", "search", "walnuts", "--source", "notes").stdout


# -- what travels with a message ----------------------------------------------------------------


def warm(assistant: Assistant) -> None:
    assistant.recall.catch_up()
    assistant.recall.hybrid.warm()


def test_what_surely_fits_travels_with_the_message_and_not_in_the_prefix(
    make_assistant: Make, clock: Clock
) -> None:
    assistant = make_assistant(*["Then no walnuts."] * 3)
    note = assistant.home.note(clock().date() - timedelta(days=300))
    note.write_text("- I am allergic to walnuts and hazelnuts\n- the ferry leaves at noon\n")
    talk = assistant.converse()
    ask(talk, "am I allergic to walnuts?")
    assert "recalled" not in talk.turns[0].messages[0].context  # the index is cold
    warm(assistant)
    ask(talk, "which nuts am I allergic to?")
    context = talk.turns[1].messages[0].context
    assert "allergic to walnuts and hazelnuts" in context and "data" in context
    assert "ferry" not in context and "walnut" not in talk.session.system_prompt
    ask(talk, "tell me a joke")
    assert "recalled" not in talk.turns[2].messages[0].context


def test_it_can_be_switched_off(make_assistant: Make) -> None:
    assistant = make_assistant("ok", config={"memory": {"recall": False}})
    assistant.home.note(datetime(2026, 2, 1, tzinfo=ZONE).date()).write_text(
        "- allergic to walnuts\n"
    )
    warm(assistant)
    talk = assistant.converse()
    ask(talk, "am I allergic to walnuts?")
    assert "recalled" not in talk.turns[0].messages[0].context


def test_uses_are_counted_once_a_turn_and_spare_an_entry(
    make_assistant: Make, clock: Clock
) -> None:
    assistant = make_assistant("You are allergic to walnuts, so no.", "fine")
    limit = 1375
    old = "allergic to walnuts"
    filler = [f"filler entry number {n} about thing {n * 3}" for n in range(40)]
    assistant.home.user.write_text("".join(f"- {text}\n" for text in [old, *filler]))
    ask(assistant.converse(), "may I eat this cake?")
    assert assistant.hook and assistant.store
    assistant.hook.work_off()
    assert Uses(assistant.store).counts([old, filler[0]]) == {old: 1, filler[0]: 0}
    text = assistant.home.user.read_text()
    assert len(text) <= limit and old in text and filler[0] not in text
    assert "oldest of the unused" in assistant.home.archive.read_text()


def test_repeating_a_count_changes_nothing(make_assistant: Make, clock: Clock) -> None:
    assistant = make_assistant("x")
    assert assistant.store
    uses = Uses(assistant.store)
    for _ in range(2):
        assert uses.note(7, ["likes green tea"], "Green tea it is, as you like it.", clock()) == 1
    assert uses.counts(["likes green tea", "Likes green tea."]) == {
        "likes green tea": 1,
        "Likes green tea.": 1,
    }


def test_a_thousand_notes_do_not_delay_a_message(make_assistant: Make, clock: Clock) -> None:
    import time

    assistant = make_assistant("ok", "ok")
    for n in range(300):
        day = clock().date() - timedelta(days=n)
        assistant.home.note(day).write_text(f"- note {n} about the heron\n- and {n} about tea\n")
    warm(assistant)
    talk = assistant.converse()
    ask(talk, "warm up")
    start = time.perf_counter()
    talk._message("what about the heron?", clock())
    assert time.perf_counter() - start < 1.0


def test_messages_of_other_roles_hold_no_recalled_memories() -> None:
    from assistant.recall import recalled_in

    now = datetime(2026, 12, 1, tzinfo=ZONE)
    said = Message(role="assistant", text="- (x) y", created=now)
    assert recalled_in(said) == []
    brought = Message(
        role="tool", tool_name="memory_search", text="[2026, a] b\n[c] d", created=now
    )
    assert recalled_in(brought) == ["b", "d"]
    assert Turn(id=1, session="s", started=now, messages=(said,)).reply == "- (x) y"
