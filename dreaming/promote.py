"""Owns which candidates become memories, and the memory files with them: pure, nothing is written here."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import Literal

from dreaming import cues
from dreaming.candidates import Candidate, is_change, replaces, says_the_same
from dreaming.score import THRESHOLD, Score, durability_of, lasting_of
from memory.clean import one_line
from memory.entries import MemoryFile
from memory.limits import Leaving, relieve
from memory.statements import at_odds

Target = Literal["user", "memory"]
Outcome = Literal["kept", "changed", "known", "left", "asked", "refused"]
MOST = 10
"""Memories that one night may add or change."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What came of a candidate, and why. ``old`` are the entries whose place it took."""

    candidate: Candidate
    outcome: Outcome
    reason: str
    score: Score | None = None
    target: Target = "user"
    old: tuple[str, ...] = ()
    text: str = ""

    @property
    def total(self) -> float:
        """The score, 0 where none was computed."""
        return self.score.total if self.score else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A memory file and the characters it may have."""

    file: MemoryFile
    limit: int


def decide(
    scored: Sequence[tuple[Candidate, Score]],
    places: Mapping[Target, Place],
    passed_before: Callable[[Candidate], str],
    cosine: Callable[[str, str], float],
    threshold: float = THRESHOLD,
) -> list[Decision]:
    """Return a decision for each candidate, the weightiest first. ``passed_before`` says why one that an
    earlier night took is not taken again, '' where it may be; ``cosine`` compares two texts."""
    known = [entry.text for place in places.values() for entry in place.file.entries]
    ranked = sorted(scored, key=lambda pair: (-pair[1].total, pair[0].newest.day, pair[0].text))
    decisions: list[Decision] = []
    taken: list[Decision] = []
    for candidate, score in ranked:
        decision = _decision(candidate, score, known, ranked, passed_before, cosine, threshold)
        if decision.outcome in ("kept", "changed"):
            twin = next((t for t in taken if _same(t.text, decision.text, cosine)), None)
            if twin:
                decision = replace(
                    decision, outcome="known", reason=f"said with: {_short(twin.text)}"
                )
            elif len(taken) >= MOST:
                decision = replace(
                    decision, outcome="left", reason=f"{MOST} a night; tomorrow again"
                )
            else:
                taken.append(decision)
        decisions.append(decision)
    return decisions


def _decision(
    candidate: Candidate,
    score: Score,
    known: Sequence[str],
    ranked: Sequence[tuple[Candidate, Score]],
    passed_before: Callable[[Candidate], str],
    cosine: Callable[[str, str], float],
    threshold: float,
) -> Decision:
    text = candidate.text

    def no(outcome: Outcome, reason: str) -> Decision:
        return Decision(
            candidate=candidate, outcome=outcome, reason=reason, score=score, text=text,
            target=target_of(candidate),
        )  # fmt: skip

    if why := passed_before(candidate):
        return no("left", why)
    later = next((other for other, _ in ranked if _is_newer(other, candidate)), None)
    if later is not None:
        return no("left", f"no longer holds: {_short(later.text)}")
    if twin := next((entry for entry in known if _same(entry, text, cosine)), None):
        return no("known", f"known: {_short(twin)}")
    if score.total < threshold:
        return no("left", f"{score.total:.2f} is below {threshold:.2f}")
    old = tuple(entry for entry in known if replaces(text, entry))
    if doubtful := next((e for e in known if e not in old and at_odds(e, text)), None):
        if not is_change(text):
            return no("asked", f"may contradict: {_short(doubtful)}")
        old = (*old, doubtful)
    since = f" (since {candidate.newest.day.isoformat()})" if old else ""
    return Decision(
        candidate=candidate,
        outcome="changed" if old else "kept",
        reason=f"takes the place of: {_short(old[0])}" if old else score.lasting or candidate.kind,
        score=score,
        target=target_of(candidate),
        old=old,
        text=text + since,
    )


def _is_newer(other: Candidate, than: Candidate) -> bool:
    """Whether another candidate was said later and takes this one's place."""
    if other is than or (other.newest.day, other.newest.turn) <= (
        than.newest.day,
        than.newest.turn,
    ):
        return False
    return replaces(other.text, than.text)


def _same(old: str, new: str, cosine: Callable[[str, str], float]) -> bool:
    return says_the_same(old, new) or says_the_same(old, new, cosine(old, new))


def _short(text: str) -> str:
    return one_line(text, 60)


def target_of(candidate: Candidate) -> Target:
    """Return which file a candidate belongs to: what is about the user and their people to USER.md, the
    world they work in to MEMORY.md."""
    lasting, _ = lasting_of(candidate)
    if lasting in ("health", "identity", "relation"):
        return "user"
    if lasting == "convention" or cues.ABOUT_WORK.search(candidate.text):
        return "memory"
    return "user" if lasting or cues.ABOUT_USER.search(candidate.text) else "memory"


def applied(
    decisions: Sequence[Decision],
    places: Mapping[Target, Place],
    today: date,
    uses: Callable[[Sequence[str]], Mapping[str, int]],
) -> tuple[dict[Target, MemoryFile], dict[Target, list[Leaving]]]:
    """Return the memory files with what was decided, within their limits, and what left each."""
    files = {target: place.file for target, place in places.items()}
    gone: dict[Target, list[Leaving]] = {target: [] for target in places}
    for decision in decisions:
        if decision.outcome not in ("kept", "changed"):
            continue
        for target in files:
            files[target], left = _without(files[target], decision)
            gone[target] += left
        files[decision.target] = files[decision.target].add(decision.text)
    for target, place in places.items():
        files[target], left = relieve(files[target], place.limit, today, uses=uses, worth=worth)
        gone[target] += left
    return files, gone


def _without(file: MemoryFile, decision: Decision) -> tuple[MemoryFile, list[Leaving]]:
    left = []
    for entry in reversed(file.entries):
        if entry.text in decision.old:
            file = file.remove(entry)
            left.append(
                Leaving(text=entry.text, reason=f"replaced by: {one_line(decision.text, 80)}")
            )
    return file, left


def worth(text: str) -> float:
    """Return how much an entry weighs where room is needed: how durable the kind of fact is, and whether it
    was said outright."""
    return durability_of(text) + (0.1 if cues.STATED.search(text) else 0.0)
