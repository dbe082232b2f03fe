"""May this text become a skill, or enter the prompt? Imports nothing of ours.

``vet(files, trust)`` decides, ``scan(path)`` reports, ``scan_text(text, kind)`` looks at a text.
"""

from __future__ import annotations

from skills_guard.findings import Finding, Report
from skills_guard.policy import Approval, Refused, Vetted, decide, vet
from skills_guard.scanner import neutralise, scan, scan_text

__all__ = [
    "Approval",
    "Finding",
    "Refused",
    "Report",
    "Vetted",
    "decide",
    "neutralise",
    "scan",
    "scan_text",
    "vet",
]
