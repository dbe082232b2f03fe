"""What a model proposes is written only where the user's words support it."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path

import pytest

from memory.facts_model import NoProposal, parse, proposed, supported
from tests.support.cli import reverie
from tests.support.servers import ModelServer

DAY = date(2026, 11, 30)
ROW = {"kind": "preference", "text": "I prefer tea"}


@pytest.mark.parametrize(
    "answer",
    [
        json.dumps({"notes": [ROW]}),
        json.dumps([ROW]),
        "```json\n" + json.dumps({"entities": [ROW]}) + "\n```",
        "Here you are: " + json.dumps({"notes": [ROW]}) + " I hope it helps.",
        '{"notes": [{"kind": "preference", "text": "I prefer tea",},]}',
        json.dumps(ROW),
    ],
)
def test_answers_of_many_forms(answer: str) -> None:
    assert parse(answer) == [ROW]


@pytest.mark.parametrize("answer", ["", "nothing", '{"notes": [{"kind": "pref', "[1, 2", "{"])
def test_a_cut_off_or_empty_answer_writes_nothing(answer: str) -> None:
    with pytest.raises(NoProposal):
        parse(answer)


def test_code_checks_each_proposal() -> None:
    said = "I prefer tea, and my sister Ines moves to Graz tomorrow. I never eat fish."
    rows = [
        "I prefer tea",
        "The user is a doctor in Vienna",
        "my sister Ines moves to Graz 2026-12-01",
        "my sister Ines moves to Graz 2026-12-24",
        "I pay 500 euros",
        "I never eat fish",
        "I PREFER TEA!",
    ]
    answer = json.dumps({"notes": [{"kind": "fact", "text": row} for row in rows]})
    found = [fact.text for fact in proposed(said, ["I never eat fish"], DAY, lambda _: answer)]
    assert found == ["I prefer tea", "my sister Ines moves to Graz 2026-12-01"]


def test_a_negation_must_be_the_users() -> None:
    assert not supported("does not like tea", "I like tea", DAY)
    assert supported("does not like tea", "I don't like tea", DAY)


def test_the_whole_way_with_costs_and_fallback(tmp_path: Path) -> None:
    at = tmp_path / "home"
    at.mkdir(mode=0o700)
    notes = json.dumps(
        {"notes": [{"kind": "preference", "text": "prefers oolong tea in the evening"}]}
    )
    said = "in the evening it is oolong tea that I prefer"
    with ModelServer(["Fine.", notes, "Fine.", "{half", "Fine."]) as server:
        (at / "config.yaml").write_text(
            f"model: openai:m\nbase_url: {server.origin}/v1\nlearning:\n  with_model: true\n"
        )
        reverie(at, "-m", said)
        reverie(at, "-m", "I am allergic to nuts")
        used = json.loads(reverie(at, "usage", "--json").stdout)["sources"]
        assert used["notes"]["calls"] == 2 and used["chat"]["calls"] == 2
        shown = reverie(at, "memory", "notes").stdout
        assert "prefers oolong tea in the evening" in shown
        assert "allergic to nuts" in shown  # the second answer was cut off: the rules took over
        (at / "config.yaml").write_text(
            f"model: openai:m\nbase_url: {server.origin}/v1\nlearning:\n  with_model: true\n"
            "  tokens_per_day: 0\n"
        )
        before = len(server.requests)
        reverie(at, "-m", "I like jazz")
        assert len(server.requests) == before + 1
