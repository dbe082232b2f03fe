"""Owns the scan: text through the rules, each finding with its line."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from skills_guard.findings import Finding, Severity

_LINE_LIMIT = 4_000
_INVISIBLE = re.compile(
    "[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff\U000e0000-\U000e007f]"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One row of a rule table."""

    id: str
    category: str
    severity: Severity
    pattern: re.Pattern[str]
    why: str
    fix: str
    example: str
    benign: str


@cache
def rules(category: str) -> tuple[Rule, ...]:
    """Return the rules of a category, as its table has them."""
    import yaml

    path = Path(__file__).parent / "rules" / f"{category}.yaml"
    return tuple(
        Rule(
            id=row["id"],
            category=category,
            severity=row["severity"],
            pattern=re.compile(row["pattern"], re.IGNORECASE),
            why=row["why"],
            fix=row["fix"],
            example=row["example"],
            benign=row["benign"],
        )
        for row in yaml.safe_load(path.read_text(encoding="utf-8"))
    )


def scan_text(text: str) -> list[Finding]:
    """Return what in ``text`` speaks to the assistant as if it were its user or its maker.

    Works line by line, on the text without invisible characters and compatibility forms; very
    long lines are read in overlapping windows.
    """
    findings = []
    for number, line in enumerate(text.splitlines(), 1):
        plain = _INVISIBLE.sub("", unicodedata.normalize("NFKC", line))
        for rule in rules("prompt_injection"):
            if any(rule.pattern.search(window) for window in _windows(plain)):
                findings.append(
                    Finding(
                        rule=rule.id,
                        category=rule.category,
                        severity=rule.severity,
                        line=number,
                        excerpt=" ".join(line.split())[:120],
                        why=rule.why,
                        fix=rule.fix,
                    )
                )
    return findings


def _windows(line: str) -> list[str]:
    if len(line) <= _LINE_LIMIT:
        return [line]
    step = _LINE_LIMIT // 2
    return [line[start : start + _LINE_LIMIT] for start in range(0, len(line), step)]


def neutralise(text: str) -> tuple[str, list[Finding]]:
    """Return ``text`` with each offending line replaced by a remark, and what was found.

    Only the lines go: one quoted phrase must not cost the user a whole file.
    """
    findings = scan_text(text)
    if not findings:
        return text, []
    lines = text.splitlines(keepends=True)
    for finding in findings:
        end = lines[finding.line - 1][len(lines[finding.line - 1].rstrip("\r\n")) :]
        lines[finding.line - 1] = f"[line left out: it looks like {finding.rule}]{end}"
    return "".join(lines), findings
