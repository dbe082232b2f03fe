"""Owns what the guard reports: findings, the report of a scan, and how bad they are together."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

Severity = Literal["note", "caution", "dangerous"]
Verdict = Literal["safe", "note", "caution", "dangerous"]
ORDER: tuple[Verdict, ...] = ("safe", "note", "caution", "dangerous")
EXIT = {"safe": 0, "note": 0, "caution": 1, "dangerous": 2}


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that was found: by which rule, where (line from 1), and why it matters."""

    rule: str
    category: str
    severity: Severity
    line: int
    excerpt: str
    why: str
    fix: str
    file: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return the finding as JSON values."""
        names = ("rule", "category", "severity", "file", "line", "excerpt", "why", "fix")
        return {name: getattr(self, name) for name in names}


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What a scan found in a skill, and what of it could not be read, each with the reason."""

    findings: tuple[Finding, ...] = ()
    unread: tuple[str, ...] = ()

    @property
    def verdict(self) -> Verdict:
        """The worst finding's severity; at best ``caution`` where something was not read."""
        worst: Verdict = "caution" if self.unread else "safe"
        for finding in self.findings:
            if ORDER.index(finding.severity) > ORDER.index(worst):
                worst = finding.severity
        return worst

    def within(self, folder: str) -> Report:
        """Return the report with the files' names as they are seen from outside of ``folder``."""
        moved = (replace(f, file=f"{folder}/{f.file}" if f.file else folder) for f in self.findings)
        return replace(self, findings=tuple(moved))
