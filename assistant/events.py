"""Owns the events that a turn emits; the terminal, ``--json``, the log and tests read the same ones.

``to_dict`` is the form that ``--json`` prints: one object a line, ``type`` first.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

from memory.transcript import ToolCall, Turn


@dataclass(frozen=True, slots=True, kw_only=True)
class TextDelta:
    """A piece of the answer, as it arrives."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ThinkingDelta:
    """A piece of the model's reasoning; shown as activity, never as the answer."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolStarted:
    """A tool call begins. ``summary`` is its one line for people."""

    call: ToolCall
    summary: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolFinished:
    """A tool call has its result; ``seconds`` is how long it took."""

    call: ToolCall
    text: str
    error: bool
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Retrying:
    """A model call failed and is tried again after ``wait`` seconds."""

    reason: str
    wait: float
    attempt: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """Something that the user should know and that is not part of the answer."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnEnded:
    """The turn is over; ``turn`` is its full record."""

    turn: Turn


Event = TextDelta | ThinkingDelta | ToolStarted | ToolFinished | Retrying | Notice | TurnEnded

_NAMES: dict[type, str] = {
    TextDelta: "text_delta",
    ThinkingDelta: "thinking_delta",
    ToolStarted: "tool_started",
    ToolFinished: "tool_finished",
    Retrying: "retrying",
    Notice: "notice",
    TurnEnded: "turn_ended",
}


def to_dict(event: Event) -> dict[str, Any]:
    """Return an event as JSON values; of a finished turn what a script needs, not the whole record."""
    if isinstance(event, TurnEnded):
        turn = event.turn
        return {
            "type": "turn_ended",
            "session": turn.session,
            "turn": turn.id,
            "status": turn.status,
            "reply": turn.reply,
            "error": turn.error,
            "model": turn.model,
            "usage": dataclasses.asdict(turn.usage),
        }
    return {"type": _NAMES[type(event)], **dataclasses.asdict(event)}
