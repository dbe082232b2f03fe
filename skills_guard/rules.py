"""Owns the rule tables: YAML in, compiled rules out. What a rule is, is written in ``rules/README.md``."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from pathlib import Path
from typing import Any, Literal

from skills_guard.findings import Severity

FOLDER = Path(__file__).parent / "rules"
PROSE = frozenset(("front", "prose", "heading", "list", "table", "quote", "decoded"))
CODE = frozenset(("code", "script", "data", "inline", "decoded"))
HIDDEN = frozenset(("hidden", "decoded"))
_GROUPS = {"prose": PROSE, "code": CODE, "hidden": HIDDEN}
"""All else in a rule's ``in`` names itself: a place, or ``words`` (code that holds a sentence)."""
Scope = Literal["unit", "segment", "near", "file", "skill"]


@dataclass(frozen=True)
class Rule:
    """One row of a table."""

    id: str
    category: str
    severity: Severity
    where: frozenset[str]
    source: str
    why: str
    fix: str
    example: str
    benign: str
    also_sources: tuple[str, ...] = ()
    scope: Scope = "unit"
    unless_source: str = ""
    but_source: str = ""
    hosts: str = ""
    known: Severity = "note"
    hidden: Severity | None = None
    can_be_mention: bool = True
    hints: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    file: str = "SKILL.md"
    view: str = ""

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """What is looked for."""
        return compiled(self.source)

    @cached_property
    def looks_once(self) -> bool:
        """Whether what must stand elsewhere is the same for each hit in a file."""
        return self.scope in ("file", "skill") and not any(
            "<<target>>" in s for s in self.also_sources
        )

    def holds_also(self, match: re.Match[str], scope: str) -> bool:
        """Whether all that must stand within the scope, too, stands there: the correlation.
        ``<<target>>`` is what the pattern's group of that name found."""
        for source in self.also_sources:
            if "<<target>>" in source:
                name = match["target"].rpartition("/")[2] or match["target"]
                source = source.replace("<<target>>", r"(?:[\w./~$-]{0,80}/)?" + re.escape(name))
            if not compiled(source).search(scope):
                return False
        return not (self.but and self.but.search(scope))

    @cached_property
    def but(self) -> re.Pattern[str] | None:
        """What within the scope makes a hit none."""
        return compiled(self.but_source) if self.but_source else None

    @cached_property
    def unless(self) -> re.Pattern[str] | None:
        """What in the unit makes a hit none."""
        return compiled(self.unless_source) if self.unless_source else None


@cache
def lexicon() -> dict[str, str]:
    """Return the named pieces of patterns."""
    return {
        name: " ".join(str(text).split("\n")).strip() for name, text in _load("lexicon").items()
    }


@cache
def hosts(name: str) -> frozenset[str]:
    """Return a list of known hosts."""
    return frozenset(_load("hosts").get(name, ()))


@lru_cache(maxsize=2_000)
def compiled(source: str) -> re.Pattern[str]:
    """Compile a pattern, ``{{names}}`` of the lexicon filled in."""
    for _ in range(4):
        if "{{" not in source:
            break
        source = re.sub(r"\{\{(\w+)\}\}", lambda m: f"(?:{lexicon()[m[1]]})", source)
    return re.compile(source, re.IGNORECASE)


@cache
def all_rules() -> tuple[Rule, ...]:
    """Return the rules of all tables."""
    tables = sorted(path.stem for path in FOLDER.glob("*.yaml"))
    return tuple(
        rule for name in tables if name not in ("lexicon", "hosts") for rule in rules(name)
    )


@cache
def rules(category: str) -> tuple[Rule, ...]:
    """Return the rules of a category, as its table has them."""
    return tuple(_rule(row, category) for row in _load(category))


@cache
def version() -> str:
    """Return what changes with any of the tables: what was scanned with others is scanned again."""
    digest = hashlib.sha256()
    for path in sorted(FOLDER.glob("*.yaml")):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


def _rule(row: dict[str, Any], category: str) -> Rule:
    return Rule(
        id=row["id"],
        category=category,
        severity=row["severity"],
        where=frozenset().union(
            *(_GROUPS.get(name, frozenset((name,))) for name in row.get("in", ["code"]))
        ),
        source="|".join(_listed(row["pattern"])),
        also_sources=tuple(_listed(row.get("also", ()))),
        scope=row.get("scope", "unit"),
        unless_source=row.get("unless", ""),
        but_source=row.get("but", ""),
        hosts=row.get("hosts", ""),
        known=row.get("known", "note"),
        hidden=row.get("hidden"),
        can_be_mention=row.get("mention", True),
        hints=tuple(str(hint).lower() for hint in row.get("hints", ())),
        needs=tuple(str(hint).lower() for hint in row.get("needs", ())),
        file=row.get("file", "SKILL.md"),
        view=row.get("view", ""),
        why=row["why"],
        fix=row["fix"],
        example=row.get("example", ""),
        benign=row.get("benign", ""),
    )


def _listed(value: str | Iterable[str]) -> Iterable[str]:
    return (value,) if isinstance(value, str) else value


def _load(name: str) -> Any:
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    return yaml.load((FOLDER / f"{name}.yaml").read_text(encoding="utf-8"), Loader=loader)  # noqa: S506 - safe
