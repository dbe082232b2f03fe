"""Skills: a scripted week of work, hostile proposals, and five hundred skills installed.

Usage: python -m benchmarks.skills [WEEK.jsonl ...] [--show]. A week (tests/data/weeks, the format is in
its README) is lived through by the real assistant: a scripted model makes the tool calls of each task, small
programs in a PATH of their own print what the data say. At a task it loads the skill that is named first
beside the message, as a good model would, and then does what the data say. exit 1 below a bar.
"""

from __future__ import annotations

import contextlib
import json
import re
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import combinations
from pathlib import Path
from typing import Any

from assistant.app import Assistant
from assistant.config import Config, Environment
from assistant.home import Home
from assistant.providers.base import Delta, Reply, Request
from benchmarks.measure import ROOT, Row, percentile, report, scratch
from memory.notes import short_id
from memory.redact import redact
from memory.transcript import ToolCall, Turn, Usage
from skills_guard import scan
from skills_learning.finding import same_skill
from skills_learning.general import leaks
from skills_learning.records import SKILL_FILE
from skills_learning.skill import SECTIONS, parse
from skills_learning.trace import programs_of, viewed_in

WEEKS = ROOT / "tests" / "data" / "weeks"
WITH_MEANING = "--words" not in sys.argv
_FITTING = re.compile(r"^skills that may fit [^:]*: ([a-z0-9-]+)", re.MULTILINE)


class WeekModel:
    """Plays the model of a week: see the module."""

    name = "scripted:week"

    def __init__(self, stubs: Path) -> None:
        self._stubs = stubs
        self.task: dict[str, Any] = {}
        self._left: list[dict[str, Any]] = []
        self._count = 0

    def begin(self, task: dict[str, Any]) -> None:
        """Take up the next task."""
        self.task, self._left = task, list(task["steps"])
        self._looked = False

    def stream(self, request: Request) -> Iterator[Delta | Reply]:
        """Load the skill that fits, make the next call, or answer."""
        self._count += 1
        asked = [m for m in request.messages if m.role == "user"][-1]
        fits = _FITTING.search(asked.context)
        if fits and not self._looked and self._left:
            self._looked = True
            yield self._call("skill_view", {"name": fits[1]})
        elif self._left:
            step = self._left.pop(0)
            (self._stubs / "out").write_text(step.get("output", ""), encoding="utf-8")
            (self._stubs / "code").write_text(str(step.get("code", 0)))
            yield self._call(step["tool"], step["arguments"])
        else:
            yield Delta(text=self.task["reply"])
            yield Reply(text=self.task["reply"], usage=Usage(calls=1))

    def _call(self, name: str, arguments: dict[str, Any]) -> Reply:
        call = ToolCall(
            id=f"c{self._count}", name=name, arguments=json.dumps(arguments, ensure_ascii=False)
        )
        return Reply(text="", tool_calls=(call,), stop="tool_calls", usage=Usage(calls=1))


@dataclass(slots=True)
class Lived:
    """What came of a week."""

    kinds: set[str] = field(default_factory=set)
    skills: dict[str, str] = field(default_factory=dict)
    """Names of the skills that were learned, with the kind of the task that each is from."""
    texts: dict[str, str] = field(default_factory=dict)
    could: int = 0
    loaded: int = 0
    misses: list[str] = field(default_factory=list)
    strays: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)


def tasks_of(path: Path) -> tuple[list[dict[str, Any]], list[str]]:
    """Return the turns of a week, and the words that may stand in no skill."""
    rows = [
        json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()
    ]
    private = [word for row in rows for word in row.get("private", ())]
    return [row for row in rows if "said" in row], private


