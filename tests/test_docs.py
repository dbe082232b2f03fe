"""The documents say what the code does: commands, options, settings, tools, modules, events."""

from __future__ import annotations

import re
from pathlib import Path

import click
import pytest

from assistant import events
from assistant.cli import reverie
from assistant.config import settings
from assistant.slash import COMMANDS
from skills_guard.rules import all_rules
from skills_guard.structure import CATEGORY, RULES

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"


def commands(group: click.Command, name: str) -> list[tuple[str, click.Command]]:
    found = [(name, group)]
    if isinstance(group, click.Group):
        for key, command in group.commands.items():
            found += commands(command, f"{name} {key}")
    return found


@pytest.mark.parametrize(("name", "command"), commands(reverie, "reverie"))
def test_every_command_and_option_is_documented(name: str, command: click.Command) -> None:
    text = (DOCS / "commands.md").read_text()
    assert f"`{name}`" in text
    for option in command.params:
        if isinstance(option, click.Option):
            assert (
                f"`{max(option.opts, key=len)}`" in text or f"{max(option.opts, key=len)}`" in text
            ), option
    assert command.help


def test_no_command_is_documented_that_is_not_there() -> None:
    known = {name for name, _ in commands(reverie, "reverie")}
    for path in (ROOT / "README.md", *DOCS.glob("*.md")):
        for line in re.findall(r"`(reverie [a-z][^`]*)`", path.read_text()):
            words = line.split()
            name = " ".join(words[:2])
            assert name in known or name.startswith(("reverie -", "reverie ...")), (
                f"{path.name}: {line}"
            )


def test_every_setting_stands_in_the_table() -> None:
    rows = [f"| `{name}` | `{show(default)}` | {text} |" for name, default, text in settings()]
    text = (DOCS / "config.md").read_text()
    listed = [line for line in text.splitlines() if line.startswith("| `")]
    assert listed == rows, "run: python -m tests.test_docs"


def show(default: object) -> str:
    if default is None:
        return "null"
    if isinstance(default, bool):
        return str(default).lower()
    return f"[{', '.join(default)}]" if isinstance(default, tuple) else str(default)


def test_every_tool_is_documented(make_assistant: object) -> None:
    names = make_assistant("x").registry.names  # type: ignore[operator]
    listed = re.findall(r"^\| `(\w+)`", (DOCS / "tools.md").read_text(), re.MULTILINE)
    assert listed == names


def test_slash_commands_and_events_are_documented() -> None:
    text = (DOCS / "commands.md").read_text()
    assert set(re.findall(r"`/(\w+)`", text)) == set(COMMANDS)
    for name in events._NAMES.values():
        assert f"`{name}`" in text


def test_the_module_list_is_complete() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text()
    table = text[text.index("## Modules") : text.index("## Decisions")]
    for package in ("assistant", "memory", "skills_guard", "skills_learning", "dreaming", "cron"):
        for path in (ROOT / package).rglob("*.py"):
            if path.name not in ("__init__.py", "__main__.py") and "commands" not in path.parts:
                assert path.name in table, path


def test_the_guards_rules_stand_in_its_table() -> None:
    text = (DOCS / "skills_guard.md").read_text()
    listed = [line for line in text.splitlines() if line.startswith("| `")]
    assert listed == guard_rules(), "run: python -m tests.test_docs"


def guard_rules() -> list[str]:
    """One row a rule: id, category, severity, why, what to change."""
    rows = [(r.id, r.category, r.severity, r.why, r.fix) for r in all_rules()]
    rows += [(id, CATEGORY, severity, why, fix) for id, (severity, why, fix) in RULES.items()]
    return [
        f"| `{id}` | {category} | {severity} | {why} | {fix} |"
        for id, category, severity, why, fix in rows
    ]


def test_links_lead_somewhere() -> None:
    for path in (ROOT / "README.md", *DOCS.glob("*.md")):
        for target in re.findall(r"\]\(([^)#]+)\)", path.read_text()):
            if "://" not in target:
                assert (path.parent / target).exists(), f"{path.name}: {target}"


if __name__ == "__main__":
    rows = [f"| `{name}` | `{show(default)}` | {text} |" for name, default, text in settings()]
    head = (
        "# Settings\n\n`config.yaml` in the home; every key is optional. An unknown key or a wrong "
        "type is an error\nthat names the line and the nearest valid key. Nested keys are indented:"
        " `budget.model_calls` is\n\n    budget:\n      model_calls: 60\n\nSecrets are no settings: "
        "they live in the environment or in the home's `.env` (mode 0600).\n\n"
        "| key | default | meaning |\n|---|---|---|\n"
    )
    (DOCS / "config.md").write_text(head + "\n".join(rows) + "\n")
    guard = (DOCS / "skills_guard.md").read_text().split("## The rules")[0]
    table = "| rule | category | severity | why | what to change |\n|---|---|---|---|---|\n"
    (DOCS / "skills_guard.md").write_text(
        f"{guard}## The rules\n\n{table}" + "\n".join(guard_rules()) + "\n"
    )
