"""Owns how well a chunk answers a question: the signals, and what each of them weighs.

The score is a weighted sum. The weights were learned (``python -m benchmarks.recall --fit``: a softmax
over all chunks, the questions of one conversation at a time held out) on LoCoMo's development
conversations; ``docs/recall.md`` has the table of what each signal is worth.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta

import numpy as np
import numpy.typing as npt

from memory.chunks import QUESTION, TIMED
from memory.corpus import Corpus, Floats
from memory.patterns import Pattern
from memory.spans import Span, spans

WEIGHTS = {
    "words": 2.09,
    "window": 3.82,
    "document": 4.22,
    "meaning": 1.49,
    "meaning nearby": 0.78,
    "meaning of document": 1.91,
    "speaker": 1.74,
    "when": 2.50,
    "date": 3.55,
    "question": -0.94,
    "answer": 3.02,
    "length": 1.60,
    "exact": 4.0,
    "recency": 0.1,
    "source": 1.0,
    "characters": 2.0,
}
"""The last four are no matter of LoCoMo and set by hand: a name letter by letter always surfaces; what is
recent, and what was kept on purpose, wins among equals; the assistant's own words are no testimony;
single Chinese characters count where there are no vectors."""
_SOURCES = {"memory": 1.0, "notes": 0.7, "archive": 0.3, "dreams": -0.5, "jobs": -3.0}
_ASSISTANT = -2.5
_ECHO = -2.5
"""What the user asked before echoes what is asked now and answers nothing."""
NEAREST = 200
"""Chunks whose meaning is compared exactly; all others count as no nearer than the last of them."""
_HALF_LIFE_DAYS = 180.0
_LONG = 60
_AFTER = timedelta(days=31)
_WHEN = Pattern(
    r"\b(?:when|what (?:year|month|date|day|time)|which (?:year|month|day)|how long)\b"
    r"|什么时候|几号|哪天|哪年|哪一[天年]|何时|几月|多久|多长时间",
    re.IGNORECASE,
)
_ASKS_ASSISTANT = Pattern(
    r"\byou(?:'ve| have)? (?:say|said|suggest\w*|recommend\w*|tell|told|advise\w*|propose\w*)\b"
    r"|你(?:说|建议|推荐)",
    re.IGNORECASE,
)
_ASKS_USER = Pattern(
    r"\b(?:i|we)(?:'ve| have)? (?:say|said|mention\w*|tell|told|ask\w*)\b|我(?:说|提|问)过",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A question as ranking sees it. ``terms`` are lists of ids that count as one."""

    text: str
    terms: Sequence[Sequence[int]]
    exact: Sequence[Sequence[int]] = ()
    characters: Sequence[Sequence[int]] = ()
    today: date
    nearest: tuple[npt.NDArray[np.int64], Floats, Floats] | None = None
    """See :data:`memory.vectors.Found`; None without vectors."""
    people: frozenset[str] = field(default_factory=frozenset)

    @property
    def asks_when(self) -> bool:
        """Whether it asks for a time."""
        return bool(_WHEN.search(self.text))


def signals(corpus: Corpus, question: Question) -> dict[str, Floats]:
    """Return each signal's value for every chunk, unweighted."""
    words, window, document = corpus.scores(question.terms)
    asked = _kept(corpus, "asked", lambda c: (c.flags & QUESTION > 0).astype(np.float32))
    rows: dict[str, Floats] = {
        "words": words,
        "window": window,
        "document": document,
        "question": asked,
        "answer": corpus.before(words * asked),
        "length": _kept(corpus, "length", _telling_length),
        "speaker": _by_speaker(corpus, question),
        "date": _in_time(
            corpus, spans(question.text, question.today, _years(corpus)), question.today
        ),
        "recency": _kept(
            corpus, f"recency {question.today}", lambda c: _recency(c, question.today)
        ),
        "exact": _exact(corpus, question),
        "source": _kept(corpus, "source", _by_source),
    }
    if question.asks_when:
        rows["when"] = _kept(corpus, "timed", lambda c: (c.flags & TIMED > 0).astype(np.float32))
    if question.characters:
        rows["characters"] = corpus.scores(question.characters)[0]
    if question.nearest is not None and corpus.n:
        at, near, plain = question.nearest
        meaning = _meaning(corpus.n, at, near)
        around = np.where(corpus.alone, meaning, _meaning(corpus.n, at, plain)).astype(np.float32)
        rows["meaning"] = meaning
        rows["meaning nearby"] = _nearby(corpus, around)
        rows["meaning of document"] = corpus.by_group(around)
    return rows


def _kept(corpus: Corpus, name: str, make: Callable[[Corpus], Floats]) -> Floats:
    """Return what depends on the corpus alone, computed once."""
    if name not in corpus.kept:
        corpus.kept[name] = make(corpus)
    return corpus.kept[name]


