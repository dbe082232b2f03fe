"""Owns ``memory_search``: a question in, the chunks that answer it out, best first."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from typing import Any

import numpy as np

from memory import ranking, terms
from memory.corpus import Corpus, Floats
from memory.embedders import Embedder, EmbedderMissing
from memory.entries import same_key
from memory.index import Index
from memory.nearness import Nearness
from memory.statements import relation, statement
from memory.tokens import CJK, CJK_RANGE, parse_query
from memory.vectors import (
    EXACT_UP_TO,
    ChromaMissing,
    ChromaVectors,
    ExactVectors,
    Found,
    state_of,
)

log = logging.getLogger(__name__)
WORDS_FLOOR = 0.25
"""The share of a question's words that is an answer by itself."""
SCORE_FLOOR, STRANGE_FLOOR, CHINESE_FLOOR = 6.0, 6.7, 3.7
"""With vectors, the score from which a chunk answers; the second where no word of the question stands
anywhere: nonsense then scores 6.6 at most. Chinese has its own: its cosines lie closer together, and 4 is
where the right answers to paraphrases begin, less what the arithmetic of processors differs by (nonsense
reaches 5.8 there and is not told apart)."""
OWN_FLOOR = 2.0
"""What a message or section must have by itself: that its conversation is the right one is no answer."""
CHARACTERS_FLOOR = 0.1
_NUMBER = re.compile(r"[\W\d_]*\d{3}[\W\d_]*|\S*[A-Za-z]\S*\d{3}\S*")
_FEW = 3
_SHORT = 400
"""Characters up to which a text is compared as a statement; a longer one only letter by letter."""
LONGEST_QUESTION = 2_000
"""Characters of a question that count: a page that was pasted asks with its beginning."""
SNIPPET = 400
"""Characters of a snippet: a note's bullet whole."""
_PIECE = re.compile(f"[{CJK_RANGE}]{{1,2}}|[^\\s{CJK_RANGE}]+")
_CANDIDATES = 4
"""How many times the wanted hits are looked at, so that near-duplicates can collapse."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """A chunk that answers; ``score`` compares within one search. ``why`` has each signal's share."""

    id: int
    path: str
    source: str
    first: int
    last: int
    day: date | None
    kind: str
    speaker: str
    trust: str
    title: str
    text: str
    snippet: str
    score: float
    likes: int = 0
    """Near-duplicates that this hit stands for."""
    why: dict[str, float] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return the hit as JSON values."""
        return {
            "path": self.path,
            "lines": [self.first, self.last],
            "source": self.source,
            "date": self.day.isoformat() if self.day else None,
            "kind": self.kind,
            "speaker": self.speaker,
            "trust": self.trust,
            "score": round(self.score, 3),
            "snippet": self.snippet,
            "near_duplicates": self.likes,
            **({"why": {k: round(v, 3) for k, v in self.why.items()}} if self.why else {}),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """Which chunks may be found."""

    sources: tuple[str, ...] = ()
    since: date | None = None
    until: date | None = None
    people: tuple[str, ...] = ()
    without: frozenset[int] = frozenset()
    """Messages left out, such as those of the running turn."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What a search returns: hits, and what the user should know about them."""

    hits: tuple[Hit, ...]
    notices: tuple[str, ...] = ()
    stale: bool = False
    """Whether files or conversations have changed since they were indexed."""


