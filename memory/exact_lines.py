"""Owns removing whole lines that quote a memory: what goes with a deleted session, and nothing else.

A text that merely holds the same words is somebody's own sentence in another conversation and stays.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection
from typing import Any

from memory import db
from memory.entries import MemoryFile
from memory.notes import strip_source
from memory.sessions import SessionStore

_PREFIX = re.compile(r"^\s*(?:[-*+]\s+)?(?:\d{4}-\d\d-\d\d: |\([^()]*\) |\[[^\[\]]*\] )?")
_SINCE = re.compile(r"\s*\((?:since )?\d{4}-\d\d-\d\d\)$")
_TOOL = 2
"""The role of a tool's answer in the archive."""


def plain(line: str) -> str:
    """Return what a bullet, a recalled line or a note says, without marks, day and source."""
    return strip_source(_PREFIX.sub("", line.strip(), count=1)).strip()


class ExactLines:
    """Removes lines and bullets that say exactly one of ``texts``; see ``Needle`` for its like."""

    def __init__(self, texts: Collection[str]) -> None:
        self._texts = {text.strip() for text in texts if text.strip()}

    def says(self, line: str) -> bool:
        """Whether a line, or a whole bullet, says one of the texts."""
        told = plain(line)
        return told in self._texts or _SINCE.sub("", told) in self._texts

    def within(self, text: str) -> bool:
        """Whether a line or bullet of ``text`` says one of them."""
        if not any(known.split("\n")[0] in text for known in self._texts):
            return False
        return any(map(self.says, text.splitlines())) or any(
            self.says(entry.text) for entry in MemoryFile(raw=text).entries
        )

    def without_bullets(self, text: str) -> str:
        """Return ``text`` without those lines and bullets."""
        if not self.within(text):
            return text
        file = MemoryFile(raw=text)
        for entry in reversed(file.entries):
            if self.says(entry.text):
                file = file.remove(entry)
        return "".join(line for line in file.raw.splitlines(keepends=True) if not self.says(line))

    def names(self, path: str) -> bool:
        """Whether a file is named after one of them: never."""
        return False

    def without_name(self, path: str) -> str:
        """Return ``path``: no file is named after a line."""
        return path


def remove_copies(store: SessionStore, lines: ExactLines) -> None:
    """Remove the copies of memories that travelled into other sessions: in system prompts, beside
    messages, and in what tools answered. What people and the assistant said there stays."""
    with db.transaction(store.connection()) as connection:
        rows = connection.execute(
            "SELECT id, role, text, data FROM messages WHERE role = ? OR data LIKE '%\"context\"%'",
            (_TOOL,),
        ).fetchall()
        for row in rows:
            text = lines.without_bullets(row["text"]) if row["role"] == _TOOL else row["text"]
            extras: dict[str, Any] = json.loads(row["data"]) if row["data"] else {}
            context = extras.get("context", "")
            less = lines.without_bullets(context)
            if text != row["text"] or less != context:
                if less != context:
                    extras["context"] = less
                data = json.dumps(extras, ensure_ascii=False) if extras else None
                connection.execute(
                    "UPDATE messages SET text = ?, data = ? WHERE id = ?", (text, data, row["id"])
                )
        for row in connection.execute("SELECT key, system_prompt FROM sessions").fetchall():
            less = lines.without_bullets(row["system_prompt"])
            if less != row["system_prompt"]:
                connection.execute(
                    "UPDATE sessions SET system_prompt = ? WHERE key = ?", (less, row["key"])
                )
        connection.execute("UPDATE hook_steps SET detail = ''")
    from memory.full_text import compact

    compact(store)
