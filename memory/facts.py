"""Owns what a finished turn says that is worth a note."""

from __future__ import annotations

import re
from datetime import tzinfo

from memory.notes import Note
from memory.transcript import Turn

_SENTENCE = re.compile(r"(?<=[.!?。！？])\s*|\n+")
_ABOUT_ME = re.compile(
    r"\b(?:i|i'm|i’m|i've|i’ve|my|me|we|we're|our|call me|remember)\b"
    r"|我|我们|咱|记住|以后",
    re.IGNORECASE,
)
_QUESTION = re.compile(
    r"[?？]\s*$|^\s*(?:what|who|when|where|why|how|which|do|does|did|can|could|would|should|is|are|am"
    r"|will|have|has)\b|吗\s*$|^(?:什么|怎么|为什么|谁|哪)",
    re.IGNORECASE,
)
_REQUEST = re.compile(
    r"^\s*(?:please|tell|show|give|find|search|write|read|run|list|explain|translate|help|forget)\b"
    r"|^\s*(?:请|帮我|告诉我|查|翻译)",
    re.IGNORECASE,
)
LONGEST = 300


def statements(turn: Turn, zone: tzinfo) -> list[Note]:
    """Return the user's own statements of a turn as notes: sentences in the first person that ask
    and command nothing. Long pasted text is no statement of the user's."""
    notes = []
    for message in turn.messages:
        if message.role != "user" or len(message.text) > 2_000:
            continue
        for sentence in _SENTENCE.split(message.text):
            text = sentence.strip()
            if (
                not len(text) + 4 * len(re.findall(r"[\u4e00-\u9fff]", text)) >= 6
                or len(text) > LONGEST
            ):
                continue
            if not _ABOUT_ME.search(text) or _QUESTION.search(text) or _REQUEST.search(text):
                continue
            notes.append(
                Note(
                    kind="said",
                    text=text,
                    who="you",
                    turn=turn.id,
                    when=message.created.astimezone(zone),
                )
            )
    return notes


def is_statement(text: str) -> bool:
    """Whether a sentence tells something about the speaker: no question, no request, not too long."""
    if len(text) > LONGEST or len(text) + 4 * len(re.findall(r"[\u4e00-\u9fff]", text)) < 6:
        return False
    return bool(_ABOUT_ME.search(text)) and not (_QUESTION.search(text) or _REQUEST.search(text))