class HybridSearch:
    """Search over an index. Keyword search works alone; meaning joins where vectors are there."""

    def __init__(
        self, index: Index, embedder: Callable[[], Embedder | None], today: Callable[[], date]
    ) -> None:
        self.index = index
        self._load = embedder
        self._today = today
        self._corpus: Corpus | None = None
        self._exact: ExactVectors | None = None
        self._embedder: Embedder | None = None
        self._nearness: Nearness | None = None
        self._tried = False
        self._asked: dict[str, list[float]] = {}
        self.problem = ""
        """Why meaning does not take part, '' while it does."""
        self.chroma: ChromaVectors | None = None
        """Set by whoever keeps Chroma in step with the index."""
        self.exact_up_to = EXACT_UP_TO

    @property
    def is_warm(self) -> bool:
        """Whether corpus and embedder are loaded, so that a search takes milliseconds."""
        return self._corpus is not None and self._tried

    def warm(self) -> None:
        """Load what a search needs."""
        self._fresh()
        self._warm_embedder()

    def corpus(self) -> Corpus:
        """Return the chunks as they are now."""
        return self._fresh()

    def search(
        self,
        question: str,
        among: Filter | None = None,
        limit: int = 8,
        *,
        floor: bool = True,
        explain: bool = False,
    ) -> Result:
        """Return the chunks that answer ``question`` best, at most ``limit``.

        With ``floor`` off even what hardly answers is returned. Raises ``StorageError``.
        """
        corpus = self._fresh()
        question = question[:LONGEST_QUESTION]
        if not corpus.n or not question.strip():
            return Result(hits=())
        among = among or Filter()
        wanted = self._question(corpus, question, among)
        if not wanted.terms:
            return Result(hits=tuple(self._holding(question, among, limit)))
        rows = ranking.signals(corpus, wanted)
        total = ranking.scores(rows, corpus.n)
        out = ~self._allowed(corpus, among)
        if floor:
            out |= ~_answers(rows, total, wanted, corpus.alone)
        total[out] = -np.inf
        hits = self._hits(corpus, question, total, rows if explain else {}, limit)
        return Result(hits=tuple(hits), notices=(self.problem,) if self.problem else ())

    def signals(self, question: str) -> dict[str, Floats]:
        """Return what ranking sees of a question, for every chunk: for measuring and learning."""
        corpus = self._fresh()
        return ranking.signals(corpus, self._question(corpus, question, Filter()))

    # -- loading ----------------------------------------------------------------------------

    def _fresh(self) -> Corpus:
        if self._corpus is None or self._corpus.generation != self.index.generation:
            self._corpus = Corpus(self.index)
            self._exact = None
        return self._corpus

    def _warm_embedder(self) -> Embedder | None:
        if self._tried:
            return self._embedder
        try:
            embedder = self._load()
            if embedder is not None:
                self._nearness = Nearness(embedder, self.index)
        except EmbedderMissing as error:
            self._tried, self.problem = True, f"by keywords alone: {error}"
            return None
        except Exception as error:  # a server that is down now may answer the next question
            log.warning("the embedder cannot be used: %s", error, exc_info=True)
            self.problem = f"by keywords alone: {error}"
            return None
        self._tried, self._embedder = True, embedder
        self.problem = "" if embedder else "no embedder: these are keyword results"
        return embedder

    def _nearest(self, corpus: Corpus, question: str) -> Found | None:
        """Return rows and how near they are; None where words must do."""
        embedder, meant = self._warm_embedder(), essence(question)
        if embedder is None or not meant:
            return None
        try:
            vector = self._asked.get(meant) or embedder.embed_query(meant)
        except Exception as error:  # a server that is down now may answer the next question
            log.warning("the question cannot be embedded: %s", error, exc_info=True)
            self.problem = f"by keywords alone: {error}"
            return None
        self.problem = ""
        if len(self._asked) > 256:
            self._asked.clear()
        self._asked[meant] = vector
        found = self._from_store(corpus, embedder, vector)
        return found if len(found[0]) else None

    def _from_store(self, corpus: Corpus, embedder: Embedder, vector: Sequence[float]) -> Found:
        assert self._nearness is not None
        if self.chroma is not None and self._is_for_chroma(corpus, self.chroma):
            try:
                return self.chroma.nearest(
                    self.index, corpus, vector, ranking.NEAREST, self._nearness
                )
            except ChromaMissing as error:
                log.warning("%s", error)
        state = (corpus.generation, self.index.meta("vectors"))
        if self._exact is None or self._exact.state != state:
            self._exact = ExactVectors(
                self.index, corpus, embedder.fingerprint, len(vector), self._nearness
            )
        return self._exact.nearest(vector, ranking.NEAREST)

    def _is_for_chroma(self, corpus: Corpus, chroma: ChromaVectors) -> bool:
        if chroma.is_server:
            return True
        return corpus.n > self.exact_up_to and chroma.state == state_of(self.index)

    # -- one search -------------------------------------------------------------------------

    def _question(self, corpus: Corpus, text: str, among: Filter) -> ranking.Question:
        words = terms.question_terms(text)
        exact = terms.identifiers(text)
        nearest = self._nearest(corpus, text) if words else None
        alone = terms.question_characters(text) if nearest is None else []
        known = self._term_ids([*words, *exact, *alone])
        people = ranking.people_in(text, corpus.speaker_names)
        return ranking.Question(
            text=text,
            terms=[[known[word]] if word in known else [] for word in words],
            exact=[[known[word]] if word in known else [] for word in exact],
            today=self._today(),
            characters=[[known[word]] for word in alone if word in known],
            nearest=nearest,
            people=people,
        )

    def _term_ids(self, words: Sequence[str]) -> dict[str, int]:
        found = self.index.rows(
            "SELECT term, id FROM vocabulary WHERE term IN (SELECT value FROM json_each(?))",
            (json.dumps(words),),
        )
        return {row[0]: row[1] for row in found}

    def _allowed(self, corpus: Corpus, among: Filter) -> Any:
        allowed = np.ones(corpus.n, bool)
        if among.sources:
            wanted = {*among.sources, *(["jobs"] if "sessions" in among.sources else [])}
            codes = [i for i, name in enumerate(corpus.source_names) if name in wanted]
            allowed &= np.isin(corpus.sources, codes)
        if among.people:
            low = {name.casefold() for name in among.people}
            codes = [i for i, name in enumerate(corpus.speaker_names) if name.casefold() in low]
            allowed &= np.isin(corpus.speakers, codes)
        if among.since:
            allowed &= corpus.days >= among.since.toordinal()
        if among.until:
            allowed &= (corpus.days > 0) & (corpus.days <= among.until.toordinal())
        if among.without:
            out = self.index.rows(
                "SELECT c.id FROM chunks c JOIN documents d ON d.id = c.document WHERE d.source IN"
                " ('sessions', 'jobs') AND c.first IN (SELECT value FROM json_each(?))",
                (json.dumps(sorted(among.without)),),
            )
            allowed &= ~np.isin(corpus.ids, [row[0] for row in out])
        return allowed

    def _hits(
        self, corpus: Corpus, question: str, total: Floats, rows: dict[str, Floats], limit: int
    ) -> list[Hit]:
        count = min(limit * _CANDIDATES, corpus.n)
        best = (
            np.argpartition(-total, count - 1)[:count] if count < corpus.n else np.arange(corpus.n)
        )
        best = best[np.argsort(-total[best], kind="stable")]
        best = best[np.isfinite(total[best])]
        phrases = [t.typed.casefold() for t in parse_query(question) if t.exact]
        texts = self._texts([int(corpus.ids[row]) for row in best])
        held = {
            row: sum(phrase in texts[int(corpus.ids[row])]["text"].casefold() for phrase in phrases)
            for row in best
            if int(corpus.ids[row]) in texts
        }
        ordered = sorted(held, key=lambda row: (-held[row], -float(total[row])))
        hits: list[Hit] = []
        said: dict[object, int] = {}
        wanted = set(terms.question_terms(question))
        for row in ordered:
            stored = texts[int(corpus.ids[row])]
            keys = _keys(stored["text"])
            likely = {said[key] for key in keys if key in said}
            twin = next((i for i in likely if _is_twin(hits[i].text, stored["text"])), None)
            if twin is not None:
                hits[twin] = replace(hits[twin], likes=hits[twin].likes + 1)
            elif len(hits) < limit:
                said.update(dict.fromkeys(keys, len(hits)))
                why = {
                    name: ranking.WEIGHTS[name] * float(v[row])
                    for name, v in rows.items()
                    if v[row]
                }
                hits.append(_hit(stored, float(total[row]), wanted, why))
        return hits

    def _texts(self, ids: Sequence[int]) -> dict[int, Any]:
        found = self.index.rows(
            "SELECT c.id, d.path, d.source, c.first, c.last, c.day, c.kind, c.speaker, c.trust, c.title,"
            " c.text FROM chunks c JOIN documents d ON d.id = c.document"
            " WHERE c.id IN (SELECT value FROM json_each(?))",
            (json.dumps(list(ids)),),
        )
        return {row["id"]: row for row in found}

    def _holding(self, question: str, among: Filter, limit: int) -> list[Hit]:
        """Return chunks that hold the very characters of a question without a word: ``~/``, an emoji."""
        corpus = self._fresh()
        found = self.index.rows(
            "SELECT id FROM chunks WHERE instr(lower(text), ?) ORDER BY day DESC, id DESC",
            (question.strip().strip('"').lower(),),
        )
        allowed = set(corpus.ids[self._allowed(corpus, among)].tolist())
        ids = [row[0] for row in found if row[0] in allowed][:limit]
        texts = self._texts(ids)
        return [_hit(texts[id], 1.0, set(), {}) for id in ids]


