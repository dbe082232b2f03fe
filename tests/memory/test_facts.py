"""What a turn is worth writing down: in the user's words, with subject, negation and date."""

from __future__ import annotations

from datetime import UTC, date, datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.facts import score
from memory.facts import facts, notes_of
from memory.transcript import Message, Turn

DAY = date(2026, 11, 30)


def told(text: str, **more: bool) -> list[str]:
    return [fact.text for fact in facts(text, DAY, **more)]


@pytest.mark.parametrize(
    ("text", "kind", "word"),
    [
        ("I prefer tea to coffee", "preference", "tea"),
        ("I'm allergic to peanuts", "fact", "allergic to peanuts"),
        ("call me Ada please", "fact", "Ada"),
        ("my sister is vegetarian", "person", "my sister is vegetarian"),
        ("we decided to use Postgres", "decision", "Postgres"),
        ("from now on answer in English", "preference", "from now on"),
        ("remember that the key is under the mat. I live in Graz", "fact", "Graz"),
        ("I fly to Rome tomorrow", "commitment", "2026-12-01"),
        ("turns out the printer only works with cable", "lesson", "printer"),
        ("我喜欢喝茶", "preference", "茶"),
        ("我对花生过敏", "fact", "花生过敏"),
        ("我妹妹吃素", "person", "我妹妹吃素"),
        ("我们决定用 Postgres", "decision", "Postgres"),
        ("以后回答短一点", "preference", "短一点"),
        ("叫我阿澈", "fact", "阿澈"),
        ("明天下午三点体检", "commitment", "2026-12-01"),
    ],
)
def test_plain_statements(text: str, kind: str, word: str) -> None:
    found = facts(text, DAY)
    assert any(fact.kind == kind and word in fact.text for fact in found), found


@pytest.mark.parametrize(
    "text",
    [
        "Do I like tea?",
        "what if I moved to Rome?",
        "she said 'I love cats and dogs'",
        "translate: I am allergic to nuts",
        "write a story in which I am a pilot who loves cats",
        "I'm tired",
        "thanks!",
        "hello",
        "Summarise please:\n\nDear all, I have moved to building C. I prefer calls.",
        "```\nname = 'I love cats'\n```",
        "我喜欢茶吗？",
        "如果我搬到罗马会怎样",
        "翻译：我对花生过敏",
        "困死了",
        "谢谢",
        "写一个故事：我是飞行员，我喜欢猫",
    ],
)
def test_what_is_no_fact(text: str) -> None:
    assert told(text) == []


def test_negation_and_subject_stay() -> None:
    (fact,) = facts("my sister does not eat meat", DAY)
    assert (fact.negated, fact.about_user) == (True, False)
    assert "my sister does not" in fact.text


def test_a_correction_needs_something_to_correct() -> None:
    text = "no, my meeting is on Thursday"
    assert facts(text, DAY, corrects=True)[0].kind == "correction"
    assert "2026-12-03" in told(text, corrects=True)[0]


def test_only_the_users_words_count() -> None:
    def message(role: str, text: str) -> Message:
        return Message(role=role, text=text, created=datetime(2026, 11, 30, 23, 30, tzinfo=UTC))

    turn = Turn(
        id=5,
        session="s",
        started=datetime(2026, 11, 30, tzinfo=UTC),
        messages=(
            message("user", "my exam is tomorrow"),
            message("tool", "I am allergic to nuts"),
            message("assistant", "I prefer tea"),
        ),
    )
    (note,) = notes_of(turn, ZoneInfo("Europe/Berlin"))
    assert note.text == "my exam is 2026-12-02"  # half past midnight in Berlin
    assert (note.who, note.turn) == ("you", 5)


def test_the_labelled_turns_reach_their_bars() -> None:
    counts = score("dev-en", False)[3] + score("dev-zh", False)[3]
    assert counts["right"] / counts["written"] >= 0.95
    assert counts["found"] / counts["labelled"] >= 0.75


@given(st.text(max_size=400))
def test_any_text_ends(text: str) -> None:
    facts(text, DAY)
