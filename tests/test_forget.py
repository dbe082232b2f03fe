"""Forget means gone: no file, row, index, log or git object holds it, and nothing brings it back."""

from __future__ import annotations

import json
import random
import unicodedata
import zlib
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from assistant.app import Assistant
from assistant.errors import ReverieError
from assistant.forget import forget, holding, look
from assistant.history import History
from memory.facts import notes_of
from memory.forgotten import Needle
from memory.session_search import search
from tests.conftest import Clock, ask
from tests.support.cli import reverie

Make = Callable[..., Assistant]


def test_it_leaves_every_place(tmp_path: Path) -> None:
    at = tmp_path / "home"
    reverie(at, stdin="remember that I am allergic to Brazil nuts\nI also like jazz.\n")
    reverie(at, stdin="what do you know about me?\nwhat did we say about brazil nuts?\n")
    (at / "DREAMS.md").write_text(
        "# Dreams\n\nI dreamt of brazil  nuts and rain.\n\nThen of jazz.\n"
    )
    (at / "outputs" / "x.txt").write_text("BRAZIL NUTS everywhere")
    shown = reverie(at, "forget", "Brazil nuts", "--dry-run").stdout
    for place in ("USER.md:", "memory/20", "DREAMS.md:", "outputs/x.txt", "session ", "history:"):
        assert place in shown, place
    assert list(holding(at, Needle("brazil nuts")))
    assert reverie(at, "forget", "Brazil nuts").returncode == 2
    done = reverie(at, "forget", "Brazil nuts", "--yes")
    assert done.returncode == 0, done.stderr
    assert "Gone" in done.stdout
    assert list(holding(at, Needle("brazil nuts"))) == []
    assert "Then of jazz." in (at / "DREAMS.md").read_text()
    assert "jazz" in reverie(at, "memory", "notes").stdout
    assert "Nothing holds" in reverie(at, "forget", "Brazil nuts", "--yes").stdout
    assert reverie(at, "doctor").returncode == 0
    assert reverie(at, "history").stdout.strip()
    assert reverie(at, "-m", "hello").returncode == 0


def test_chinese_and_too_short(tmp_path: Path) -> None:
    at = tmp_path / "home"
    reverie(at, stdin="记住我对花生过敏。\n我喜欢爵士乐\n")
    assert reverie(at, "forget", "花生过敏", "--yes").returncode == 0
    assert list(holding(at, Needle("花生过敏"))) == []
    assert reverie(at, "forget", "ab", "--yes").returncode == 1


def test_a_step_that_still_holds_it_cannot_write_it_back(
    make_assistant: Make, clock: Clock
) -> None:
    assistant = make_assistant("ok", "ok")
    talk = assistant.converse()
    turn = ask(talk, "I'm allergic to hazelnuts")
    clock.advance(minutes=1)
    stale = assistant.hook._steps[0]
    forget(assistant.home, assistant.store, assistant.history, "hazelnuts", clock())
    assert notes_of(turn, assistant.zone)  # the old copy still says it
    assert stale.run(turn) == "0 notes"
    assert list(holding(assistant.home.root, Needle("hazelnuts"))) == []
    clock.advance(minutes=1)
    again = ask(assistant.converse(), "I'm allergic to hazelnuts")
    assert stale.run(again) == "1 notes"  # said anew, it is remembered anew


def test_forget_that_in_the_chat(make_assistant: Make) -> None:
    asked: list[str] = []

    def approve(tool: str, what: str, why: str) -> bool:
        asked.append(what)
        return True

    from assistant.providers.offline import Offline

    assistant = make_assistant(provider=Offline(), approve=approve)
    talk = assistant.converse()
    ask(talk, "remember that I like marzipan cake")
    turn = ask(talk, "forget that I like marzipan cake")
    assert "no byte" in turn.reply
    assert "USER.md" in asked[0]
    ask(talk, "hello")
    assistant.hook.work_off()
    assert list(holding(assistant.home.root, Needle("I like marzipan"))) == []
    assert "I like marzipan" not in "".join(m.text for m in talk.history)


def test_other_words_stay(make_assistant: Make) -> None:
    assistant = make_assistant("Noted: cedar. The oak is tall.", "ok")
    talk = assistant.converse()
    ask(talk, "I planted a cedar. I planted an oak.")
    forget(assistant.home, assistant.store, assistant.history, "cedar", assistant.now())
    texts = [m.text for m in assistant.store.history(talk.session.id)]
    assert texts == ["[forgotten] I planted an oak.", "[forgotten] The oak is tall."]
    assert search(assistant.store, "oak") and not search(assistant.store, "cedar")
    with pytest.raises(ReverieError):
        look(assistant.home, assistant.store, assistant.history, " ")


