"""Owns what follows from a scan: the table of trust and verdict, and the way to become ``Vetted``.

Only :func:`vet` makes a :class:`Vetted`; it carries the hash of exactly the bytes that were scanned.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from skills_guard.findings import Report
from skills_guard.rules import version
from skills_guard.scanner import scan_files

Trust = Literal["builtin", "trusted", "agent-created", "community"]
Decision = Literal["allow", "ask", "block"]
TRUSTS: tuple[Trust, ...] = ("builtin", "trusted", "agent-created", "community")
COLUMNS = ("safe", "note", "caution", "dangerous", "unread")
POLICY: dict[Trust, tuple[Decision, ...]] = {
    #                 safe     note     caution  dangerous  not fully read
    "builtin":       ("allow", "allow", "allow", "block", "block"),
    "trusted":       ("allow", "allow", "allow", "block", "ask"),
    "agent-created": ("allow", "allow", "ask", "block", "block"),
    "community":     ("allow", "allow", "ask", "block", "ask"),
}  # fmt: skip
_HARDER: tuple[Decision, ...] = ("allow", "ask", "block")
_MAKER = object()


def decide(report: Report, trust: Trust) -> Decision:
    """Return what the table says; what was not read counts beside what was found."""
    row = POLICY[trust]
    worst = max((f.severity for f in report.findings), key=COLUMNS.index, default="safe")
    found = row[COLUMNS.index(worst)]
    unread: Decision = row[COLUMNS.index("unread")] if report.unread else "allow"
    return max(found, unread, key=_HARDER.index)


def digest(files: Mapping[str, bytes]) -> str:
    """Return the hash of a skill: SHA-256 over each path and content, in the order of the paths."""
    total = hashlib.sha256()
    for name in sorted(files):
        for part in (name.encode("utf-8", "surrogatepass"), files[name]):
            total.update(len(part).to_bytes(8, "big") + part)
    return total.hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class Approval:
    """A user's own word, after reading the report: for the bytes with ``digest`` alone. A block is
    lifted only where ``name`` is the skill's, typed by hand."""

    digest: str
    name: str = ""


class Vetted:
    """Files that may become a skill. Frozen: what was scanned is what is installed."""

    __slots__ = ("digest", "files", "report", "rules", "trust")

    def __init__(
        self, files: Mapping[str, bytes], trust: Trust, report: Report, maker: object
    ) -> None:
        if maker is not _MAKER:
            raise TypeError("Only skills_guard.vet makes a Vetted.")
        for name, value in (
            ("files", MappingProxyType(dict(files))),
            ("trust", trust),
            ("report", report),
            ("digest", digest(files)),
            ("rules", version()),
        ):
            object.__setattr__(self, name, value)

    files: Mapping[str, bytes]
    trust: Trust
    report: Report
    digest: str
    rules: str

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("A Vetted does not change.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """Files that may not become a skill: ``ask`` the user, or ``block``."""

    decision: Decision
    report: Report
    digest: str


def vet(
    files: Mapping[str, bytes],
    trust: Trust,
    *,
    name: str = "",
    approval: Approval | None = None,
    pinned: Collection[str] = (),
) -> Vetted | Refused:
    """Scan the files of a skill and decide. ``files`` are contents by path within the skill, ``name`` is
    what the user must have typed to lift a block, ``pinned`` are the hashes that count as builtin."""
    files = dict(files)
    found = digest(files)
    if trust == "builtin" and found not in pinned:
        trust = "community"
    report = scan_files(files)
    decision = decide(report, trust)
    seen = approval is not None and approval.digest == found
    typed = approval is not None and bool(name) and approval.name == name
    if seen and (decision == "ask" or typed):
        decision = "allow"
    if decision == "allow":
        return Vetted(files, trust, report, _MAKER)
    return Refused(decision=decision, report=report, digest=found)
