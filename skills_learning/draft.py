"""Owns what is written down of a piece of work: a draft of a skill, or a change of one that covers it.

This is the engine without a model: its steps are the real ones of the trace, its words are plain.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from memory.patterns import Pattern
from memory.tokens import CJK
from skills_learning.general import General
from skills_learning.patch import Patch, add_to_section
from skills_learning.signals import Signal, another_way, way_in
from skills_learning.skill import SECTIONS, Skill, missing_files
from skills_learning.tasks import name_of, task_of
from skills_learning.trace import CHECKS, Step, programs_of

MOST_STEPS = 12
_SETTINGS = Pattern(
    r"(?:\.(?:ya?ml|toml|ini|cfg|conf|json|sh|service|timer|env\.example|sql|tf)|Dockerfile|Makefile)$"
)
"""Files whose content belongs to how it is done; a letter or a page belongs to this time."""
_TELLS = Pattern(
    r"\b(?:passed|ok|success\w*|succeeded|done|complete[d]?|healthy|active|running|200|up to date|created|no errors?|0 errors?|valid|clean|deployed|saved|written|sent)\b|成功|完成|正常|通过",
    re.IGNORECASE,
)
_WORRY = Pattern(
    r"error|fail|fatal|exception|denied|not found|no such|cannot|can't|invalid|missing|refused|warning|unknown|usage:|错误|失败|找不到",
    re.IGNORECASE,
)

_SAY = {
    "en": {
        "when": "- The user asks for this: {task}.",
        "words": "- Or in words such as “{words}”.",
        "fill": "Fill in for each time: {names}.",
        "run": "Run `{what}`.",
        "write": "Write `{what}`.",
        "edit": "Change `{what}`.",
        "read": "Read `{what}`.",
        "fetch": "Fetch `{what}`.",
        "other": "Call `{tool}` with {what}.",
        "failed": "- `{bad}` failed{why}; `{good}` worked.",
        "shows": ": “{line}”",
        "told": "- The user wants it so: {lesson}.",
        "none": "- No step went wrong so far; stop at the first that fails and say what it printed.",
        "check": "- `{what}` ends without an error{line}.",
        "line": ", and prints a line like `{line}`",
        "ends": "- Each step ends without an error; say which one did not.",
        "exists": "- `{what}` is there and not empty.",
    },
    "zh": {
        "when": "- 用户要求：{task}。",
        "words": "- 或者说：“{words}”。",
        "fill": "每次要填写：{names}。",
        "run": "运行 `{what}`。",
        "write": "写入 `{what}`。",
        "edit": "修改 `{what}`。",
        "read": "读取 `{what}`。",
        "fetch": "获取 `{what}`。",
        "other": "调用 `{tool}`，参数：{what}。",
        "failed": "- `{bad}` 失败了{why}；改用 `{good}` 成功。",
        "shows": "：“{line}”",
        "told": "- 用户要求这样做：{lesson}。",
        "none": "- 目前没有出错的步骤；哪一步失败就停下，并说明它的输出。",
        "check": "- `{what}` 没有报错{line}。",
        "line": "，并输出类似 `{line}` 的一行",
        "ends": "- 每一步都没有报错；有出错的就说明是哪一步。",
        "exists": "- `{what}` 存在且不为空。",
    },
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """A piece of work to be written down: what the user asked for, what was done, why it is worth it."""

    said: str
    steps: tuple[Step, ...]
    signals: tuple[Signal, ...]
    turns: tuple[str, ...]
    earlier: tuple[tuple[str, tuple[Step, ...]], ...] = ()
    """Other times of the same kind of task: the user's words and the steps."""
    folder: str = ""
    home: str = ""
    brought: tuple[str, ...] = ()
    """Text that the work brought in from pages: what of it is taken over makes a skill community's."""

    @property
    def lessons(self) -> list[str]:
        """What the user said about how it is to be done: the sentences of it that say so."""
        return [told for signal in self.signals if (told := way_in(signal.lesson))]

    @property
    def language(self) -> str:
        """The language of the user's words."""
        return "zh" if CJK.search(self.said) else "en"

    def general(self) -> General:
        """Return what makes its texts general."""
        general = General(folder=self.folder, home=self.home)
        general.know(self.said, [str(v) for step in self.steps for v in step.arguments.values()])
        times = [_words(steps) for _, steps in self.earlier]
        if times:
            general.vary([*times, _words(self.steps)])
        return general


def _words(steps: Sequence[Step]) -> list[str]:
    text = " ".join(str(v) for step in steps for v in step.arguments.values())
    return re.findall(r"[^\s'\"`|&;()<>=,]+", text)