def live(path: Path, folder: Path, show: bool = False) -> Lived:
    """Live through a week in ``folder`` and return what came of it."""
    tasks, private = tasks_of(path)
    work, stubs = folder / "work", folder / "stubs"
    work.mkdir(parents=True)
    _make_programs(tasks, stubs)
    model = WeekModel(stubs)
    moment = [datetime(2026, 11, 1, 8, tzinfo=UTC)]
    assistant = Assistant(
        Home(folder / "home"),
        Config(timezone="Europe/Berlin", project_context=False),
        Environment({"PATH": str(stubs / "bin"), "HOME": str(folder)}),
        cwd=work,
        provider=model,
        approve=lambda tool, what, why: True,
        clock=lambda: moment[0],
    )
    # As in a chat, where the embedder is loaded in the background; --words leaves it out.
    if WITH_MEANING:
        assistant.recall.catch_up()
        assistant.recall.hybrid.warm()
    lived = Lived(kinds={t["kind"] for t in tasks if t["kind"]})
    kind_of: dict[str, str] = {}
    talks: dict[str, Any] = {}
    seen: set[tuple[Any, ...]] = set()
    try:
        for task in tasks:
            moment[0] = max(
                moment[0] + timedelta(minutes=9), datetime(2026, 11, task["day"], 8, tzinfo=UTC)
            )
            for name, content in task.get("files", {}).items():
                place = work / name
                if not place.is_absolute() or work in place.parents:
                    place.parent.mkdir(parents=True, exist_ok=True)
                    place.write_text(content, encoding="utf-8")
            for step in task["steps"]:
                for name in re.findall(r">\s*([\w./-]+)", step["arguments"].get("command", "")):
                    if not name.startswith("/"):
                        (work / name).parent.mkdir(parents=True, exist_ok=True)
            turn = _ask(assistant, talks, model, task)
            kind_of[short_id(turn.id)] = task["kind"]
            key = (task["day"], task.get("session"), task["kind"])
            _note_loading(lived, task, turn, lived.skills, bool(key[1]) and key in seen)
            seen.add(key)
            assert assistant.hook is not None
            assistant.hook.work_off()
            _complain(assistant)
            _note_skills(lived, assistant, kind_of)
            if show:
                _show(assistant, task)
        _judge(lived, assistant.home.skills, private)
    finally:
        assistant.close()
    return lived


def _complain(assistant: Assistant) -> None:
    """End the benchmark where a step of the hook failed: that is no figure."""
    assert assistant.store is not None
    for row in assistant.store.query("SELECT step, detail FROM hook_steps WHERE status != 'done'"):
        raise SystemExit(f"the step {row['step']} failed: {row['detail']}")


def _ask(
    assistant: Assistant, talks: dict[str, Any], model: WeekModel, task: dict[str, Any]
) -> Turn:
    model.begin(task)
    key = f"{task['day']}/{task['session']}" if task.get("session") else str(len(talks))
    talk = talks.setdefault(key, assistant.converse())
    *_, ended = talk.ask(task["said"])
    turn: Turn = ended.turn
    return turn


def _note_loading(
    lived: Lived, task: dict[str, Any], turn: Turn, skills: dict[str, str], corrects: bool
) -> None:
    """Note whether the skill was loaded; a turn that corrects the one before is no task of its own."""
    seen = viewed_in(turn)
    if not task["kind"]:
        lived.strays += [f"{task['id']} {task['said'][:50]}: {name}" for name in seen]
    elif task["kind"] in skills.values() and not corrects:
        lived.could += 1
        right = any(skills.get(name) == task["kind"] for name in seen)
        lived.loaded += right
        if not right:
            lived.misses.append(f"{task['id']} {task['said'][:60]}: {seen or 'nothing'}")


def _note_skills(lived: Lived, assistant: Assistant, kind_of: dict[str, str]) -> None:
    for entry in assistant.skills.shelf.entries():
        if entry.origin == "learned" and entry.name not in lived.skills:
            first = next((kind_of[t] for t in entry.installed.turns if kind_of.get(t)), "")  # type: ignore[union-attr]
            lived.skills[entry.name] = first
    live = {e.name for e in assistant.skills.shelf.entries() if e.origin == "learned"}
    for name in set(lived.skills) - live:
        del lived.skills[name]


def _show(assistant: Assistant, task: dict[str, Any]) -> None:
    news = assistant.skills.library.journal.all()
    shown = [f"{h.event} {h.skill}: {h.why}" for h in news[_SHOWN[0] :]]
    _SHOWN[0] = len(news)
    print(f"  {task['id']} {task['kind']:<20} {task['said'][:50]!r}", *shown, sep="\n      ")


_SHOWN = [0]


def _judge(lived: Lived, folder: Path, private: Sequence[str]) -> None:
    """Look at each skill that was written: valid, four sections, safe, nothing that is one person's."""
    from skills_ref import validate

    for name in lived.skills:
        text = (folder / name / SKILL_FILE).read_text(encoding="utf-8")
        lived.texts[name] = text
        skill = parse(text.encode())
        lived.wrong += [f"{name}: {problem}" for problem in validate(folder / name)]
        lived.wrong += [
            f"{name}: {title} is empty" for title in SECTIONS if not skill.section(title)
        ]
        if (verdict := scan(folder / name).verdict) not in ("safe", "note"):
            lived.wrong.append(f"{name}: {verdict}")
        told = f"{skill.name}\n{skill.description}\n{skill.body}"
        lived.wrong += [f"{name}: {leak}" for leak in leaks(told)]
        lived.wrong += [f"{name}: {word}" for word in private if word.lower() in told.lower()]
        if redact(text) != text:
            lived.wrong.append(f"{name}: a secret")


