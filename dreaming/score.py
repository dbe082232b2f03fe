"""Owns how much a candidate weighs: six signals, their weights, and the threshold."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date

from dreaming import cues
from dreaming.candidates import Candidate, alike, replaces
from memory.statements import statement

WEIGHTS: Mapping[str, float] = {
    "stated": 0.30,
    "repetition": 0.20,
    "use": 0.15,
    "durability": 0.20,
    "recency": 0.10,
    "surprise": 0.05,
}
THRESHOLD = 0.45
FULL_DAYS = 4
"""Days on which something was said, from which repetition counts in full."""
FULL_USES = 8
HALF_LIFE_DAYS = 14.0
RECENCY_FLOOR = 0.3
_BY_KIND = {"preference": 0.6, "person": 0.6, "lesson": 0.6, "decision": 0.5, "correction": 0.5}
_UNKNOWN = 0.2
"""Durability by the kind that the note names, where its words say nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """The signals of a candidate, 0 to 1 each, and what it is about."""

    signals: Mapping[str, float]
    lasting: str

    @property
    def total(self) -> float:
        """The weighted sum, 0 to 1."""
        return sum(WEIGHTS[name] * value for name, value in self.signals.items())


def score(
    candidate: Candidate,
    known: Sequence[str],
    today: date,
    uses: Callable[[Sequence[str]], Mapping[str, int]],
) -> Score:
    """Return the score of a candidate on the night of ``today``; ``known`` is what memory says."""
    lasting, durability = lasting_of(candidate)
    stated = _stated(candidate, durability)
    for entry in known:
        if replaces(candidate.text, entry):  # what takes its place lasts as long
            durability = max(durability, durability_of(entry))
            stated = 1.0
    texts = [source.text for source in candidate.sources]
    used = max(uses(texts).values(), default=0)
    return Score(
        lasting=lasting,
        signals={
            "stated": stated,
            "repetition": _logged(candidate.days - 1, FULL_DAYS - 1),
            "use": _logged(used, FULL_USES),
            "durability": durability,
            "recency": recency(candidate.newest.day, today),
            "surprise": 1.0 - _said_already(candidate.text, known),
        },
    )


def lasting_of(candidate: Candidate) -> tuple[str, float]:
    """Return what kind of lasting fact a candidate is, and how durable that is, 0 to 1."""
    for name, weight, cue in cues.LASTING:
        if cue.search(candidate.text):
            return name, weight
    return "", _BY_KIND.get(candidate.kind, _UNKNOWN)


def durability_of(text: str) -> float:
    """Return how durable a memory is by its words, 0 to 1."""
    return next((weight for _, weight, cue in cues.LASTING if cue.search(text)), _UNKNOWN)


def _stated(candidate: Candidate, durability: float) -> float:
    """1 where it was said outright as lasting, half for a plain statement of a durable kind."""
    if any(cues.STATED.search(source.text) for source in candidate.sources):
        return 1.0
    return 0.5 if durability >= 0.5 else 0.0


def _logged(count: int, full: int) -> float:
    return min(1.0, math.log1p(max(0, count)) / math.log1p(full))


def recency(said: date, today: date) -> float:
    """Return the weight of age: halved each fortnight, never below the floor."""
    age = max(0, (today - said).days)
    return max(RECENCY_FLOOR, math.pow(0.5, age / HALF_LIFE_DAYS))


def _said_already(text: str, known: Sequence[str]) -> float:
    said = statement(text)
    return max((alike(said, statement(entry)) for entry in known), default=0.0)
