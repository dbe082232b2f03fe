"""Owns ``session_search``: what was said before, in this session and all earlier ones."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, time, timedelta
from typing import Annotated
from zoneinfo import ZoneInfo

from assistant.tools.registry import CallContext, ToolError, Toolset, make_tool
from memory.clean import one_line
from memory.errors import StorageError
from memory.session_search import Scope, SessionHit, around, search
from memory.sessions import SessionStore


def toolset(*, store: SessionStore | None, zone: ZoneInfo, now: Callable[[], datetime]) -> Toolset:
    """Return the tool over the session archive; without an archive it is not offered."""

    def session_search(
        query: Annotated[str, 'words, "quoted phrases"; empty lists recent sessions'] = "",
        since: Annotated[str, "date or time, ISO 8601"] = "",
        until: str = "",
        limit: int = 8,
        message_id: Annotated[int, "show what was said around this message"] = 0,
        *,
        call: CallContext,
    ) -> str:
        """Search past conversations, this one included."""
        assert store is not None
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
            hits = search(store, query, scope, max(1, min(limit, 30)))
        except StorageError as error:
            raise ToolError(f"The search failed; this is not an empty result. {error}") from None
        if not hits:
            return f"Nothing found for {query!r}."
        return "\n".join(format_hit(hit, zone) for hit in hits)

    return Toolset(
        name="recall",
        tools=(make_tool(session_search, untrusted=True),),
        check=lambda: "the session archive cannot be opened" if store is None else None,
    )


def format_hit(hit: SessionHit, zone: ZoneInfo) -> str:
    """Return a hit in one line: when, who, where, what."""
    who = {"user": "you", "assistant": "Reverie", "tool": "tool"}[hit.role]
    when = hit.created.astimezone(zone).strftime("%Y-%m-%d %H:%M")
    return f"[{when}, {who}, session {hit.session}, message {hit.message_id}] {hit.snippet}"


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
