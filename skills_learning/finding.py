"""Owns which skill fits: a question or a task compared with what skills say of themselves and hold.

Words (each weighed by how rare it is among the skills) and meaning (given by the caller: the hybrid search
over the home) are joined; either alone can carry a skill.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from memory.terms import question_terms, terms
from skills_learning.records import SKILL_FILE, Entry
from skills_learning.signals import telling

FITS = 0.5
"""The fit from which a skill is named beside a message."""
COVERS = 0.58
"""The likeness from which a skill covers a piece of work."""
_GENERAL = frozenset(
    "use user ask when need want make do get run call file new task skill step thing work way time day one"
    " help please".split()
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fit:
    """A skill and how well it fits, 0 to 1, with the words that both have."""

    entry: Entry
    score: float
    shared: tuple[str, ...] = ()


def fitting(
    text: str, entries: Sequence[Entry], meaning: Mapping[str, float] | None = None, limit: int = 5
) -> list[Fit]:
    """Return the skills that fit ``text``, best first: the share of its telling words that a skill has,
    each weighed by how rare it is among the skills. ``meaning`` is a likeness by name, 0 to 1."""
    wanted = [t for t in question_terms(text[:2_000]) if t not in _GENERAL and not t.isdigit()]
    if not wanted or not entries:
        return []
    rarity = _rarity(entries)
    most = math.log(1 + len(entries)) + 1
    total = sum(rarity.get(t, most) for t in wanted) or 1.0
    found = []
    for entry in entries:
        held = set(entry.record.terms)
        shared = [t for t in wanted if t in held]
        words = sum(rarity[t] for t in shared) / total
        named = telling(entry.name.replace("-", " ")) & set(wanted)
        score = words if len(shared) > 1 or len(wanted) <= 2 else 0.5 * words
        # A message that says more than its task (a greeting, a reason) still names what it is about.
        if named and len(shared) > 1:
            own = telling(entry.name.replace("-", " "))
            score = max(score, 0.9 * len(named) / max(2, len(own)))
        like = (meaning or {}).get(entry.name, 0.0)
        score = max(score, 0.6 * score + 0.4 * like, like if like >= 0.9 else 0.0)
        if score > 0:
            found.append(Fit(entry=entry, score=round(score, 3), shared=tuple(shared[:8])))
    return sorted(found, key=lambda fit: (-fit.score, fit.entry.name))[:limit]


def in_bodies(text: str, entries: Sequence[Entry]) -> list[Fit]:
    """Return the skills whose whole text holds most of what ``text`` asks for, best first; at most half a
    fit each, as a text of many words holds many by chance."""
    wanted = [t for t in question_terms(text[:2_000]) if t not in _GENERAL]
    found = []
    for entry in entries:
        try:
            held = set(
                terms((entry.folder / SKILL_FILE).read_text(encoding="utf-8", errors="replace"))
            )
        except OSError:
            continue
        shared = [t for t in wanted if t in held]
        if wanted and 2 * len(shared) >= len(wanted):
            score = round(0.5 * len(shared) / len(wanted), 3)
            found.append(Fit(entry=entry, score=score, shared=tuple(shared[:8])))
    return sorted(found, key=lambda fit: (-fit.score, fit.entry.name))


def _rarity(entries: Sequence[Entry]) -> dict[str, float]:
    count = Counter(term for entry in entries for term in set(entry.record.terms))
    return {term: math.log(1 + len(entries) / n) + 0.2 for term, n in count.items()}


def covering(
    said: str,
    marks: Collection[str],
    entries: Sequence[Entry],
    text_of: Callable[[Entry], str],
    meaning: Mapping[str, float] | None = None,
) -> list[Fit]:
    """Return the skills that cover a piece of work, best first: what was asked for fits, and what did it
    (``marks``) stands in the skill's text."""
    found = []
    for fit in fitting(said, entries, meaning, limit=20):
        if fit.score < 0.25:
            continue
        text = text_of(fit.entry)
        work = sum(_stands(mark, text) for mark in marks) / len(marks) if marks else 0.0
        score = 0.5 * min(1.0, fit.score * 1.15) + 0.5 * work
        if score >= COVERS:
            found.append(replace(fit, score=round(score, 3)))
    return sorted(found, key=lambda fit: -fit.score)


def _stands(mark: str, text: str) -> bool:
    tool, _, ending = mark.partition(" ")
    wanted = ending if tool in ("write_file", "edit_file") and ending else mark
    return bool(re.search(rf"(?<![\w-]){re.escape(wanted)}(?![\w-])", text))


def same_skill(first: str, second: str) -> float:
    """Return how alike the texts of two skills are, 0 to 1: the share of runs of three words in common."""
    one, two = _shingles(first), _shingles(second)
    smaller = min(len(one), len(two))
    return len(one & two) / smaller if smaller else 0.0


def _shingles(text: str) -> set[str]:
    words = re.findall(r"\w+", text.lower())
    return {" ".join(words[i : i + 3]) for i in range(len(words) - 2)}
