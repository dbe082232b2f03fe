"""Owns ``session_search``: from what a person typed to ranked messages with readable snippets.

All terms first, then any of them; exact spelling above inflected; conversations above scheduled
jobs. Nothing is cut off by age. A failing query raises; it is never "nothing found".
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from memory import full_text
from memory.clean import one_line
from memory.errors import Corrupt
from memory.rows import ROLES, first_turn, from_ms, message_of
from memory.sessions import SessionStore
from memory.tokens import Term, loose_matches, parse_query
from memory.transcript import Message, Role

RANKED_MOST = 4_000
"""More matches than this are not all scored: bm25 over a word that is everywhere says nothing and
costs tens of milliseconds. The newest so many are scored instead."""
CANDIDATES = 60
TERMS_MOST = 32
NO_BOUND = 2**63 - 1
SNIPPET_LENGTH = 240
QUIET_SOURCES = ("job", "delegate")
"""Sessions that nobody typed in; five hundred of them must not bury three chats."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionHit:
    """A message that matches; ``score`` is comparable within one search only, higher is better."""

    message_id: int
    session: str
    title: str
    source: str
    role: Role
    created: datetime
    snippet: str
    score: float
    why: str = ""
    """What it was ranked by, where that was asked for."""

    def to_dict(self) -> dict[str, object]:
        """Return the hit as JSON values."""
        return {
            "message_id": self.message_id,
            "session": self.session,
            "title": self.title,
            "source": self.source,
            "role": self.role,
            "created": self.created.isoformat(timespec="seconds"),
            "snippet": self.snippet,
            "score": round(self.score, 4),
            **({"why": self.why} if self.why else {}),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """Which messages may be found: a span of time, sources, and a turn that is left out."""

    since: datetime | None = None
    until: datetime | None = None
    sources: tuple[str, ...] = ()
    without_turn: int = 0
    typed_only: bool = False
    """Leave out the sessions that nobody typed in."""

    @property
    def is_narrow(self) -> bool:
        """Whether it leaves out more than one turn."""
        return bool(self.since or self.until or self.sources or self.typed_only)

    def sql(self) -> tuple[str, list[object]]:
        """Return the conditions over ``messages m``, ``turns t``, ``sessions s``, and their values."""
        parts = ["t.status != 'undone'", "t.id != ?"]
        bounds: list[object] = [self.without_turn]
        # A turn's id begins with its time, so the primary key serves as the index over time.
        if self.since is not None:
            parts.append("t.id >= ?")
            bounds.append(first_turn(self.since))
        if self.until is not None:
            parts.append("t.id < ?")
            bounds.append(first_turn(self.until))
        if self.sources:
            parts.append(f"s.source IN ({','.join('?' * len(self.sources))})")
            bounds.extend(self.sources)
        if self.typed_only:
            parts.append(f"s.source NOT IN ({','.join('?' * len(QUIET_SOURCES))})")
            bounds.extend(QUIET_SOURCES)
        return " AND ".join(parts), bounds


def search(
    store: SessionStore, query: str, scope: Scope | None = None, limit: int = 10
) -> list[SessionHit]:
    """Return the messages that answer ``query`` best, at most ``limit``, best first.

    An empty list means that nothing matches. Raises :class:`memory.errors.StorageError`.
    """
    scope = scope or Scope()
    terms = parse_query(query)[:TERMS_MOST]
    if not terms:
        return []
    try:
        return _search(store, terms, scope, limit)
    except Corrupt:
        # Perhaps it is only the index over the words; a rebuild that fails says that it is not.
        full_text.rebuild(store)
        return _search(store, terms, scope, limit)


def by_id(store: SessionStore, ids: Sequence[int]) -> dict[int, SessionHit]:
    """Return messages as hits without a score, by their id."""
    marks = ",".join("?" * len(ids))
    rows = store.query(
        "SELECT m.*, s.id AS session_id, s.title, s.source FROM messages m JOIN turns t ON t.id = m.turn"
        f" JOIN sessions s ON s.key = t.session WHERE m.id IN ({marks})",
        tuple(ids),
    )
    return {row["id"]: _hit(row, 0.0) for row in rows}


def _search(store: SessionStore, terms: list[Term], scope: Scope, limit: int) -> list[SessionHit]:
    telling = [term for term in terms if not term.is_stop_word] or terms
    found: dict[int, SessionHit] = {}
    for probes, weight in _attempts(telling):
        for hit in _run(store, scope, probes, weight, telling):
            found.setdefault(hit.message_id, hit)
        if len(found) >= limit:
            break
    ranked = sorted(found.values(), key=lambda hit: _rank(hit, telling), reverse=True)[:limit]
    return [replace(hit, snippet=snippet(hit.snippet, telling)) for hit in ranked]


def _attempts(terms: list[Term]) -> Iterator[tuple[list[str], float]]:
    """Yield searches from strict to loose, as MATCH expressions that add up, and their weight.

    Terms that FTS5 cannot see make the first search one over the text itself: no expressions.
    """
    seen = [term for term in terms if term.match]
    if len(seen) < len(terms):
        yield [], 3.0
    if seen:
        yield [" AND ".join(term.match for term in seen)], 3.0
    if len(seen) > 1:
        yield [term.match for term in seen], 1.0
    loose = [match for term in seen if not term.exact for match in loose_matches(term)]
    if loose:
        yield loose, 0.5


def _run(
    store: SessionStore, scope: Scope, probes: list[str], weight: float, terms: list[Term]
) -> list[SessionHit]:
    """Run one attempt: scores of its expressions add up, the best total becomes ``weight``."""
    if not probes:
        return _substring(store, scope, terms, weight)
    hits: dict[int, SessionHit] = {}
    for probe in probes:
        for hit in _loud_first(store, scope, probe):
            known = hits.get(hit.message_id)
            hits[hit.message_id] = replace(hit, score=hit.score + known.score) if known else hit
    best = max((hit.score for hit in hits.values()), default=1.0)
    return [replace(hit, score=weight * (0.5 + 0.5 * hit.score / best)) for hit in hits.values()]


def _loud_first(store: SessionStore, scope: Scope, match: str) -> list[SessionHit]:
    """Run one expression; where jobs fill the candidates, look among the typed sessions as well."""
    hits = _match(store, scope, match)
    crowded = len(hits) == CANDIDATES and any(hit.source in QUIET_SOURCES for hit in hits)
    if not crowded or scope.sources:
        return hits
    loud = _match(store, replace(scope, typed_only=True), match)
    return list({hit.message_id: hit for hit in (*hits, *loud)}.values())


def _match(store: SessionStore, scope: Scope, match: str) -> list[SessionHit]:
    """Run one FTS5 expression within the scope and return its best candidates."""
    low, high = _span(store, scope, match)
    conditions, values = scope.sql()
    rows: list[sqlite3.Row] = []
    # Outside a narrow scope the limit sits inside, over the index alone: joining first would read
    # every matching message. What the conditions leave out is made up for by a wider look.
    for limit in (NO_BOUND,) if scope.is_narrow else (CANDIDATES, 10 * CANDIDATES, RANKED_MOST):
        rows = store.query(
            "SELECT m.*, s.id AS session_id, s.title, s.source, -f.rank AS score FROM"
            " (SELECT rowid, rank FROM messages_fts WHERE messages_fts MATCH ?"
            " AND rowid BETWEEN ? AND ? ORDER BY rank LIMIT ?) f"
            " JOIN messages m ON m.id = f.rowid JOIN turns t ON t.id = m.turn"
            f" JOIN sessions s ON s.key = t.session WHERE {conditions}"
            f" ORDER BY f.rank LIMIT {CANDIDATES}",
            (match, low, high, limit, *values),
        )
        if len(rows) >= CANDIDATES // 2:
            break
        if limit == CANDIDATES and not store.query(
            "SELECT 1 FROM messages_fts WHERE messages_fts MATCH ? LIMIT 1 OFFSET ?", (match, limit)
        ):
            break
    # bm25() of FTS5 is negative, and nearly zero for a word that half of the messages hold.
    return [_hit(row, max(row["score"], 1e-6)) for row in rows]


def _span(store: SessionStore, scope: Scope, match: str) -> tuple[int, int]:
    """Return the span of message ids that is worth scoring."""
    if scope.since or scope.until:
        bounds = store.query(
            "SELECT min(id), max(id) FROM messages WHERE turn BETWEEN ? AND ?",
            (
                first_turn(scope.since) if scope.since else 0,
                first_turn(scope.until) if scope.until else NO_BOUND,
            ),
        )[0]
        return (0, -1) if bounds[0] is None else (bounds[0], bounds[1])
    if scope.is_narrow:
        return 0, NO_BOUND
    floor = store.query(
        "SELECT rowid FROM messages_fts WHERE messages_fts MATCH ?"
        f" ORDER BY rowid DESC LIMIT 1 OFFSET {RANKED_MOST}",
        (match,),
    )
    return (floor[0][0] if floor else 0), NO_BOUND


def _substring(
    store: SessionStore, scope: Scope, terms: list[Term], weight: float
) -> list[SessionHit]:
    """Look for terms that FTS5 cannot see (an emoji, pure punctuation) in the text itself."""
    conditions, values = scope.sql()
    typed = [term.typed for term in terms]
    contains = " AND ".join("instr(m.text, ?) > 0" for _ in typed)
    rows = store.query(
        "SELECT m.*, s.id AS session_id, s.title, s.source FROM messages m"
        " JOIN turns t ON t.id = m.turn JOIN sessions s ON s.key = t.session"
        f" WHERE {contains} AND {conditions} ORDER BY m.id DESC LIMIT {CANDIDATES}",
        (*typed, *values),
    )
    return [_hit(row, weight) for row in rows]


def _hit(row: sqlite3.Row, score: float) -> SessionHit:
    return SessionHit(
        message_id=row["id"],
        session=row["session_id"],
        title=row["title"],
        source=row["source"],
        role=ROLES[row["role"]],
        created=from_ms(row["created"]),
        snippet=row["text"],
        score=score,
    )


def _rank(hit: SessionHit, terms: list[Term]) -> tuple[float, datetime]:
    """Order hits: score, plus what is spelt exactly so; jobs and tool output count half."""
    text = hit.snippet.casefold()
    literal = sum(term.typed.casefold() in text for term in terms) / len(terms)
    score = hit.score + literal
    if hit.source in QUIET_SOURCES:
        score *= 0.5
    score *= {"user": 1.0, "assistant": 0.9, "tool": 0.5}[hit.role]
    return score, hit.created


def snippet(text: str, terms: Iterable[Term], length: int = SNIPPET_LENGTH) -> str:
    """Return about ``length`` characters of ``text`` around the place where most terms stand."""
    folded = text.casefold()
    if len(folded) != len(text):  # folding changed lengths (ß, İ): positions would be off
        folded = text.lower() if len(text.lower()) == len(text) else text
    places = sorted(place for term in terms for place in _places(folded, term.typed.casefold()))
    if not places or len(text) <= length:
        return one_line(text, length)
    # The best window starts at a place and covers the most others.
    start = max(places, key=lambda p: (sum(p <= q < p + length * 2 // 3 for q in places), -p))
    start = max(0, start - length // 3)
    cut = text[start : start + length]
    return (
        ("…" if start else "") + one_line(cut, length) + ("…" if start + length < len(text) else "")
    )


def _places(folded: str, word: str, most: int = 20) -> list[int]:
    """Return where ``word`` stands in the text, or its beginning where it is inflected."""
    stem = word if word in folded else word[: max(4, len(word) - 3)]
    places: list[int] = []
    start = folded.find(stem)
    while start >= 0 and len(places) < most:
        places.append(start)
        start = folded.find(stem, start + len(stem))
    return places


def around(store: SessionStore, message_id: int, reach: int = 3) -> list[Message]:
    """Return the messages of the same session around one, itself included, in order."""
    rows = store.query(
        "SELECT m.* FROM messages m JOIN turns t ON t.id = m.turn WHERE t.status != 'undone' AND"
        " t.session = (SELECT session FROM turns WHERE id = (SELECT turn FROM messages WHERE id=?))"
        " AND m.id BETWEEN ? AND ? ORDER BY m.id",
        (message_id, message_id - 10 * reach, message_id + 10 * reach),
    )
    messages = [message_of(row) for row in rows]
    place = next((i for i, m in enumerate(messages) if m.id == message_id), None)
    return [] if place is None else messages[max(0, place - reach) : place + reach + 1]