def test_random_texts_of_a_home_can_be_forgotten(make_assistant: Make, clock: Clock) -> None:
    random.seed(3)
    words = [f"word{n}x" for n in range(30)]
    facts = [f"I like {random.choice(words)} with {random.choice(words)}" for _ in range(15)]
    assistant = make_assistant(*["ok"] * 15)
    talk = assistant.converse()
    for fact in facts:
        ask(talk, fact)
        clock.advance(days=1)
    assistant.hook.work_off()
    for word in random.sample(words, 6):
        forget(
            assistant.home, assistant.store, assistant.history, word, clock() + timedelta(days=1)
        )
        assert list(holding(assistant.home.root, Needle(word))) == []


def test_a_second_running_chat_forgets_as_well(make_assistant: Make, clock: Clock) -> None:
    first = make_assistant("ok", "You are allergic to Brazil nuts.", "ok")
    talk = first.converse()
    ask(talk, "I'm allergic to Brazil nuts")
    clock.advance(minutes=1)
    second = make_assistant("ok")
    forget(second.home, second.store, second.history, "Brazil nuts", clock())
    clock.advance(minutes=1)
    ask(talk, "what do I eat?")
    sent = first.provider.requests[-1].messages
    assert all("Brazil nuts" not in m.text for m in sent)
    assert any("[forgotten]" in m.text for m in sent)


def test_only_whole_words_go(make_assistant: Make) -> None:
    assistant = make_assistant("ok")
    talk = assistant.converse()
    ask(talk, "Our team met. I like tea. The steam engine runs.")
    assistant.home.memory.write_text("- Our team meets on Monday\n- tea at four\n")
    forget(assistant.home, assistant.store, assistant.history, "tea", assistant.now())
    assert assistant.home.memory.read_text() == "- Our team meets on Monday\n"
    text = assistant.store.history(talk.session.id)[0].text
    assert text == "Our team met. [forgotten] The steam engine runs."


@pytest.mark.parametrize(
    ("stored", "needle"),
    [
        ("the path is C:\\Users\\bob\\diary.txt", "C:\\Users\\bob\\diary.txt"),
        ("it isn’t a zebra", "isn't a zebra"),
        ("我对花生\n过敏", "花生过敏"),
        ("I like zebras", "zebra"),
    ],
)
def test_forms_of_the_same_words(make_assistant: Make, stored: str, needle: str) -> None:
    call = {"name": "todo", "arguments": {"items": [{"text": stored}]}}
    assistant = make_assistant({"text": stored, "tool_calls": [call]}, "ok")
    ask(assistant.converse(), stored)
    found = look(assistant.home, assistant.store, assistant.history, needle)
    assert len(found.traces) >= 3
    forget(assistant.home, assistant.store, assistant.history, needle, assistant.now())
    assert not look(assistant.home, assistant.store, assistant.history, needle).traces


@pytest.mark.parametrize(
    "stored", ["Café Müller", unicodedata.normalize("NFD", "Café Müller"), "ＣＡＦÉ\nmüller"]
)
def test_any_spelling_of_its_letters(tmp_path: Path, stored: str) -> None:
    at = tmp_path / "home"
    reverie(at, "-m", "hello")
    (at / "DREAMS.md").write_text(f"- We met at {stored} in spring.\n- Jazz.\n", encoding="utf-8")
    for asked in ("Café Müller", unicodedata.normalize("NFD", "café müller")):
        assert "DREAMS.md" in reverie(at, "forget", asked, "--dry-run").stdout
    assert reverie(at, "forget", "café müller", "--yes").returncode == 0
    assert (at / "DREAMS.md").read_text(encoding="utf-8") == "- Jazz.\n"


def test_names_of_files_and_folders_in_the_history_too(tmp_path: Path) -> None:
    at = tmp_path / "home"
    reverie(at, "-m", "I like jazz")
    skill = at / "skills" / "call-zora-finch"
    skill.mkdir()
    (skill / "SKILL.md").write_text("Ring twice.\n")
    (at / "skills" / "Zora_Finch.md").write_text("A person.\n")
    reverie(at, "-m", "I also like swing")
    History(at, at / ".lock").keep_hand_edits()
    assert b"Zora" in b"".join(_git_bytes(at))
    shown = reverie(at, "forget", "zora finch", "--dry-run").stdout
    assert "skills/call-zora-finch (its name)" in shown
    assert reverie(at, "forget", "Zora Finch", "--yes").returncode == 0
    left = {p.name for p in (at / "skills").iterdir()} - {"daily-review", "write-skill"}
    assert left == {"forgotten", "forgotten.md"}
    assert (at / "skills" / "forgotten" / "SKILL.md").read_text() == "Ring twice.\n"
    assert b"zora" not in b"".join(_git_bytes(at)).lower()