def essence(question: str) -> str:
    """Return what of a question has a meaning, for embedding: no stop words (a quarter fewer tokens, and
    as good), no numbers and names letter by letter, which words find and meaning only guesses at. Chinese
    stays whole; what would leave nothing is empty."""
    if CJK.search(question):
        return question
    listed = terms.stop_words_of(question)
    kept = [
        word
        for word in question.split()
        if word.strip("?.,!").lower() not in listed and not _NUMBER.fullmatch(word.strip("?.,!()"))
    ]
    return " ".join(kept)


def _answers(rows: dict[str, Floats], total: Floats, question: ranking.Question, alone: Any) -> Any:
    """Whether a chunk answers at all: by words, by all signals together, by name, or, where little else
    is asked ("what did I do last week?"), by its time."""
    answers = np.maximum(rows["words"], rows["window"]) >= WORDS_FLOOR
    answers |= rows["exact"] > 0
    if "meaning" in rows:
        floor = SCORE_FLOOR if any(question.terms) else STRANGE_FLOOR
        enough = total >= (CHINESE_FLOOR if CJK.search(question.text) else floor)
        of_document = sum(
            ranking.WEIGHTS[name] * rows[name]
            for name in ("document", "meaning of document")
            if name in rows
        )
        answers |= enough & (alone | (total - of_document >= OWN_FLOOR))
    else:
        answers |= rows["words"] > 0  # nobody can tell more, so each word counts
        if "characters" in rows:
            answers |= rows["characters"] >= CHARACTERS_FLOOR
    if len(question.terms) <= _FEW:
        answers |= rows["date"] >= 1
    return answers


