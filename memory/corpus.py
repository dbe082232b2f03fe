"""Owns the chunks of the index as arrays in memory, and BM25 over them.

The formula is that of rank-bm25's ``BM25Okapi`` with the idf of Lucene, log(1 + (n - df + .5) / (df + .5)),
which is positive for every word, also among two notes. Okapi BM25: Robertson and Zaragoza, "The
Probabilistic Relevance Framework: BM25 and Beyond", 2009. A copy in numpy rather than bm25s because the
same postings also score windows of neighbours and whole sessions, and are built ten times as fast.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from memory.index import Index

Floats = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int32]


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """The two constants of BM25: how soon repetition stops to count, how much length does."""

    k1: float
    b: float


_APART = ("memory", "archive", "notes", "skills")
OWN = Shape(k1=0.6, b=0.3)
WIDE = Shape(k1=0.9, b=0.4)


class Corpus:
    """All chunks, in the order of their documents: neighbours stand side by side.

    ``n`` chunks; arrays of that length: ``ids``, ``groups`` (which document, from 0; a bullet is one),
    ``days`` (ordinals, 0 unknown), ``flags``, ``lengths`` (terms), ``speakers`` and ``sources`` (codes into
    lists of names).
    """

    def __init__(self, index: Index) -> None:
        self.generation = index.generation
        rows = index.rows(
            "SELECT c.id, c.document, c.day, c.flags, c.length, c.speaker, d.source, c.terms FROM chunks c"
            " JOIN documents d ON d.id = c.document ORDER BY c.document, c.position"
        )
        self.n = len(rows)
        self.kept: dict[str, Floats] = {}
        """What ranking computed of the corpus alone."""
        columns: list[Sequence[Any]] = list(zip(*rows, strict=True)) if rows else [()] * 8
        ids, documents, days, flags, lengths, speakers, sources, blobs = columns
        self.ids = np.array(ids, np.int64)
        self.days = np.array(days, np.int32)
        dated = self.days[self.days > 0]
        self.first_year = date.fromordinal(int(dated.min())).year if len(dated) else 0
        self.last_year = date.fromordinal(int(dated.max())).year if len(dated) else 0
        self.flags = np.array(flags, np.int8)
        self.lengths = np.array(lengths, np.float32)
        self.speaker_names, self.speakers = _coded(speakers)
        self.source_names, self.sources = _coded(sources)
        # Bullets stand side by side without having to do with each other: each is a document of its own.
        apart = np.isin(np.array(sources), _APART)
        keys = np.where(apart, -self.ids, np.array(documents, np.int64))
        _, groups = np.unique(keys, return_inverse=True)
        self.groups = groups.astype(np.int32)
        self.group_count = int(groups.max()) + 1 if self.n else 0
        self._post(blobs)

    def _post(self, blobs: Sequence[bytes]) -> None:
        """Build the postings: for each term the chunks that hold it, and how often."""
        counts = np.array([len(blob) // 4 for blob in blobs], np.int64)
        words = np.frombuffer(b"".join(blobs), np.int32).astype(np.int64)
        keys = words * max(self.n, 1) + np.repeat(np.arange(self.n), counts)
        keys.sort()
        firsts = (
            np.flatnonzero(np.concatenate(([True], keys[1:] != keys[:-1]))) if len(keys) else keys
        )
        terms, self._chunks = np.divmod(keys[firsts], max(self.n, 1))
        self._often = np.diff(np.append(firsts, len(keys))).astype(np.float32)
        size = int(terms[-1]) + 2 if len(terms) else 1
        self._starts = np.searchsorted(terms, np.arange(size))

    def rows_of(
        self, ids: npt.NDArray[np.int64]
    ) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.int64]]:
        """Return which of some chunk ids are in the corpus, and the rows of those."""
        order = np.argsort(self.ids, kind="stable")
        at = np.minimum(np.searchsorted(self.ids, ids, sorter=order), max(self.n - 1, 0))
        if not self.n:
            return np.zeros(len(ids), bool), np.empty(0, np.int64)
        there = self.ids[order[at]] == ids
        return there, order[at][there]

    # -- neighbours and groups --------------------------------------------------------------

    @cached_property
    def has_before(self) -> Floats:
        """1 where the chunk before belongs to the same document."""
        same = np.zeros(self.n, np.float32)
        same[1:] = self.groups[1:] == self.groups[:-1]
        return same

    @cached_property
    def has_after(self) -> Floats:
        """1 where the chunk behind belongs to the same document."""
        same = np.zeros(self.n, np.float32)
        same[:-1] = self.has_before[1:]
        return same

    @cached_property
    def alone(self) -> npt.NDArray[np.bool_]:
        """Whether a chunk has no neighbour: a bullet, or all that a document holds."""
        alone: npt.NDArray[np.bool_] = (self.has_before + self.has_after) == 0
        return alone

    def before(self, values: Floats) -> Floats:
        """Return for each chunk the value of the one before it in its document, 0 for the first."""
        moved = np.zeros_like(values)
        moved[1:] = values[:-1]
        return moved * self.has_before

    def after(self, values: Floats) -> Floats:
        """Return for each chunk the value of the one behind it in its document, 0 for the last."""
        moved = np.zeros_like(values)
        moved[:-1] = values[1:]
        return moved * self.has_after

    @cached_property
    def _window_lengths(self) -> Floats:
        return self.lengths + self.before(self.lengths) + self.after(self.lengths)

    @cached_property
    def _group_lengths(self) -> Floats:
        return np.bincount(self.groups, self.lengths, self.group_count).astype(np.float32)

    # -- BM25 -------------------------------------------------------------------------------

    def often(self, term_ids: Sequence[int]) -> tuple[npt.NDArray[np.int64], Floats]:
        """Return the chunks that hold one of some terms, which count as one, and how often."""
        spans = [
            (self._starts[t], self._starts[t + 1])
            for t in term_ids
            if 0 <= t < len(self._starts) - 1
        ]
        if len(spans) == 1:
            low, high = spans[0]
            return self._chunks[low:high], self._often[low:high]
        chunks = np.concatenate([self._chunks[a:b] for a, b in spans] or [np.empty(0, np.int64)])
        held = np.concatenate([self._often[a:b] for a, b in spans] or [np.empty(0, np.float32)])
        unique, where = np.unique(chunks, return_inverse=True)
        return unique, np.bincount(where, held, len(unique)).astype(np.float32)

    def scores(self, question: Sequence[Sequence[int]]) -> tuple[Floats, Floats, Floats]:
        """Return for each chunk how much of the question it holds, how much it holds together with its
        neighbours, and how much its document does: shares between 0 and 1 of the highest BM25 score
        that a text could get.

        ``question`` lists the terms, each as ids that count as one; a term without ids is one that no
        chunk holds, and counts as missing.
        """
        own = _Shares(OWN, self.lengths)
        window = _Shares(WIDE, self._window_lengths)
        group = _Shares(WIDE, self._group_lengths)
        for term_ids in question:
            chunks, often = self.often(term_ids)
            own.add(chunks, often)
            window.add(*self._in_windows(chunks, often))
            groups, where = np.unique(self.groups[chunks], return_inverse=True)
            group.add(groups, np.bincount(where, often, len(groups)).astype(np.float32))
        return own.result(), window.result(), group.result()[self.groups]

    def _in_windows(self, chunks: npt.NDArray[np.int64], held: Floats) -> tuple[Any, Floats]:
        """Return the windows (by their middle chunk) that hold a term, and how often."""
        here = [(chunks, held)]
        for step, there in ((1, self.has_after), (-1, self.has_before)):
            inside = there[chunks] > 0
            here.append((chunks[inside] + step, held[inside]))
        middles = np.concatenate([c for c, _ in here])
        unique, where = np.unique(middles, return_inverse=True)
        weights = np.concatenate([h for _, h in here])
        return unique, np.bincount(where, weights, len(unique)).astype(np.float32)

    def by_group(self, values: Floats) -> Floats:
        """Return for each chunk the highest value within its document."""
        best = np.full(self.group_count, -np.inf, np.float32)
        np.maximum.at(best, self.groups, values)
        return best[self.groups]


def _coded(names: Sequence[str]) -> tuple[list[str], Ints]:
    known: dict[str, int] = {}
    codes = [known.setdefault(name, len(known)) for name in names]
    return list(known), np.array(codes, np.int32)


class _Shares:
    """BM25 scores of texts of some lengths, term by term, as shares of what the ideal text would get."""

    def __init__(self, shape: Shape, lengths: Floats) -> None:
        self._shape, self._lengths = shape, lengths
        self._mean = max(float(lengths.mean()), 1e-9) if len(lengths) else 1.0
        self._scores = np.zeros(len(lengths), np.float32)
        self._ideal = 0.0

    def add(self, at: npt.NDArray[Any], often: Floats) -> None:
        """Add a term that the texts ``at`` hold so ``often``."""
        k1, b = self._shape.k1, self._shape.b
        idf = math.log(1 + (len(self._lengths) - len(at) + 0.5) / (len(at) + 0.5))
        self._ideal += idf * (k1 + 1)
        norm = k1 * (1 - b + b * self._lengths[at] / self._mean)
        self._scores[at] += idf * often * (k1 + 1) / (often + norm)

    def result(self) -> Floats:
        """Return the shares, between 0 and 1."""
        return self._scores / np.float32(max(self._ideal, 1e-9))
