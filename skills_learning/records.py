"""Owns what is known of a skill: where it lies, what was found in it, whose it is, the user's word."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from skills_guard import Refused, Vetted
from skills_guard.policy import Decision, Trust
from skills_learning.skill import Needs

SKILL_FILE = "SKILL.md"
Origin = Literal["learned", "installed", "by hand", "shipped"]


class NoSkill(LookupError):
    """There is no such skill, or more than one; the message names what is near."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A folder of skills. ``label`` says whose it is: ``home``, ``user``, ``project`` or ``extra``."""

    folder: Path
    label: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Abilities:
    """What there is here for skills to use."""

    platform: str
    tools: Collection[str]
    env: Collection[str]
    has_program: Callable[[str], bool]

    def lacking(self, needs: Needs) -> str:
        """Return why a skill with these needs is of no use here, '' when it is."""
        system = {"darwin": "macos", "win32": "windows"}.get(self.platform, self.platform)
        if needs.platforms and not {self.platform, system} & {p.lower() for p in needs.platforms}:
            return f"it is for {', '.join(needs.platforms)}"
        for kind, wanted, has in (
            ("tool", needs.tools, self.tools.__contains__),
            ("program", needs.bins, self.has_program),
            ("variable", needs.env, self.env.__contains__),
        ):
            missing = [name for name in wanted if not has(name)]
            if missing:
                return f"the {kind} {', '.join(missing)} is missing"
        covered = [name for name in needs.fallback_for if name in self.tools]
        return f"{', '.join(covered)} does it better here" if covered else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """What was found about the skill in a folder when it had this ``stamp``."""

    stamp: str
    digest: str
    rules: str
    trust: str
    decision: Decision | Literal["broken"]
    name: str
    description: str
    version: int
    verdict: str
    why: tuple[str, ...]
    problems: tuple[str, ...]
    needs: Needs
    terms: tuple[str, ...]
    phrases: tuple[str, ...]
    """Sentences that say when it is of use, to be compared with what a user says."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Installed:
    """What the lock file knows of a skill of the home: where it comes from, what it was vetted as."""

    origin: Origin
    digest: str
    trust: Trust = "community"
    source: str = ""
    when: str = ""
    turns: tuple[str, ...] = ()
    trial: bool = False
    pinned: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Word:
    """The user's word for exactly these bytes and these findings; ``typed``: the name was typed by hand,
    which alone lifts a block."""

    digest: str
    rules: tuple[str, ...]
    typed: bool = False

    def covers(self, judged: Refused) -> bool:
        """Whether it holds: nothing was found since that the user has not seen."""
        return self.digest == judged.digest and set(serious(judged)) <= set(self.rules)


def serious(judged: Refused | Vetted) -> tuple[str, ...]:
    """Return the rules of all findings that are more than a note."""
    return tuple(sorted({f.rule for f in judged.report.findings if f.severity != "note"}))


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A skill that there is. ``why_not`` is why it is not offered, '' when it is."""

    name: str
    folder: Path
    place: Place
    record: Record
    installed: Installed | None
    why_not: str = ""
    shadowed: tuple[Path, ...] = ()

    @property
    def description(self) -> str:
        """What it says it is for."""
        return self.record.description

    @property
    def origin(self) -> Origin:
        """Where it comes from; without an entry in the lock file a person put it there."""
        if self.installed is None:
            return "shipped" if self.record.trust == "builtin" else "by hand"
        return self.installed.origin

    @property
    def edited(self) -> bool:
        """Whether it differs from what was installed."""
        return self.installed is None or self.installed.digest != self.record.digest


def record_of(row: Mapping[str, Any]) -> Record:
    """Return the record that was kept as JSON."""
    lists = {key: tuple(row[key]) for key in ("why", "problems", "terms", "phrases")}
    needs = Needs(**{key: tuple(value) for key, value in row["needs"].items()})
    return Record(**{**row, **lists, "needs": needs})
