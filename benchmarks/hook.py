"""The post-turn hook: its CPU a turn without a model, and what it adds to the time to the reply."""

from __future__ import annotations

import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

from assistant.app import Assistant
from assistant.config import Config, Environment
from assistant.events import TextDelta, TurnEnded
from assistant.home import Home
from assistant.providers.scripted import Scripted
from benchmarks.measure import Row, cpu_of, percentile, report, scratch, seconds_of

SAID = (
    "I prefer tea number {n} to coffee",
    "my sister has {n} cats and she is vegetarian",
    "what is the weather?",
    "the exam {n} is tomorrow at 9, remind me",
    "thanks, that was good",
)


def main() -> int:
    """Measure and report."""
    turns = 200
    with scratch() as folder:
        clock = [datetime(2026, 1, 1, 9, tzinfo=UTC)]
        assistant = Assistant(
            Home(Path(folder) / "home"),
            Config(project_context=False),
            Environment({}),
            cwd=Path(folder),
            provider=Scripted(["Noted."] * turns),
            clock=lambda: clock[0],
        )
        assert assistant.hook
        talk = assistant.converse()
        replies, work = [], []
        for number in range(turns):
            clock[0] += timedelta(hours=2)
            text = SAID[number % len(SAID)].format(n=number)
            replies.append(1000 * seconds_of(lambda t=text: _until_reply(talk, t)))
            work.append(1000 * cpu_of(assistant.hook.work_off))
        assistant.close()
    first, rest = work[0], work[1:]
    return report(
        [
            Row("post-turn hook, CPU a turn: p50", percentile(rest, 0.5), 50, "ms"),
            Row("post-turn hook, CPU a turn: p95", percentile(rest, 0.95), 50, "ms"),
            Row("post-turn hook, first turn of a process (imports)", first, 150, "ms"),
            Row(
                "time to the reply with nothing learned yet: p50",
                percentile(replies, 0.5),
                20,
                "ms",
            ),
        ]
    )


def _until_reply(talk: object, text: str) -> None:
    """Run a turn; the hook is not started, so what is measured is the turn alone."""
    for event in talk.ask(text):  # type: ignore[attr-defined]
        if isinstance(event, TextDelta | TurnEnded):
            continue


if __name__ == "__main__":
    sys.exit(main())
