"""Long input takes no long time: each pattern of the signals is tried on what once made one quadratic."""

from __future__ import annotations

import time

import pytest

from skills_learning.general import General
from skills_learning.patch import add_to_section
from skills_learning.signals import correction, only_asks, signals
from skills_learning.tasks import task_of
from tests.skills_learning.hostile import BASE
from tests.skills_learning.test_learning import SITE, turn

LONG = (
    "x" * 300_000,
    "a b " * 60_000,
    "吗" * 100_000,
    "? " * 100_000,
    "so that " * 40_000,
    "\n" * 100_000,
    "-" * 200_000,
)


@pytest.mark.parametrize("text", LONG, ids=lambda text: repr(text[:6]))
def test_a_long_message_is_judged_at_once(text: str) -> None:
    start = time.process_time()
    said = turn(text, *SITE)
    signals(said, (said,), (said,))
    only_asks(text)
    correction(said, (said,))
    task_of(text[:4_000])
    general = General()
    general.know(text[:4_000], [text[:20_000]])
    general.text(text[:20_000])
    add_to_section(BASE + text, "Pitfalls", "- x")
    assert time.process_time() - start < 3.0
