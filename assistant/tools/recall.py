"""Owns the tools that look back: ``memory_search``, ``memory_get`` and ``session_search``."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, time, timedelta
from typing import TYPE_CHECKING, Annotated, Literal
from zoneinfo import ZoneInfo

from assistant.errors import UsageError
from assistant.tools.registry import CallContext, ToolError, Toolset, make_tool
from memory.clean import one_line
from memory.errors import StorageError
from memory.session_search import Scope, SessionHit, around
from memory.session_search import search as find_sessions
from memory.sessions import SessionStore

if TYPE_CHECKING:
    from assistant.recall import Recall
    from memory.search import Hit

Source = Literal["memory", "archive", "notes", "dreams", "skills", "files", "sessions"]


def toolset(
    *,
    store: SessionStore | None,
    search: Recall,
    zone: ZoneInfo,
    now: Callable[[], datetime],
) -> Toolset:
    """Return the tools over memory, notes, files and the session archive."""

    def memory_search(
        query: Annotated[str, "a question or words, in any language"],
        sources: Annotated[list[Source] | None, "only these"] = None,
        since: Annotated[str, "date, ISO 8601"] = "",
        until: str = "",
        people: Annotated[list[str] | None, "only what these said; you = the user"] = None,
        limit: int = 8,
        *,
        call: CallContext,
    ) -> str:
        """Search all that is known: memory, notes, past conversations, skills, the user's folders. By
        meaning and by words; dates in the query count."""
        from memory.search import Filter

        first, last = parse_moment(since, zone), parse_moment(until, zone)
        among = Filter(
            sources=tuple(sources or ()),
            since=first.date() if first else None,
            until=last.date() if last else None,
            people=tuple(people or ()),
            without=_messages_of(store, call.turn),
        )
        most = max(1, min(limit, 30))
        try:
            result = search.search(query, among, most)
        except (StorageError, OSError) as error:
            return _without_index(store, query, call.turn, most, zone, str(error))
        if not result.hits and result.stale:
            why = "; ".join(result.notices)
            return _without_index(store, query, call.turn, most, zone, why)
        rows = [format_found(hit) for hit in result.hits] or [f"Nothing found for {query!r}."]
        return "\n".join([*rows, *(f"({notice})" for notice in result.notices)])

    def memory_get(
        path: Annotated[str, "as memory_search shows it"],
        line: Annotated[int, "the first line to show"] = 1,
        lines: int = 40,
        *,
        call: CallContext,
    ) -> str:
        """Show lines of a file of memory or notes, or what was said around a message of a session."""
        if path.startswith("session:") and store is not None:
            return _surroundings(store, line, zone)
        try:
            text = search.document(path).path.read_text(encoding="utf-8", errors="replace")
        except UsageError as error:
            raise ToolError(str(error)) from None
        rows = text.splitlines()
        first = max(1, line)
        shown = rows[first - 1 : first - 1 + max(1, min(lines, 200))]
        if not shown:
            raise ToolError(f"{path} has {len(rows)} lines.")
        return "\n".join(f"{n}: {row}" for n, row in enumerate(shown, first))

    def session_search(
        query: Annotated[str, 'words, "quoted phrases"; empty lists recent sessions'] = "",
        since: Annotated[str, "date or time, ISO 8601"] = "",
        until: str = "",
        limit: int = 8,
        message_id: Annotated[int, "show what was said around this message"] = 0,
        *,
        call: CallContext,
    ) -> str:
        """Search past conversations, this one included, by words and by meaning."""
        if store is None:
            raise ToolError("The session archive cannot be opened; tell the user: reverie doctor.")
        try:
            if message_id:
                return _surroundings(store, message_id, zone)
            if not query.strip():
                return _recent(store, max(1, min(limit, 30)), zone)
            scope = Scope(
                since=parse_moment(since, zone),
                until=parse_moment(until, zone, end=True),
                without_turn=call.turn,
            )
            most = max(1, min(limit, 30))
            if search.is_warm:
                hits = search.sessions(store, query, scope, most)
            else:  # a process that answers once: words alone, in milliseconds
                hits = find_sessions(store, query, scope, most)
        except StorageError as error:
            raise ToolError(f"The search failed; this is not an empty result. {error}") from None
        if not hits:
            return f"Nothing found for {query!r}."
        return "\n".join(format_hit(hit, zone) for hit in hits)

    return Toolset(
        name="recall",
        tools=(
            make_tool(memory_search, untrusted=True),
            make_tool(memory_get, untrusted=True),
            *([make_tool(session_search, untrusted=True)] if store is not None else []),
        ),
    )


def _without_index(
    store: SessionStore | None, query: str, turn: int, limit: int, zone: ZoneInfo, why: str
) -> str:
    """Search conversations by their words, where the index is not made yet, or cannot be: a full disk."""
    try:
        hits = find_sessions(store, query, Scope(without_turn=turn), limit) if store else []
    except StorageError as other:
        raise ToolError(f"The search failed; this is not an empty result. {other}") from None
    rows = [format_hit(hit, zone) for hit in hits] or [f"Nothing found for {query!r}."]
    return "\n".join([*rows, f"(conversations only, by words: {why})"])


def _messages_of(store: SessionStore | None, turn: int) -> frozenset[int]:
    if store is None:
        return frozenset()
    return frozenset(
        row[0] for row in store.query("SELECT id FROM messages WHERE turn = ?", (turn,))
    )


def format_found(hit: Hit) -> str:
    """Return a hit of ``memory_search`` in one line: when, who, where, what, and whose words they are."""
    where = (
        f"{hit.path}, message {hit.first}"
        if hit.source in ("sessions", "jobs")
        else f"{hit.path}:{hit.first}"
    )
    parts = [hit.day.isoformat() if hit.day else "", hit.speaker, hit.kind, where]
    parts += ["not the user's words"] if hit.trust == "file" else []
    more = f" (and {hit.likes} more like it)" if hit.likes else ""
    title = f"{hit.title}: " if hit.title else ""
    return f"[{', '.join(part for part in parts if part)}] {title}{hit.snippet}{more}"


def format_hit(hit: SessionHit, zone: ZoneInfo) -> str:
    """Return a hit in one line: when, who, where, what."""
    who = {"user": "you", "assistant": "Reverie", "tool": "tool"}[hit.role]
    when = hit.created.astimezone(zone).strftime("%Y-%m-%d %H:%M")
    title = f" “{one_line(hit.title, 40)}”" if hit.title else ""
    return f"[{when}, {who}, session {hit.session}{title}, message {hit.message_id}] {hit.snippet}"


def parse_moment(text: str, zone: ZoneInfo, *, end: bool = False) -> datetime | None:
    """Return the moment that ISO text names, in ``zone`` where it names none; '' is None.

    A bare date is its first moment, as an ``end`` the first moment of the next day.
    Raises ``ToolError`` for anything else.
    """
    text = text.strip()
    if not text:
        return None
    try:
        moment = datetime.fromisoformat(text)
        if end and moment.time() == time() and "T" not in text and ":" not in text:
            moment += timedelta(days=1)
    except (ValueError, OverflowError):
        raise ToolError(f"{text!r} is no ISO date. Write 2026-11-30 or 2026-11-30T09:00.") from None
    return moment if moment.tzinfo else moment.replace(tzinfo=zone)


def _recent(store: SessionStore, limit: int, zone: ZoneInfo) -> str:
    rows = [
        f"{s.updated.astimezone(zone):%Y-%m-%d %H:%M}  {s.id}  {s.title} ({s.messages} messages)"
        for s in store.recent(limit)
    ]
    return "\n".join(rows) or "There is no earlier session."


def _surroundings(store: SessionStore, message_id: int, zone: ZoneInfo) -> str:
    messages = around(store, message_id)
    if not messages:
        raise ToolError(f"There is no message {message_id}. Search first; hits show their number.")
    rows = []
    for message in messages:
        mark = ">" if message.id == message_id else " "
        when = message.created.astimezone(zone).strftime("%Y-%m-%d %H:%M")
        rows.append(f"{mark} [{when}] {message.role}: {one_line(message.text, 1500)}")
    return "\n".join(rows)
