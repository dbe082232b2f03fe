"""Owns the shipped fake: a provider that answers from a list, for tests and ``scripted:FILE``."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from assistant.errors import Fault, ProviderError, UsageError
from assistant.providers.base import Delta, Reply, Request, replayable
from memory.transcript import ToolCall, Usage


class Scripted:
    """Gives its replies in order and records each request.

    A reply is a string, or ``{"text", "tool_calls": [{"name", "arguments"}], "stop", "fault",
    "message"}``; a ``fault`` is raised. After the last reply it says that the script has ended.
    """

    def __init__(self, replies: Iterable[str | dict[str, Any]], name: str = "scripted") -> None:
        self.name = name
        self.requests: list[Request] = []
        self._replies = iter(replies)
        self._count = 0

    @classmethod
    def from_file(cls, path: Path) -> Scripted:
        """Read replies from a JSON list, or from lines of JSON. Raises ``UsageError``."""
        try:
            text = path.read_text(encoding="utf-8")
            if text.lstrip().startswith("["):
                replies = json.loads(text)
            else:
                replies = [json.loads(line) for line in text.splitlines() if line.strip()]
        except (OSError, ValueError) as error:
            raise UsageError(
                f"The script {path} cannot be used: {error}. "
                "Next step: give a JSON list of replies, or one JSON value a line."
            ) from error
        return cls(replies, f"scripted:{path}")

    def stream(self, request: Request) -> Iterator[Delta | Reply]:
        """Yield the next reply word by word."""
        self.requests.append(request)
        reply = next(self._replies, "The script has ended.")
        data: dict[str, Any] = {"text": reply} if isinstance(reply, str) else reply
        self._count += 1
        if "fault" in data:
            raise ProviderError(
                Fault(data["fault"]),
                data.get("message", f"scripted fault: {data['fault']}"),
                retry_after=data.get("retry_after"),
            )
        text = data.get("text", "")
        for word in re.findall(r"\S+\s*|\s+", text):
            yield Delta(text=word)
        calls = tuple(
            ToolCall(
                id=call.get("id", f"call_{self._count}_{position}"),
                name=call["name"],
                arguments=_arguments(call.get("arguments", {})),
            )
            for position, call in enumerate(data.get("tool_calls", ()))
        )
        yield Reply(
            text=text,
            tool_calls=calls,
            stop=data.get("stop", "tool_calls" if calls else "end"),
            usage=Usage(input=len(request.messages), output=len(text.split()), calls=1),
        )


def _arguments(given: Any) -> str:
    return replayable(given if isinstance(given, str) else json.dumps(given, ensure_ascii=False))
