"""Owns the mapping between values and the rows of ``state.db``."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from memory.transcript import Message, Role, Turn, TurnStatus, Usage

ROLES: tuple[Role, ...] = ("user", "assistant", "tool")


def to_ms(moment: datetime) -> int:
    """Return milliseconds since 1970 for an aware ``moment``."""
    return round(moment.timestamp() * 1000)


def from_ms(value: int) -> datetime:
    """Return the UTC moment of ``value`` milliseconds since 1970."""
    return datetime.fromtimestamp(value / 1000, UTC)


def first_turn(moment: datetime) -> int:
    """Return the least id that a turn of ``moment`` can have, within what SQLite can hold."""
    return min(max(to_ms(moment), 0), 2**43 - 1) << 20


def message_of(row: sqlite3.Row) -> Message:
    """Return the message that a row of ``messages`` holds."""
    extras = json.loads(row["data"]) if row["data"] else {}
    return Message.restore(
        ROLES[row["role"]], row["text"], from_ms(row["created"]), extras, row["id"]
    )


def turn_of(row: sqlite3.Row, session_id: str, messages: list[Message]) -> Turn:
    """Return the turn that a row of ``turns`` and its messages are."""
    status: TurnStatus = row["status"]
    return Turn(
        id=row["id"],
        session=session_id,
        started=from_ms(row["id"] >> 20),
        ended=from_ms(row["ended"]) if row["ended"] is not None else None,
        messages=tuple(messages),
        status=status,
        model=row["model"],
        usage=usage_of(row["usage"]),
        error=row["error"],
    )


def redacted(message: Message, redact: Callable[[str], str]) -> Message:
    """Return a message whose context and tool arguments are redacted; arguments stay JSON."""
    if not message.context and not message.tool_calls:
        return message
    calls = tuple(
        replace(c, arguments=redact_json(c.arguments, redact)) for c in message.tool_calls
    )
    return replace(message, context=redact(message.context), tool_calls=calls)


def scrubbed(message: Message, redact: Callable[[str], str]) -> Message:
    """Return a message with its text, context and tool arguments redacted."""
    return replace(redacted(message, redact), text=redact(message.text))


def redact_json(text: str, redact: Callable[[str], str]) -> str:
    """Return JSON ``text`` with every string in it redacted: as plain text it could break."""

    def walk(value: Any) -> Any:
        if isinstance(value, str):
            return redact(value)
        if isinstance(value, dict):
            return {key: _named_secret(key, walk(item), redact) for key, item in value.items()}
        return [walk(item) for item in value] if isinstance(value, list) else value

    return json.dumps(walk(json.loads(text)), ensure_ascii=False)


def _named_secret(key: str, value: Any, redact: Callable[[str], str]) -> Any:
    """Redact a value that only its key gives away: {"api_key": "..."}."""
    if not isinstance(value, str):
        return value
    return redact(f"{key}={value}").partition("=")[2] if " " not in value else value


def dump(extras: dict[str, object]) -> str | None:
    """Return extras as JSON text, or None when there are none."""
    return json.dumps(extras, ensure_ascii=False, separators=(",", ":")) if extras else None


def usage_text(usage: Usage) -> str:
    """Return usage as it is stored: five numbers."""
    values = (usage.input, usage.output, usage.cached, usage.reasoning, usage.calls)
    return ",".join(map(str, values)) if any(values) else ""


def usage_of(text: str) -> Usage:
    """Return the usage that :func:`usage_text` wrote."""
    if not text:
        return Usage()
    values = [int(part) for part in text.split(",")]
    return Usage(
        input=values[0], output=values[1], cached=values[2], reasoning=values[3], calls=values[4]
    )
