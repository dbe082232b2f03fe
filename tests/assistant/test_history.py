"""The home's history: who changed what and why, and taking one change back, also an older one."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from dulwich import porcelain
from hypothesis import given
from hypothesis import strategies as st

from assistant.history import History, UndoConflict
from assistant.home import Home
from assistant.unapply import without
from memory.forgotten import Needle
from tests.conftest import ask
from tests.support.cli import reverie


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = Home(tmp_path / "home")
    home.create()
    return home


@pytest.fixture
def history(home: Home) -> History:
    return History(home.root, home.lock)


def write(history: History, home: Home, text: str, what: str, turn: int = 0) -> str:
    home.user.write_text(text)
    made = history.record(what, [home.user], turn=turn)
    assert made
    return made


def test_changes_name_what_and_why(history: History, home: Home) -> None:
    history.keep_hand_edits()
    write(history, home, "- tea\n", "USER.md: added: tea", turn=77)
    home.memory.write_text("- by hand\n")
    history.keep_hand_edits()
    whats = [change.what for change in history.changes()]
    assert whats == ["Edited by hand: MEMORY.md", "USER.md: added: tea", "The home as it began"]
    assert history.changes()[1].turn == 77
    assert history.of_turn(77)[0].files == ("USER.md",)
    assert history.record("nothing", [home.user]) is None


def test_an_older_change_is_taken_back_and_newer_ones_stay(history: History, home: Home) -> None:
    history.keep_hand_edits()
    first = write(history, home, "# T\n\n- tea\n", "one")
    write(history, home, "# T\n\n- tea\n- jazz\n", "two")
    home.user.write_text("# T\n\n- tea\n- jazz\n- by hand\n")
    history.undo(first)
    text = home.user.read_text()
    assert "tea" not in text and "- jazz\n- by hand\n" in text
    assert home.agents.exists()
    with pytest.raises(UndoConflict, match="undone already"):
        history.undo(first)


def test_undo_without_an_id_takes_the_assistants_last_change(history: History, home: Home) -> None:
    history.keep_hand_edits()
    write(history, home, "- tea\n", "one")
    write(history, home, "- tea\n- jazz\n", "two")
    home.memory.write_text("- mine\n")
    history.keep_hand_edits()
    assert history.undo().what == "two"
    assert history.undo().what == "one"
    assert home.memory.read_text() == "- mine\n"
    with pytest.raises(UndoConflict, match="nothing of the assistant's"):
        history.undo()


def test_an_undo_can_be_undone(history: History, home: Home) -> None:
    history.keep_hand_edits()
    write(history, home, "- tea\n", "one")
    history.undo()
    assert "tea" not in home.user.read_text()
    history.undo(history.changes()[0].id)
    assert "tea" in home.user.read_text()


def test_what_changed_since_is_a_conflict_and_nothing_is_forced(
    history: History, home: Home
) -> None:
    history.keep_hand_edits()
    change = write(history, home, "- tea\n", "one")
    home.user.write_text("- tea with milk\n")
    with pytest.raises(UndoConflict, match="has changed since"):
        history.undo(change)
    assert home.user.read_text() == "- tea with milk\n"


def test_a_removed_entry_comes_back_in_its_place(history: History, home: Home) -> None:
    history.keep_hand_edits()
    write(history, home, "- a\n- b\n- c\n", "one")
    removal = write(history, home, "- a\n- c\n", "two")
    home.user.write_text("- a\n- c\n- d\n")
    history.undo(removal)
    assert home.user.read_text() == "- a\n- b\n- c\n- d\n"


def test_a_repository_of_the_users_own_is_left_alone(home: Home) -> None:
    porcelain.init(str(home.root)).close()
    history = History(home.root, home.lock)
    home.user.write_text("- tea\n")
    assert history.is_foreign
    assert history.record("x", [home.user]) is None
    history.keep_hand_edits()
    assert history.changes() == []
    with pytest.raises(UndoConflict, match="of your own"):
        history.undo()


def test_any_git_reads_it_and_nothing_private_is_in_it(history: History, home: Home) -> None:
    home.env.write_text("KEY=x\n")
    home.database.write_bytes(b"db")
    history.keep_hand_edits()
    write(history, home, "- 茶 🙂\n", "USER.md: added: 茶")
    git = ["git", "-c", "safe.directory=*", "-C", str(home.root)]
    log = subprocess.run([*git, "log", "--format=%s"], capture_output=True, text=True)
    assert log.stdout.splitlines()[0] == "USER.md: added: 茶"
    status = subprocess.run([*git, "status", "--short"], capture_output=True, text=True)
    assert status.stdout == ""
    names = subprocess.run([*git, "ls-files"], capture_output=True, text=True).stdout.split()
    assert ".env" not in names and "state.db" not in names


LINES = st.lists(st.sampled_from([b"a\n", b"b\n", b"c\n", b"d\n", b"e\n"]), unique=True, max_size=5)


@given(LINES, LINES)
def test_taking_back_at_once_gives_the_old_file(before: list[bytes], after: list[bytes]) -> None:
    assert without(before, after, after) == before


def test_why_history_undo_from_the_command_line(tmp_path: Path) -> None:
    at = tmp_path / "home"
    reverie(at, "-m", "remember that I love Chinese food")
    reverie(at, "-m", "I am allergic to nuts")
    why = reverie(at, "memory", "why", "chinese food").stdout
    assert "USER.md: I love Chinese food" in why
    assert "you said" in why and "remember that I love Chinese food" in why
    assert "nuts" in reverie(at, "memory", "why", "nuts").stdout
    assert reverie(at, "memory", "why", "zebra").returncode == 2
    assert "+ I love Chinese food" in reverie(at, "memory", "history", "Chinese").stdout
    assert "allergic" in reverie(at, "memory", "notes").stdout
    assert reverie(at, "memory", "notes", "soon").returncode == 2
    assert "I love Chinese" in reverie(at, "memory", "show", "--json").stdout
    shown = reverie(at, "history").stdout.splitlines()
    change = next(line.split()[0] for line in shown if "Memory: added" in line)
    assert "Undone" in reverie(at, "undo", change).stdout
    assert "Chinese" not in (at / "USER.md").read_text()
    assert reverie(at, "undo", change).returncode == 1


def test_undo_in_the_chat_takes_notes_and_memory_back(tmp_path: Path) -> None:
    at = tmp_path / "home"
    done = reverie(at, stdin="remember that I like jazz\n/undo\n/memory\n/why jazz\n")
    assert "Taken back" in done.stdout and "and its change" in done.stdout
    assert "jazz" not in (at / "USER.md").read_text()
    assert all("jazz" not in path.read_text() for path in (at / "memory").glob("*.md"))


def test_the_hook_commits_what_a_turn_left(make_assistant, home: Home) -> None:  # type: ignore[no-untyped-def]
    assistant = make_assistant("ok")
    turn = ask(assistant.converse(), "I prefer tea to coffee")
    assistant.hook.work_off()
    change = assistant.history.of_turn(turn.id)[0]
    assert change.files == ("memory/2026-11-30.md",)
    assert "I prefer tea" in change.what


def test_hand_edits_are_never_mixed_with_the_assistants_changes(tmp_path: Path) -> None:
    at = tmp_path / "home"
    reverie(at, "-m", "hello")
    (at / "MEMORY.md").write_text("# What I know\n\n- by hand\n")
    reverie(at, "-m", "I prefer tea to coffee")
    (at / "USER.md").write_text("# About you\n\n- also by hand\n")
    assert "Notes: I prefer tea" in reverie(at, "undo").stdout
    assert "- by hand" in (at / "MEMORY.md").read_text()
    assert "- also by hand" in (at / "USER.md").read_text()
    whats = reverie(at, "history").stdout
    assert "Edited by hand: USER.md" in whats


def test_two_memory_calls_of_one_turn_are_one_change_of_the_assistant(make_assistant) -> None:  # type: ignore[no-untyped-def]
    both = [
        {"name": "memory", "arguments": {"action": "add", "target": "user", "text": text}}
        for text in ("I like jazz", "I live in Graz")
    ]
    assistant = make_assistant({"text": "", "tool_calls": both}, "ok")
    ask(assistant.converse(), "remember both")
    assistant.hook.work_off()
    assert [c.what for c in assistant.history.changes()] == [
        "Memory: added: I like jazz; added: I live in Graz",
        "The home as it began",
    ]
    assistant.history.undo()
    assert "jazz" not in assistant.home.user.read_text()


def test_the_beginning_cannot_be_undone(history: History, home: Home) -> None:
    history.keep_hand_edits()
    with pytest.raises(UndoConflict, match="how the home began"):
        history.undo(history.changes()[0].id)
    with pytest.raises(UndoConflict, match="no change"):
        history.undo(history.changes()[0].id[:1])
    assert home.soul.exists()


@pytest.mark.parametrize("step", ["before", "between", "after"])
def test_an_interrupted_rewriting_is_finished(history: History, home: Home, step: str) -> None:
    history.keep_hand_edits()
    write(history, home, "- tea and zebras\n", "one")
    git, new, old = (home.root / name for name in (".git", ".git.new", ".git.old"))
    history.rewrite(Needle("zebras"))
    (git / "rewritten").touch()
    if step == "before":
        new.mkdir()
    elif step == "between":
        git.rename(new)
        old.mkdir()
    else:
        old.mkdir()
    assert history.changes()
    assert git.exists() and not new.exists() and not old.exists()


def test_a_lock_that_a_killed_process_left_is_no_end(history: History, home: Home) -> None:
    history.keep_hand_edits()
    (home.root / ".git" / "objects" / "ab").mkdir(exist_ok=True)
    for name in ("index.lock", "refs/heads/main.lock", "HEAD.lock", "objects/ab/cd.lock"):
        (home.root / ".git" / name).touch()
    assert write(history, home, "- tea\n", "one")
    assert not (home.root / ".git" / "index.lock").exists()


def test_what_was_believed_before_stays_in_the_history(tmp_path: Path) -> None:
    at = tmp_path / "home"
    said = "remember that I love Chinese food\nremember that I hate Chinese food\n"
    done = reverie(at, stdin=said)
    assert "in place of “I love Chinese food”" in done.stdout
    told = reverie(at, "memory", "history", "Chinese food").stdout
    assert "+ I love Chinese food  (USER.md" in told
    assert "- I love Chinese food  (USER.md" in told
    assert "+ I hate Chinese food (since" in told
    assert "I love Chinese food (left USER.md" in (at / "memory" / "archive.md").read_text()
    why = reverie(at, "memory", "why", "hate Chinese").stdout
    assert "“remember that I hate Chinese food”" in why.split("memory/")[0]
