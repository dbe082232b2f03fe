"""A long conversation replayed turn by turn through the public door, then asked about.

Usage: python -m benchmarks.replay FILE [--conversation N]; FILE is the LoCoMo data beside the
project (shared/bench/locomo/data), which is for measuring only and never part of the product.
"""

from __future__ import annotations

import argparse
import json
import sys
from datetime import datetime, timedelta
from pathlib import Path

from assistant.app import Assistant
from assistant.config import Config, Environment
from assistant.events import TurnEnded
from assistant.home import Home
from benchmarks.measure import scratch, seconds_of

DEFAULT = Path(__file__).parents[2] / "shared/bench/locomo/data/locomo10_retrieval.json"


def main() -> int:
    """Replay, ask, and report; this one has no bar."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", nargs="?", type=Path, default=DEFAULT)
    parser.add_argument("--conversation", type=int, default=0)
    chosen = parser.parse_args()
    if not chosen.file.exists():
        print(f"{chosen.file} is not here; nothing is measured.")
        return 0
    data = json.loads(chosen.file.read_text())["conversations"][chosen.conversation]
    with scratch() as folder:
        clock = [datetime.fromisoformat("2023-01-01T00:00:00+00:00")]
        assistant = Assistant(
            Home(Path(folder) / "home"),
            Config(project_context=False),
            Environment({}),
            cwd=Path(folder),
            clock=lambda: clock[0],
        )
        seconds = seconds_of(lambda: _replay(assistant, data["docs"], clock))
        answered, asked = _ask(assistant, data)
        stored = assistant.store.query("SELECT count(*) FROM turns")[0][0] if assistant.store else 0
        assistant.close()
    print(f"{len(data['docs'])} turns replayed in {seconds:.1f} s; {stored} turns in the archive")
    print(f"{answered} of {asked} questions answered with a turn that holds the evidence (offline)")
    return 0


def _replay(assistant: Assistant, turns: list[dict[str, str]], clock: list[datetime]) -> None:
    session, talk = None, assistant.converse()
    for turn in turns:
        clock[0] = max(
            clock[0] + timedelta(minutes=1), datetime.fromisoformat(turn["date"] + "+00:00")
        )
        if turn["session"] != session:
            session, talk = turn["session"], assistant.converse()
        for _ in talk.ask(turn["text"]):
            pass
    if assistant.hook:
        assistant.hook.work_off()


def _ask(assistant: Assistant, data: dict[str, list[dict[str, object]]]) -> tuple[int, int]:
    texts = {str(turn["id"]): str(turn["text"]) for turn in data["docs"]}
    answered = asked = 0
    talk = assistant.converse()
    for question in data["questions"]:
        if question["category"] == 5:
            continue
        asked += 1
        for event in talk.ask(str(question["question"])):
            if isinstance(event, TurnEnded):
                gold = question["gold"]
                assert isinstance(gold, list)
                answered += any(texts[i][:40] in event.turn.reply for i in gold if i in texts)
    return answered, asked


if __name__ == "__main__":
    sys.exit(main())
