"""Each rule fires on its example, is silent on its benign twin, and takes no time on hostile text."""

from __future__ import annotations

import time

import pytest

from skills_guard.findings import ORDER
from skills_guard.policy import decide
from skills_guard.rules import FOLDER, Rule, all_rules, compiled, version
from skills_guard.scanner import scan_files

RULES = all_rules()
HOSTILE = [
    "a" * 30_000,
    "curl " * 6_000,
    "| " * 12_000,
    "\n" * 100_000,
    "ignore all " * 3_000,
    "https://" * 4_000,
    "cat ~/.ssh " * 3_000,
    "base64 -d " * 3_000,
    "do not tell " * 3_000,
    "exec(" * 6_000,
    '"' * 20_000,
    "$(" * 10_000,
    "\\x41" * 6_000,
    "不要告诉" * 6_000,
    "![](https://x.example.com/?" * 1_000,
]


def skill(rule: Rule, text: str) -> dict[str, bytes]:
    """Files that hold a rule's example: Markdown, or a script beside a SKILL.md."""
    if rule.file == "SKILL.md":
        head = "" if text.startswith("---") else "---\nname: x\ndescription: Does a thing.\n---\n"
        return {"SKILL.md": f"{head}{text}\n".encode()}
    return {
        "SKILL.md": b"---\nname: x\ndescription: Does a thing.\n---\n",
        rule.file: text.encode(),
    }


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_example_and_twin(rule: Rule) -> None:
    assert rule.example and rule.benign and rule.why.endswith(".") and rule.fix.endswith(".")
    found = [f for f in scan_files(skill(rule, rule.example)).findings if f.rule == rule.id]
    assert found, "the example does not fire"
    assert found[0].severity == rule.severity and found[0].line > 0 and found[0].excerpt
    twin = scan_files(skill(rule, rule.benign))
    least = ["note"] if rule.severity != "note" else []  # a mention is a note
    assert {f.severity for f in twin.findings if f.rule == rule.id} <= set(least)
    assert decide(twin, "community") == "allow", twin.findings


def test_ids_are_unique_and_each_table_is_read() -> None:
    assert len({rule.id for rule in RULES}) == len(RULES) > 60
    tables = {path.stem for path in FOLDER.glob("*.yaml")} - {"lexicon", "hosts"}
    assert {rule.category for rule in RULES} == tables
    assert version() == version() and len(version()) == 12


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_repetition_is_read_in_no_time(rule: Rule) -> None:
    started = time.thread_time()
    for text in HOSTILE:
        for start in range(0, min(len(text), 12_000), 4_000):
            rule.pattern.search(text[start : start + 4_000])
            if rule.unless:
                rule.unless.search(text[start : start + 4_000])
    assert time.thread_time() - started < 6, "a pattern backtracks"


def test_hostile_skills_end_in_time() -> None:
    for text in HOSTILE:
        started = time.thread_time()
        report = scan_files({"SKILL.md": text.encode()})
        assert time.thread_time() - started < 5
        assert ORDER.index(report.verdict) >= 0


def test_the_lexicon_is_filled_in() -> None:
    assert "{{" not in compiled("{{send}}").pattern
