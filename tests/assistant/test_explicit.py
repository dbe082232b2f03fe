"""What the user asks to remember is stored in that turn; what may contradict itself is asked once."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from assistant.app import Assistant
from assistant.events import Notice
from memory.entries import MemoryFile
from tests.conftest import Clock, ask, events_of

Make = Callable[..., Assistant]


def notices(assistant: Assistant, said: str) -> list[str]:
    return [e.text for e in events_of(assistant.converse(), said) if isinstance(e, Notice)]


@pytest.mark.parametrize(
    ("said", "file", "stored"),
    [
        ("Remember that my locker is number 12.", "USER.md", "My locker is number 12"),
        ("please remember: the staging host is stage.example.com", "MEMORY.md", "The staging host"),
        ("记住我对花生过敏", "USER.md", "我对花生过敏"),
        ("Remember that the exam is tomorrow", "MEMORY.md", "2026-12-01"),
    ],
)
def test_a_model_that_only_says_noted(
    make_assistant: Make, said: str, file: str, stored: str
) -> None:
    assistant = make_assistant("Noted!")
    shown = [n for n in notices(assistant, said) if file in n]
    assert shown and stored in shown[0]
    assert stored in (assistant.home.root / file).read_text()
    assistant.hook.work_off()
    assert len(assistant.history.changes()) == 2  # the beginning, and this turn


@pytest.mark.parametrize(
    "said",
    [
        "remember to buy milk",
        "do you remember that I like tea?",
        "remember when we met?",
        "记得去买牛奶",
        "Translate: remember that I am tall",
        "what do you remember?",
        "remember that",
        "> remember that I am tall\nwhat does this mean?",
        "Note that this code is broken, fix it",
        "Note that f(x) = 2x, compute f(3)",
        "Remember that I like tea. No wait, forget that.",
        "Remember, I told you about the leak last week",
        "记住我喜欢茶。算了",
    ],
)
def test_what_is_no_wish(make_assistant: Make, said: str) -> None:
    assistant = make_assistant("Fine.")
    before = [p.path.read_bytes() for p in assistant.places.values()]
    notices(assistant, said)
    assert [p.path.read_bytes() for p in assistant.places.values()] == before


def test_a_model_that_stores_it_is_not_doubled(make_assistant: Make) -> None:
    call = {
        "name": "memory",
        "arguments": {"action": "add", "target": "user", "text": "Takes tea without milk"},
    }
    assistant = make_assistant({"tool_calls": [call]}, "Noted.")
    notices(assistant, "remember that I take my tea without milk")
    assert len(MemoryFile.read(assistant.home.user).entries) == 1


def test_a_secret_is_not_stored(make_assistant: Make) -> None:
    assistant = make_assistant("Noted.")
    assert any("secret" in n for n in notices(assistant, "remember that my password is hunter2xQ9"))
    assert "hunter2" not in assistant.home.user.read_text()


def test_a_contradiction_is_dated_and_asked_about_once(make_assistant: Make, clock: Clock) -> None:
    from assistant.providers.offline import Offline

    assistant = make_assistant(provider=Offline())
    ask(assistant.converse(), "remember that I love spicy Chinese food")
    assistant.hook.work_off()
    clock.advance(days=3)
    ask(assistant.converse(), "remember that I hate Chinese food")
    texts = [entry.text for entry in MemoryFile.read(assistant.home.user).entries]
    assert texts == ["I love spicy Chinese food", "I hate Chinese food (2026-12-03)"]
    clock.advance(days=1)
    talk = assistant.converse()
    said = [e.text for e in talk.ask("hello") if isinstance(e, Notice)]
    assert any(
        re.search(r"“I love spicy Chinese food” \(\d{4}-\d\d-\d\d\)", n) and "2026-12-03" in n
        for n in said
    ), said
    assert "open question" in talk.turns[0].messages[0].context
    assert not any("contradict" in n for n in notices(assistant, "hello"))


def test_a_job_is_not_asked(make_assistant: Make) -> None:
    assistant = make_assistant("a", "b")
    assistant.home.user.write_text("- my sister lives in Graz\n- my sister lives in Linz\n")
    job = assistant.converse(source="job")
    ask(job, "the news, please")
    assert "contradict" not in job.turns[0].messages[0].context
    chat = assistant.converse()
    ask(chat, "hello")
    assert "contradict" in chat.turns[0].messages[0].context