def scores(rows: dict[str, Floats], size: int) -> Floats:
    """Return the weighted sum of signals."""
    total = np.zeros(size, np.float32)
    for name, values in rows.items():
        total += np.float32(WEIGHTS[name]) * values
    return total


def _meaning(size: int, at: npt.NDArray[np.int64], steps: Floats) -> Floats:
    values = np.full(size, steps.min() if len(steps) else 0.0, np.float32)
    values[at] = steps
    return values


def _nearby(corpus: Corpus, meaning: Floats) -> Floats:
    """The mean of the two neighbours' meanings; the least there is where one is missing, and its own
    for what stands alone."""
    least = meaning.min()
    before = np.where(corpus.has_before > 0, corpus.before(meaning), least)
    after = np.where(corpus.has_after > 0, corpus.after(meaning), least)
    return np.where(corpus.alone, meaning, (before + after) / np.float32(2)).astype(np.float32)


def _telling_length(corpus: Corpus) -> Floats:
    """How much a message can tell: "Wow!" tells nothing. Notes and files were written to tell something,
    however short they are."""
    codes = [_code(corpus.source_names, name) for name in ("sessions", "jobs")]
    spoken = np.isin(corpus.sources, codes)
    lengths = np.where(spoken, np.minimum(corpus.lengths, _LONG), _LONG)
    return (np.log1p(lengths) / 3).astype(np.float32)


def _by_speaker(corpus: Corpus, question: Question) -> Floats:
    """1 for what a person said whom the question names, -1 for what others said; 0 where it names
    nobody or several."""
    named = [code for code, name in enumerate(corpus.speaker_names) if name in question.people]
    if len(named) != 1:
        return np.zeros(corpus.n, np.float32)
    spoken = corpus.speakers != _code(corpus.speaker_names, "")
    return np.where(corpus.speakers == named[0], 1.0, np.where(spoken, -1.0, 0.0)).astype(
        np.float32
    )


def _code(names: Sequence[str], name: str) -> int:
    return names.index(name) if name in names else -1


def people_in(text: str, speakers: Sequence[str]) -> frozenset[str]:
    """Return the speakers whom a question names, "you" and "I" included."""
    low = text.casefold()
    found = {
        name
        for name in speakers
        if len(name) > 1
        and name not in ("you", "Reverie")
        and re.search(rf"(?<!\w){re.escape(name.casefold())}(?!\w)", low)
    }
    if _ASKS_ASSISTANT.search(text):
        found.add("Reverie")
    elif _ASKS_USER.search(text):
        found.add("you")
    return frozenset(found)


def _by_source(corpus: Corpus) -> Floats:
    worth = np.array([_SOURCES.get(name, 0.0) for name in corpus.source_names] or [0.0], np.float32)
    own = corpus.speakers == _code(corpus.speaker_names, "Reverie")
    asked = (corpus.speakers == _code(corpus.speaker_names, "you")) & (corpus.flags & QUESTION > 0)
    total: Floats = (worth[corpus.sources] + _ASSISTANT * own + _ECHO * asked).astype(np.float32)
    return total


def _years(corpus: Corpus) -> range:
    return range(corpus.first_year, corpus.last_year + 1) if corpus.first_year else range(0)


def _in_time(corpus: Corpus, named: Sequence[Span], today: date) -> Floats:
    """1 within a span that the question names, half as much again close to a day that it names, less
    in the month after: people tell of things later."""
    value = np.zeros(corpus.n, np.float32)
    for span in named:
        since, until = span.since.toordinal(), span.until.toordinal()
        dated = corpus.days > 0
        if until - since < 1:
            near = dated & (np.abs(corpus.days - since) <= 3)
            value = np.maximum(value, np.where(near, np.float32(1.5), np.float32(0)))
            continue
        inside = dated & (corpus.days >= since) & (corpus.days <= until)
        later = dated & (corpus.days > until) & (corpus.days <= until + _AFTER.days)
        value = np.maximum(
            value, np.where(inside, 1.0, np.where(later, 0.3, 0.0)).astype(np.float32)
        )
    return value


def _recency(corpus: Corpus, today: date) -> Floats:
    """1 today, half after half a year, never nothing: an old truth stays findable."""
    age = np.maximum(today.toordinal() - corpus.days, 0)
    return np.where(corpus.days > 0, 0.5 ** (age / _HALF_LIFE_DAYS), 0.5).astype(np.float32)


def _exact(corpus: Corpus, question: Question) -> Floats:
    """1 for what holds the names of things in the question letter by letter, else their share."""
    held = np.zeros(corpus.n, np.float32)
    for ids in question.exact:
        held[corpus.often(ids)[0]] += 1
    return held / np.float32(max(len(question.exact), 1))