def draft(work: Work, taken: Collection[str]) -> Skill | None:
    """Return a new skill for the work; None where nothing of it can be said in general."""
    general, say = work.general(), _SAY[work.language]
    task = general.text(task_of(work.said))
    steps = mattered(work.steps)
    if not task or not steps:
        return None
    procedure = [f"{n}. {_told(step, general, say)}" for n, step in enumerate(steps, 1)]
    pitfalls = [say["told"].format(lesson=_clause(general.text(lesson))) for lesson in work.lessons]
    pitfalls += _failures(work.steps, general, say)
    verification = _verification(steps, general, say)
    used = [name for name in general.used if any(f"<{name}>" in row for row in procedure)]
    fill = [say["fill"].format(names=", ".join(f"`<{name}>`" for name in used)), ""] if used else []
    when = [say["when"].format(task=task)]
    others = [general.text(task_of(said)) for said, _ in work.earlier]
    when += [
        say["words"].format(words=text) for text in dict.fromkeys(others) if text and text != task
    ][:3]
    title = task[0].upper() + task[1:]
    parts = zip(
        SECTIONS,
        (when, [*fill, *procedure], pitfalls or [say["none"]], verification),
        strict=True,
    )
    body = f"# {title[:80]}\n\n" + "\n\n".join(
        "\n".join([f"## {name}", "", *rows]) for name, rows in parts
    )
    programs = list(
        dict.fromkeys(p.split()[0] for step in steps for p in programs_of(step.command))
    )
    return Skill(
        name=name_of(task, steps, taken),
        description=_description(task, others, programs, work.language),
        body=body,
        metadata={"reverie": {"version": 1, "origin": list(work.turns), **uses_of(work, body)}},
    )


def commands_of(work: Work) -> frozenset[str]:
    """Return the words of the commands that did the work, without what varies."""
    general = work.general()
    text = " ".join(general.text(step.command) for step in work.steps if step.ok and not step.looks)
    return frozenset(w for w in re.findall(r"[^\s'\"`|&;()]+", text) if len(w) > 1 and "<" not in w)


def uses_of(work: Work, body: str) -> dict[str, list[str]]:
    """Return the files of the project that the work used and the text speaks of, as front matter."""
    done = "\n".join(str(v) for step in work.steps if step.ok for v in step.arguments.values())
    spoken = missing_files(Skill(name="", description="", body=body), ())
    used = [path for path in spoken if path in done]
    return {"uses": used} if used else {}


def mattered(steps: Sequence[Step]) -> list[Step]:
    """Return the steps that made the work, in order: what failed and what was repeated is left out."""
    kept: list[Step] = []
    for at, step in enumerate(steps):
        if not step.ok or any(step.tool == k.tool and step.arguments == k.arguments for k in kept):
            continue
        read = step.tool in ("fetch_url", "read_file")
        if step.peeks and not read and (step.tool != "run_command" or at < len(steps) - 1):
            continue
        kept.append(step)
    while len(kept) > MOST_STEPS and any(step.looks for step in kept):
        kept.remove(next(step for step in kept if step.looks))
    return kept[:MOST_STEPS]


def _told(step: Step, general: General, say: dict[str, str]) -> str:
    def plain(value: object, longest: int = 300) -> str:
        return " ".join(general.text(str(value)).replace("`", "'").split())[:longest]

    given = step.arguments
    if step.command:
        lines = general.text(step.command).strip()
        if "\n" in lines or "`" in lines:
            inner = "\n   ".join(lines.split("\n")[:20])
            return f"{say['run'].format(what=programs_of(step.command)[0] if programs_of(step.command) else 'sh')}\n   ````sh\n   {inner}\n   ````"
        return say["run"].format(what=" ".join(lines.split()))
    if step.tool in ("write_file", "edit_file"):
        told = say["write" if step.tool == "write_file" else "edit"].format(
            what=plain(given.get("path", ""))
        )
        content = general.text(str(given.get("content") or given.get("text") or "")).strip()
        short = 0 < len(content) <= 600 and content.count("\n") < 15 and "````" not in content
        if step.tool == "write_file" and short and _SETTINGS.search(str(given.get("path", ""))):
            inner = "\n   ".join(content.split("\n"))
            return f"{told}\n   ````text\n   {inner}\n   ````"
        return told
    if step.tool == "read_file":
        return say["read"].format(what=plain(given.get("path", "")))
    if step.tool == "fetch_url":
        return say["fetch"].format(what=plain(given.get("url", "")))
    what = ", ".join(f"{key} `{plain(value, 120)}`" for key, value in given.items()) or "{}"
    return say["other"].format(tool=step.tool, what=what)


