"""Owns what a night considers: sources that say the same, joined to one candidate."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from dreaming import cues
from dreaming.quality import distilled
from dreaming.sources import Source
from memory.statements import Statement, relation, statement

Vectors = npt.NDArray[np.float32]
Embed = Callable[[Sequence[str]], Vectors]
"""Texts to vectors of length one, a row each."""
_ALIKE = 0.6
"""The share of telling words, of both together, from which two statements are one."""
_ENOUGH, _MOST_OF_IT = 3, 0.8
"""Telling words of the shorter statement, and the share of them in the longer one from which it says nothing
of its own, whoever its grammar makes the subject."""
_NEAR = 0.90
"""The cosine from which two statements that share a telling word are one (e5: unrelated is 0.8)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A statement that may become a memory, as one plain sentence, with every source that says it."""

    text: str
    sources: tuple[Source, ...]

    @property
    def newest(self) -> Source:
        """The source that said it last."""
        return max(self.sources, key=lambda s: (s.day, s.turn))

    @property
    def days(self) -> int:
        """On how many days it was said."""
        return len({source.day for source in self.sources})

    @property
    def kind(self) -> str:
        """The kind that a source names, '' where none does."""
        return next((s.kind for s in reversed(self.sources) if s.kind), "")


def joined(
    fresh: Sequence[Source], earlier: Sequence[Source], embed: Embed | None
) -> list[Candidate]:
    """Return the candidates of a night: the ``fresh`` sources joined where they say the same, each with
    those of the ``earlier`` days that said it before. The last wording stands for all, as it is the one
    that holds; a shorter one of the same day is taken where it says as much."""
    everything = [*earlier, *fresh]
    texts = [distilled(source.text) for source in everything]
    vectors = embed(texts) if embed and texts else None
    groups: list[list[int]] = []
    by_word: dict[str, set[int]] = {}
    for position, text in enumerate(texts):
        words = statement(text).content
        near = sorted(set().union(*(by_word.get(word, set()) for word in words)), reverse=True)
        home = next((g for g in near if _one_of(groups[g], position, texts, vectors)), None)
        if home is None:
            home = len(groups)
            groups.append([])
        groups[home].append(position)
        for word in words:
            by_word.setdefault(word, set()).add(home)
    first_fresh = len(earlier)
    return [
        Candidate(
            text=_wording(group, texts, everything), sources=tuple(everything[p] for p in group)
        )
        for group in groups
        if group[-1] >= first_fresh
    ]


def _one_of(
    group: Sequence[int], position: int, texts: Sequence[str], vectors: Vectors | None
) -> bool:
    for other in group[-3:]:
        cosine = float(vectors[other] @ vectors[position]) if vectors is not None else 0.0
        if says_the_same(texts[other], texts[position], cosine):
            return True
    return False


def says_the_same(old: str, new: str, cosine: float = 0.0) -> bool:
    """Whether two statements say the same: by their telling words, or by these and their meaning.
    Another number, another side, or a word of change makes them two."""
    a, b = statement(old), statement(new)
    if not _comparable(a, b):
        return False
    known = relation(old, new)
    if known != "apart":
        return known == "same"
    if a.numbers != b.numbers or a.polarity != b.polarity:
        return False
    if min(len(a.content), len(b.content)) >= _ENOUGH and contained(a, b) >= _MOST_OF_IT:
        return topic(old) == topic(new)
    if a.subject != b.subject or a.symbols != b.symbols or topic(old) != topic(new):
        return False
    if is_change(old) != is_change(new):
        return False
    shared = alike(a, b)
    return shared >= _ALIKE or (shared > 0 and cosine >= _NEAR)


def alike(a: Statement, b: Statement) -> float:
    """Return which share of the telling words of two statements both have."""
    together = a.content | b.content
    return len(a.content & b.content) / len(together) if together else 0.0


def _comparable(a: Statement, b: Statement) -> bool:
    """Whether two statements have anything to do with each other; it spares the dearer looks."""
    return not a.content.isdisjoint(b.content) or bool(a.slot and a.slot == b.slot)


@lru_cache(maxsize=4096)
def is_change(text: str) -> bool:
    """Whether a statement says that something has become otherwise."""
    return bool(cues.CHANGED.search(text))


def contained(a: Statement, b: Statement) -> float:
    """Return which share of the telling words of the shorter statement the longer one holds."""
    least = min(len(a.content), len(b.content))
    return len(a.content & b.content) / least if least else 0.0


@lru_cache(maxsize=4096)
def topic(text: str) -> str:
    """Return which of the things that a person has one of at a time a statement is about ('home',
    'work' ...), with whom it is about; '' for none."""
    found = next((name for name, cue in cues.ONE_AT_A_TIME if cue.search(text)), "")
    return f"{statement(text).subject}:{found}" if found else ""


def _wording(group: Sequence[int], texts: Sequence[str], sources: Sequence[Source]) -> str:
    last = max(sources[p].day for p in group)
    return min((texts[p] for p in group if sources[p].day == last), key=len)


def replaces(new: str, old: str) -> bool:
    """Whether a statement that was made later takes the place of an older one: it is about the one home
    or work that somebody has, or it says that what the older one is about has become otherwise."""
    a, b = statement(old), statement(new)
    if not _comparable(a, b) and not topic(new):
        return False
    known = relation(old, new)
    if known != "apart":
        return known == "supersedes"
    if a.subject != b.subject:
        return False
    if topic(new) and topic(new) == topic(old):
        return True
    shared = a.content & b.content
    least = min(len(a.content), len(b.content))
    if not is_change(new) or len(shared) < 2 or is_change(old):
        return False
    return len(shared) / least >= 0.5
