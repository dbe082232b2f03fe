"""Owns what the guard reports."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Severity = Literal["note", "caution", "dangerous"]


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
