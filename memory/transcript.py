"""Owns what a conversation is made of: pure values, no storage and no wire format.

Identity is storage's concern: a message gets its number when it is stored.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime
from typing import Any, Literal

Role = Literal["user", "assistant", "tool"]
TurnStatus = Literal["running", "done", "interrupted", "failed", "undone"]


def new_turn_id(started: datetime) -> int:
    """Return a positive 63-bit id that sorts by time: milliseconds since 1970, then 20 random bits.

    An integer needs no second index in SQLite (it *is* the row id), which a text id would.
    """
    return round(started.timestamp() * 1000) << 20 | secrets.randbits(20)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """A model's wish to run a tool. ``arguments`` is JSON text exactly as it can be replayed."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Tokens of one or more model calls; ``input`` includes ``cached``, ``output`` ``reasoning``."""

    input: int = 0
    output: int = 0
    cached: int = 0
    reasoning: int = 0
    calls: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            **{f.name: getattr(self, f.name) + getattr(other, f.name) for f in fields(self)}
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One message of the full record.

    ``context`` is what travelled with a user message (time, recalled notes): part of the request,
    never part of what the user said. ``thinking`` holds a provider's own reasoning blocks, to be
    sent back unchanged to the ``provider`` that made them. A ``tool`` message answers ``call_id``.
    """

    role: Role
    text: str
    created: datetime
    context: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    call_id: str = ""
    tool_name: str = ""
    error: bool = False
    thinking: tuple[Mapping[str, Any], ...] = ()
    provider: str = ""
    id: int | None = None

    def extras(self) -> dict[str, Any]:
        """Return all that is not text, role, time or id, for storage as JSON; empty for plain text."""
        data: dict[str, Any] = {}
        if self.tool_calls:
            data["calls"] = [[c.id, c.name, c.arguments] for c in self.tool_calls]
        if self.thinking:
            data["thinking"] = [dict(block) for block in self.thinking]
        for name in ("context", "call_id", "tool_name", "error", "provider"):
            if value := getattr(self, name):
                data[name] = value
        return data

    @classmethod
    def restore(
        cls,
        role: Role,
        text: str,
        created: datetime,
        extras: Mapping[str, Any],
        id: int | None = None,
    ) -> Message:
        """Return the message whose :meth:`extras` were stored; unknown keys are left alone."""
        return cls(
            role=role,
            text=text,
            created=created,
            id=id,
            context=extras.get("context", ""),
            tool_calls=tuple(
                ToolCall(id=c[0], name=c[1], arguments=c[2]) for c in extras.get("calls", ())
            ),
            call_id=extras.get("call_id", ""),
            tool_name=extras.get("tool_name", ""),
            error=bool(extras.get("error", False)),
            thinking=tuple(extras.get("thinking", ())),
            provider=extras.get("provider", ""),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """What one user message led to, from that message to the final answer."""

    id: int
    session: str
    started: datetime
    messages: tuple[Message, ...]
    status: TurnStatus = "running"
    ended: datetime | None = None
    model: str = ""
    usage: Usage = field(default_factory=Usage)
    error: str = ""

    @property
    def reply(self) -> str:
        """The assistant's last text of this turn, or an empty string."""
        for message in reversed(self.messages):
            if message.role == "assistant" and message.text:
                return message.text
        return ""


def legal(messages: Sequence[Message], note: str = "interrupted: no result") -> list[Message]:
    """Return ``messages`` as a history that every provider accepts.

    Each tool call is directly followed by exactly one result, in the order of the calls: a missing
    one is filled in as an error that says ``note``, an orphan or a second one is dropped. An
    assistant message without text, calls or thinking is dropped.
    """
    out: list[Message] = []
    position = 0
    while position < len(messages):
        message = messages[position]
        position += 1
        if message.role == "tool":
            continue
        if message.role == "assistant" and not (message.text or message.tool_calls):
            continue
        out.append(message)
        if not message.tool_calls:
            continue
        results: dict[str, Message] = {}
        while position < len(messages) and messages[position].role == "tool":
            results.setdefault(messages[position].call_id, messages[position])
            position += 1
        for call in message.tool_calls:
            found = results.get(call.id)
            out.append(found or unanswered(call, message.created, note))
    return out


def unanswered(call: ToolCall, created: datetime, note: str) -> Message:
    """Return the error result that stands in for a ``call`` which got none."""
    return Message(
        role="tool", text=note, created=created, call_id=call.id, tool_name=call.name, error=True
    )