def _git_bytes(at: Path) -> list[bytes]:
    return [
        zlib.decompress(p.read_bytes()) if "objects" in p.parts else p.read_bytes()
        for p in (at / ".git").rglob("*")
        if p.is_file()
    ]


def test_a_memory_folder_that_is_a_link_and_a_link_in_a_folder(tmp_path: Path) -> None:
    at, elsewhere = tmp_path / "home", tmp_path / "elsewhere"
    reverie(at, "-m", "hello")
    (at / "memory").rename(elsewhere)
    (at / "memory").symlink_to(elsewhere)
    (elsewhere / "2026-01-01.md").write_text("- quiet lagoon\n- jazz\n")
    other = tmp_path / "documents"
    other.mkdir()
    (other / "mine.md").write_text("- quiet lagoon\n")
    (at / "skills" / "docs").symlink_to(other)
    assert reverie(at, "forget", "quiet lagoon", "--yes").returncode == 0
    assert (elsewhere / "2026-01-01.md").read_text() == "- jazz\n"
    assert (other / "mine.md").read_text() == "- quiet lagoon\n"  # not the home's


def test_a_session_goes_with_what_came_from_it_alone(tmp_path: Path) -> None:
    at = tmp_path / "home"
    said = "I am allergic to walnuts\nremember that I like polka dots\nI prefer oolong tea\n"
    reverie(at, stdin=said)
    reverie(at, stdin="I prefer oolong tea\nmy sister lives in Graz\n")
    first = json.loads(reverie(at, "sessions", "list", "--json").stdout)["sessions"][-1]["id"]
    shown = reverie(at, "forget", "--session", first, "--dry-run").stdout
    assert "goes with it: I am allergic to walnuts" in shown
    assert "stays, you said it elsewhere too: I prefer oolong tea" in shown
    assert reverie(at, "forget", "--session", first).returncode == 2
    done = reverie(at, "forget", "--session", first, "--yes")
    assert done.returncode == 0, done.stderr
    for gone in ("walnuts", "polka dots"):
        assert list(holding(at, Needle(gone))) == []
    notes = reverie(at, "memory", "notes").stdout
    assert "oolong" in notes and "Graz" in notes
    why = json.loads(reverie(at, "memory", "why", "oolong", "--json").stdout)["origins"]
    assert why[0]["text"] == "I prefer oolong tea"
    assert reverie(at, "forget").returncode == 2
    assert reverie(at, "forget", "x", "--session", "y").returncode == 2


def said_in(at: Path, session: str) -> list[str]:
    shown = json.loads(reverie(at, "sessions", "show", session, "--json").stdout)
    return [m["text"] for turn in shown["turns"] for m in turn["messages"]]


def test_a_deleted_session_takes_no_word_of_others(tmp_path: Path) -> None:
    at = tmp_path / "home"
    reverie(at, stdin="remember that I like tea\nmy brother Sam likes chess\n")
    reverie(at, stdin="remember that I like tea with oat milk\nI like tea on Sundays, he said\n")
    mine = "- I like tea (a gift from Aunt Vera)\n"
    (at / "MEMORY.md").write_text((at / "MEMORY.md").read_text() + mine + "- I like tea\n")
    sessions = json.loads(reverie(at, "sessions", "list", "--json").stdout)["sessions"]
    first, second = sessions[-1]["id"], sessions[0]["id"]
    before = said_in(at, second)
    done = reverie(at, "forget", "--session", first, "--yes")
    assert done.returncode == 0, done.stderr
    assert said_in(at, second) == before
    user = (at / "USER.md").read_text()
    assert "- I like tea with oat milk" in user and "- I like tea\n" not in user
    kept = (at / "MEMORY.md").read_text()
    assert mine in kept and kept.endswith("- I like tea\n")  # a person wrote these
    assert list(holding(at, Needle("brother Sam"))) == []
    told = [
        change["what"] for change in json.loads(reverie(at, "history", "--json").stdout)["changes"]
    ]
    assert any("tea with oat milk" in what for what in told)
    assert any("deleted" in what for what in told)
    assert not any("Sam" in what for what in told)


def test_an_undone_change_stays_undone_after_a_rewriting(tmp_path: Path) -> None:
    at = tmp_path / "home"
    reverie(at, "-m", "remember that I like plums")
    assert reverie(at, "undo").returncode == 0
    reverie(at, "-m", "remember that I like walnuts")
    assert reverie(at, "forget", "walnuts", "--yes").returncode == 0
    assert "undone already" not in reverie(at, "undo").stderr
    changes = json.loads(reverie(at, "history", "--json").stdout)["changes"]
    assert not [c for c in changes if "plums" in c["what"] and c["what"].startswith("Undo: Undo")]