def _failures(steps: Sequence[Step], general: General, say: dict[str, str]) -> list[str]:
    """Return a line on each step that failed and had another way."""
    rows: list[str] = []
    rest = list(steps)
    while (pair := another_way(rest)) is not None:
        failed, worked = pair
        line = _telling_line(failed.result, _WORRY, general) if failed.tool != "fetch_url" else ""
        why = say["shows"].format(line=line) if line else ""
        rows.append(
            say["failed"].format(bad=_short(failed, general), why=why, good=_short(worked, general))
        )
        rest = [s for s in rest if s is not failed]
    return list(dict.fromkeys(rows))[:4]


def _short(step: Step, general: General) -> str:
    text = (
        step.command
        or f"{step.tool} {step.arguments.get('path') or step.arguments.get('url') or ''}"
    )
    return " ".join(general.text(text).replace("`", "'").split())[:120].strip()


def _telling_line(output: str, wanted: Pattern, general: General) -> str:
    lines = [" ".join(row.split()) for row in output.splitlines()]
    fitting = [
        row
        for row in lines
        if 3 < len(row) <= 140 and wanted.search(row) and not row.startswith("exit code")
    ]
    return (
        general.text(fitting[-1]).replace("`", "'").replace("“", '"').replace("”", '"')
        if fitting
        else ""
    )


def _verification(steps: Sequence[Step], general: General, say: dict[str, str]) -> list[str]:
    """Return how one knows that it worked: the last step that checks, else what was written."""
    rows: list[str] = []
    for step in reversed(steps):
        if step.command and CHECKS.search(step.command):
            line = _telling_line(step.result, _TELLS, general)
            shown = say["line"].format(line=re.sub(r"\d+(?:\.\d+)?", "N", line)) if line else ""
            rows.append(say["check"].format(what=_short(step, general), line=shown))
            break
    written = [step for step in steps if step.tool == "write_file"]
    if not rows and written:
        rows.append(
            say["exists"].format(what=_short(written[-1], general).removeprefix("write_file "))
        )
    return rows or [say["ends"]]


def _description(task: str, others: Sequence[str], programs: Sequence[str], language: str) -> str:
    told = task[0].upper() + task[1:]
    also = next((text for text in others if text and text != task), "")
    with_ = ", ".join(programs[:4])
    if language == "zh":
        text = f"{told}。用户要求做这件事{f'（或“{also}”）' if also else ''}时使用。" + (
            f"用到 {with_}。" if with_ else ""
        )
    else:
        text = f"{told}. Use when the user asks for this{f' or to “{also}”' if also else ''}."
        text += f" Works with {with_}." if with_ else ""
    return text[:1_000]


def _clause(text: str) -> str:
    return " ".join(text.split()).strip(" .!。！")[:240]


def changes(work: Work, text: str) -> tuple[list[Patch], str]:
    """Return what the work adds to a skill's text and why, as spans: lessons of the user, failures with
    their other way, words by which it was asked for. Nothing where the skill says it already."""
    general, say = work.general(), _SAY[work.language]
    rows = [say["told"].format(lesson=_clause(general.text(lesson))) for lesson in work.lessons]
    why = [f"you said: {_clause(general.text(lesson))[:80]}" for lesson in work.lessons]
    failures = _failures(work.steps, general, say)
    rows += failures
    why += [f"another way was found: {row[2:80]}" for row in failures]
    patches = [_more_pitfalls([row for row in rows if row not in text], text)]
    if work.lessons and (better := _better_procedure(work, general, say, text)):
        patches.append(better)
        why.append("its steps are those of the corrected work")
    made = [patch for patch in patches if patch]
    return made, "; ".join(why) if made else ""


def _better_procedure(work: Work, general: General, say: dict[str, str], text: str) -> Patch | None:
    """Return the change that puts the steps of the corrected work in the place of the old ones, where they
    hold nearly all of these: then the correction added or moved some."""
    old = Skill(name="", description="", body=text).section("Procedure")
    rows = [f"{n}. {_told(step, general, say)}" for n, step in enumerate(mattered(work.steps), 1)]
    numbered = re.compile(r"^\d+\.\s+", re.MULTILINE)
    before = [numbered.sub("", row) for row in old.splitlines() if numbered.match(row)]
    after = [numbered.sub("", row) for row in rows]
    kept = [row for row in before if row in after]
    if not before or len(kept) < 0.7 * len(before) or before == after:
        return None
    lead = old[: old.index(next(row for row in old.splitlines() if numbered.match(row)))]
    return Patch(old=old, new=lead + "\n".join(rows))


def _more_pitfalls(rows: Sequence[str], text: str) -> Patch | None:
    if not rows:
        return None
    found = add_to_section(text, "Pitfalls", "\n".join(rows))
    nothing = next((row for row in (_SAY["en"]["none"], _SAY["zh"]["none"]) if row in text), "")
    return Patch(old=nothing, new="\n".join(rows)) if nothing else found
