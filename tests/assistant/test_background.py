"""Learning stays within its limits, and a failing model is not free."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from assistant.background import BackgroundModel, OverBudget
from assistant.config import Learning
from assistant.errors import ProviderError
from assistant.providers.scripted import Scripted
from memory.owed import OwedSteps
from memory.sessions import SessionStore

NOW = datetime(2026, 12, 1, 9, tzinfo=UTC)


def model(tmp_path: Path, *replies: Any, **limits: Any) -> tuple[BackgroundModel, OwedSteps]:
    owed = OwedSteps(SessionStore(tmp_path / "state.db"))
    return BackgroundModel(Scripted(replies), owed, Learning(**limits), lambda: NOW), owed


def test_calls_of_a_turn_and_of_a_day(tmp_path: Path) -> None:
    one, owed = model(tmp_path, "a", "b", "c", calls_per_turn=2, calls_per_day=3)
    assert one.complete("notes", "x") == "a"
    assert one.complete("limits", "x") == "b"
    with pytest.raises(OverBudget, match="2 model calls of a turn"):
        one.complete("notes", "x")
    two, _ = model(tmp_path, "d", "e", calls_per_day=3)
    assert two.complete("notes", "x") == "d"
    with pytest.raises(OverBudget, match="3 model calls of a day"):
        two.complete("notes", "x")
    spent = owed.spent(NOW.date())
    assert spent["notes"].usage.calls == 2 and spent["limits"].usage.calls == 1


@pytest.mark.parametrize(
    "limit", ["tokens_per_turn", "tokens_per_day", "seconds_per_turn", "seconds_per_day"]
)
def test_nothing_is_sent_where_a_limit_is_zero(tmp_path: Path, limit: str) -> None:
    one, owed = model(tmp_path, "a", **{limit: 0})
    with pytest.raises(OverBudget):
        one.complete("notes", "x")
    assert owed.spent(NOW.date()) == {}


def test_a_call_that_fails_is_counted(tmp_path: Path) -> None:
    one, owed = model(tmp_path, {"fault": "server"}, calls_per_turn=1)
    with pytest.raises(ProviderError):
        one.complete("notes", "x" * 400)
    assert owed.spent(NOW.date())["notes"].usage.input == 100
    with pytest.raises(OverBudget):
        one.complete("notes", "x")