def _keys(text: str) -> list[object]:
    """Return what two texts must have one of in common to say the same: comparing each with each would
    take longer than the search."""
    if len(text) >= _SHORT:
        return [same_key(text)]
    told = statement(text)
    slot = [(told.subject, told.slot, told.value)] if told.slot else []
    return [same_key(text), (told.subject, told.content), *slot]


def _is_twin(one: str, other: str) -> bool:
    return same_key(one) == same_key(other) or (
        max(len(one), len(other)) < _SHORT and relation(one, other) == "same"
    )


def _hit(row: Any, score: float, wanted: set[str], why: dict[str, float]) -> Hit:
    return Hit(
        id=row["id"],
        path=row["path"],
        source=row["source"],
        first=row["first"],
        last=row["last"],
        day=date.fromordinal(row["day"]) if row["day"] else None,
        kind=row["kind"],
        speaker=row["speaker"],
        trust=row["trust"],
        title=row["title"],
        text=row["text"],
        snippet=centred(row["text"], wanted),
        score=score,
        why=why,
    )


def centred(text: str, wanted: set[str], length: int = SNIPPET) -> str:
    """Return the part of ``text`` of at most ``length`` characters that holds most of the wanted terms."""
    flat = " ".join(text.split())
    if len(flat) <= length:
        return flat
    places = [
        match.start()
        for match in _PIECE.finditer(flat)
        if wanted.intersection(terms.terms(match.group()))
    ]
    room = length - 2
    best = max(places, key=lambda p: sum(p <= q < p + room * 3 // 4 for q in places), default=0)
    start = max(0, min(best - room // 4, len(flat) - room))
    start = flat.find(" ", start) + 1 if start > 0 and " " in flat[start : start + 20] else start
    part = flat[start : start + room].strip()
    return ("…" if start else "") + part + ("…" if start + room < len(flat) else "")
