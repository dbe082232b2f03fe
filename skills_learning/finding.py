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
from functools import lru_cache

from memory.terms import question_terms, terms
from skills_learning.records import SKILL_FILE, Entry
from skills_learning.signals import only_asks, telling
from skills_learning.trace import COMMON

FITS_WORDS = 0.5
"""The fit by words alone from which a skill is named beside a message."""
FITS = 0.36
"""The fit by meaning and words from which it is."""
ONLY_ASKS = 0.15
_WORDS_WEIGH = 0.25
_SEPARATES = re.compile(r"[\s'\"`|&;()]+")
COVERS_ASKED, COVERS_WORK = 0.75, 0.5
"""Of a skill that covers a piece of work: how far what was asked for fits, as a share of what fits surely,
and which share of the telling programs stands in its text."""
SAME_WORK = 0.7
"""The share of a work's commands in a skill from which it is the same work, whatever it was called."""
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
    text: str,
    entries: Sequence[Entry],
    meaning: Mapping[str, float] | None = None,
    limit: int = 5,
    examples: Mapping[str, Sequence[str]] | None = None,
) -> list[Fit]:
    """Return the skills that fit ``text``, best first: by the share of its telling words that a skill has,
    each weighed by how rare it is among the skills, and where ``meaning`` gives a likeness by name, by that
    above all. ``examples`` are what the user said when the skill was of use, by name."""
    rarity = _rarity(entries)
    asked = [t for t in question_terms(text[:2_000]) if t not in _GENERAL]
    wanted = [t for t in asked if not t.isdigit() or t in rarity]
    most = math.log(1 + len(entries)) + 1
    total = sum(rarity.get(t, most) for t in wanted) or 1.0
    found = []
    for entry in entries:
        held = set(entry.record.terms).union(*map(_terms, (examples or {}).get(entry.name, ())))
        shared = [t for t in wanted if t in held]
        words = sum(rarity.get(t, most) for t in shared) / total
        if meaning:
            score = meaning.get(entry.name, 0.0) + _WORDS_WEIGH * words
        else:
            score = words if len(shared) > 1 or len(wanted) <= 2 else 0.5 * words
            score = max(score, _named(entry, wanted) if len(shared) > 1 else 0.0)
        if score > 0:
            found.append(Fit(entry=entry, score=round(score, 3), shared=tuple(shared[:8])))
    return sorted(found, key=lambda fit: (-fit.score, fit.entry.name))[:limit]


@lru_cache(maxsize=4_096)
def _terms(text: str) -> frozenset[str]:
    return frozenset(terms(text))


def sure(text: str, found: Sequence[Fit], by_meaning: bool) -> list[Fit]:
    """Return the fits that are worth naming beside a message: good ones, not far behind the best. A question
    for information is no task: it must fit better."""
    least = (FITS if by_meaning else FITS_WORDS) + (ONLY_ASKS if only_asks(text) else 0.0)
    return [fit for fit in found if fit.score >= max(least, 0.75 * found[0].score)]


def _named(entry: Entry, wanted: Sequence[str]) -> float:
    """Return how far a message names a skill: one that says more than its task (a greeting, a reason)
    still says what it is about."""
    own = telling(entry.name.replace("-", " "))
    return 0.9 * len(own & set(wanted)) / max(2, len(own))


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
    commands: Collection[str],
    entries: Sequence[Entry],
    text_of: Callable[[Entry], str],
    meaning: Mapping[str, float] | None = None,
    examples: Mapping[str, Sequence[str]] | None = None,
) -> list[Fit]:
    """Return the skills that cover a piece of work, best first: what was asked for fits and what did it
    (``marks``) stands in the skill's text; or the work is the same, word by word of its ``commands``."""
    fits = {f.entry.name: f for f in fitting(said, entries, meaning, len(entries), examples)}
    found = []
    for entry in entries:
        fit = fits.get(entry.name, Fit(entry=entry, score=0.0))
        text = text_of(entry)
        named = telling_marks(marks)
        work = sum(_stands(mark, text) for mark in named) / len(named) if named else 0.0
        asked = fit.score / FITS if meaning else fit.score * 1.15
        same = same_work(commands, text)
        if (asked >= COVERS_ASKED and work >= COVERS_WORK) or same >= SAME_WORK:
            found.append(
                replace(fit, score=round(max(0.5 * min(1.0, asked) + 0.5 * work, same), 3))
            )
    return sorted(found, key=lambda fit: -fit.score)


def same_work(commands: Collection[str], text: str) -> float:
    """Return which share of the words of a work's commands a skill's text holds, 0 to 1; 0 for few words."""
    flat = f" {re.sub(_SEPARATES, ' ', text)} "
    return sum(f" {c} " in flat for c in commands) / len(commands) if len(commands) >= 4 else 0.0


def telling_marks(marks: Collection[str]) -> list[str]:
    """Return the marks of a work that tell what it is; every work moves files."""
    return [mark for mark in marks if mark.split()[0] not in COMMON]


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