def _make_programs(tasks: Sequence[dict[str, Any]], stubs: Path) -> None:
    """Make a program for each name in the commands: it prints what the step says and ends as it says."""
    programs = stubs / "bin"
    programs.mkdir(parents=True)
    names = set()
    for task in tasks:
        for step in task["steps"]:
            command = step["arguments"].get("command", "")
            names |= {p.split()[0] for p in programs_of(command)}
            names |= set(
                re.findall(r"(?:^|&&|\|\||[;|(])\s*(?:\w+=\S+\s+|sudo\s+)*([\w.+-]+)", command)
            )
    for name in {n for n in names if re.fullmatch(r"[A-Za-z][\w.+-]*", n)} | {
        "python",
        "python3",
        "sudo",
    }:
        script = programs / name
        script.write_text(f'#!/bin/sh\n/bin/cat "{stubs}/out"\nexit "$(/bin/cat "{stubs}/code")"\n')
        script.chmod(0o755)


def week(path: Path, show: bool) -> list[Row]:
    """Measure one week."""
    with scratch() as folder:
        lived = live(path, Path(folder), show)
    name = path.stem
    covered = {kind for kind in lived.skills.values() if kind}
    pairs = [
        (one, other)
        for one, other in combinations(lived.skills, 2)
        if same_skill(lived.texts[one], lived.texts[other]) >= 0.6
        or (lived.skills[one] and lived.skills[one] == lived.skills[other])
    ]
    if show:
        for text in lived.texts.values():
            print(text)
    for title, rows in (
        ("not loaded", lived.misses), ("loaded for no task", lived.strays), ("wrong", lived.wrong),
        ("nearly the same", [" = ".join(pair) for pair in pairs]),
        ("skills", [f"{skill} ({kind or 'of no kind'})" for skill, kind in lived.skills.items()]),
    ):  # fmt: skip
        if rows:
            print(f"{name}, {title}:", *rows, sep="\n  ")
    return [
        Row(f"{name}: skills learned", len(lived.skills), len(lived.kinds), "skills"),
        Row(
            f"{name}: of {len(lived.kinds)} kinds, covered",
            len(covered), 10 / 12 * len(lived.kinds), "kinds", False,
        ),
        Row(f"{name}: near-duplicates", len(pairs), 0, "pairs"),
        Row(
            f"{name}: the skill is loaded at the next task ({lived.could})",
            lived.loaded / max(1, lived.could), 0.9, "share", False,
        ),
        Row(f"{name}: invalid, unsafe, or one person's", len(lived.wrong), 0, "findings"),
    ]  # fmt: skip


def many(count: int = 500) -> list[Row]:
    """Measure a home with five hundred skills."""
    words = "invoice photo backup deploy report video recipe letter branch index cache ticket robot".split()
    with scratch() as folder:
        home = Home(Path(folder) / "home")
        for number in range(count):
            what = f"{words[number % 13]} {words[number * 7 % 11]}"
            place = home.skills / f"skill-{number:03d}-{what.replace(' ', '-')}"
            place.mkdir(parents=True)
            (place / SKILL_FILE).write_text(
                f"---\nname: {place.name}\ndescription: Handle the {what} number {number} of the department. "
                f"Use when the user asks for the {what}.\n---\n\n# {what}\n\n" + "\n\n".join(
                    f"## {title}\n\n- On {what}, item {number}.\n" * 6 for title in SECTIONS
                )
            )  # fmt: skip
        assistant = Assistant(home, Config(), Environment({}), cwd=Path(folder))
        skills = assistant.skills
        while any(e.record.stamp == "" for e in skills.shelf.entries(60.0)):
            pass
        listing, viewing = [], []
        names = [e.name for e in skills.shelf.entries()]
        for _ in range(15):
            start = time.perf_counter()
            skills.shelf.entries()
            listing.append((time.perf_counter() - start) * 1000)
        for name in names[::10]:
            start = time.perf_counter()
            skills.view(name)
            viewing.append((time.perf_counter() - start) * 1000)
        index = skills.index()
        assistant.close()
    return [
        Row(f"{count} skills: index in the prompt", len(index), 4_000, "characters"),
        Row(f"{count} skills: skill_view, p50", percentile(viewing, 0.5), 10, "ms"),
        Row(f"{count} skills: listing, p50", percentile(listing, 0.5), 50, "ms"),
    ]


def main(arguments: Sequence[str]) -> int:
    """Run all and print the table."""
    show = "--show" in arguments
    paths = [Path(a) for a in arguments if not a.startswith("--")] or sorted(WEEKS.glob("*.jsonl"))
    rows = [row for path in paths for row in week(path, show)]
    if not [a for a in arguments if not a.startswith("--")]:
        rows += many()
        from tests.skills_learning.hostile import live_after

        rows.append(Row("hostile proposals: live, or the library broken", live_after(), 0, "of 60"))
    return report(rows)


if __name__ == "__main__":
    with contextlib.suppress(BrokenPipeError):
        sys.exit(main(sys.argv[1:]))
