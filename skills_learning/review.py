"""Owns the monthly look at the skills: which to retire, which to merge. It proposes and changes nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import combinations

from skills_learning.finding import same_skill
from skills_learning.records import Entry
from skills_learning.usage import Tally

UNUSED = timedelta(days=60)
EVERY = timedelta(days=30)
MERGE = 0.5
"""The likeness of two texts from which a merge is proposed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice:
    """One proposal: ``retire`` a skill, or ``merge`` two."""

    action: str
    skills: tuple[str, ...]
    why: str

    def line(self) -> str:
        """Return it in words with the command that does it."""
        first, *rest = self.skills
        if self.action == "retire":
            return f"{first}: {self.why}. To retire it: reverie skills remove {first}"
        keep = f"reverie skills show {first}, reverie skills remove {rest[0]}"
        return f"{first} and {rest[0]}: {self.why}. To keep one: {keep}"


def advice(
    entries: Sequence[Entry],
    tallies: Mapping[str, Tally],
    body_of: Callable[[Entry], str],
    now: datetime,
    scheduled: Sequence[str] = (),
) -> list[Advice]:
    """Return what to do with skills that Reverie wrote: unused for 60 days, nearly the same. Skills of the
    user, pinned ones and those that a schedule needs are never spoken of."""
    ours = [
        e
        for e in entries
        if e.installed
        and e.origin == "learned"
        and not e.edited
        and not e.installed.pinned
        and e.name not in scheduled
    ]
    found = []
    for entry in ours:
        assert entry.installed is not None
        tally = tallies.get(entry.name, Tally())
        last = max(tally.last / 1000, datetime.fromisoformat(entry.installed.when).timestamp())
        idle = timedelta(seconds=now.timestamp() - last)
        if idle > UNUSED:
            found.append(
                Advice(action="retire", skills=(entry.name,), why=f"not used for {idle.days} days")
            )
    texts = {e.name: body_of(e) for e in ours}
    for one, other in combinations(ours, 2):
        alike = same_skill(texts[one.name], texts[other.name])
        if alike >= MERGE:
            pair = sorted((one, other), key=lambda e: -tallies.get(e.name, Tally()).uses)
            found.append(
                Advice(
                    action="merge",
                    skills=tuple(e.name for e in pair),
                    why=f"{alike:.0%} of their text is the same",
                )
            )
    return found
