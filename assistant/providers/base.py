"""Owns what a provider is, and what all of them do alike before and after the wire.

A provider turns a :class:`Request` into a stream of deltas that ends with one :class:`Reply`, or
raises :class:`assistant.errors.ProviderError`. It keeps no conversation.
"""

from __future__ import annotations

import ast
import hashlib
import json
import math
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Protocol

from assistant.errors import Fault, ProviderError
from memory.clean import clean
from memory.transcript import Message, ToolCall, Usage, legal

StopReason = Literal["end", "tool_calls", "length", "filtered", "pause"]
MALFORMED = "__malformed__"
"""Key under which arguments that are no JSON object travel, so that every replay is valid JSON."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSpec:
    """What a model is told of a tool; ``parameters`` is a JSON schema of type object."""

    name: str
    description: str
    parameters: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One model call. ``messages`` is the full record; each provider makes its own wire copy."""

    system: str
    messages: Sequence[Message]
    tools: Sequence[ToolSpec] = ()
    max_output_tokens: int = 8192
    temperature: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Delta:
    """A piece of text as it arrives; ``thinking`` pieces are no part of the answer."""

    text: str
    thinking: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """The whole answer. ``thinking`` holds blocks to be sent back to the same provider."""

    text: str
    tool_calls: tuple[ToolCall, ...] = ()
    thinking: tuple[Mapping[str, Any], ...] = ()
    stop: StopReason = "end"
    usage: Usage = field(default_factory=Usage)


class Provider(Protocol):
    """A language model behind a wire format."""

    name: str
    """Wire format and model, such as ``openai:gpt-5``: shown, stored, and what ``thinking``
    blocks are bound to."""

    def stream(self, request: Request) -> Iterator[Delta | Reply]:
        """Yield deltas, then exactly one reply. Raises ``ProviderError``.

        Closing the iterator ends the connection.
        """
        ...


def parse_arguments(raw: str) -> dict[str, Any] | None:
    """Return tool-call arguments as a dict, or None when they are not an object.

    Models and servers send '', 'null', fences, trailing commas and Python literals; these are
    mended. Half an object is not: a guess would run the tool on something nobody asked for.
    """
    text = raw.strip()
    if text in ("", "null", "None", "{}"):
        return {}
    fenced = re.fullmatch(r"```(?:json)?\s*(.*?)\s*```", text, re.DOTALL)
    if fenced:
        text = fenced[1]
    for read in (json.loads, _without_trailing_commas, ast.literal_eval):
        try:
            value = read(text)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            continue
        if isinstance(value, str) and read is json.loads:  # encoded twice
            try:
                value = json.loads(value)
            except ValueError:
                return None
        return value if isinstance(value, dict) and all(isinstance(k, str) for k in value) else None
    return None


def _without_trailing_commas(text: str) -> Any:
    return json.loads(re.sub(r",(\s*[}\]])", r"\1", text))


def replayable(raw: str) -> str:
    """Return tool-call arguments as JSON text that every server accepts when they are sent back."""
    value = parse_arguments(raw)
    if value is None:
        value = {MALFORMED: raw}
    try:
        return json.dumps(_cleaned(value), ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError):  # a Python literal that JSON does not know, such as a set
        return json.dumps({MALFORMED: clean(raw)}, ensure_ascii=False)


def _cleaned(value: Any) -> Any:
    """Clean every string inside; cleaning the JSON text instead could break it."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, dict):
        return {clean(key): _cleaned(item) for key, item in value.items()}
    return [_cleaned(item) for item in value] if isinstance(value, list) else value


class CallCollector:
    """Puts streamed pieces of tool calls together, whatever the server leaves out or repeats.

    Pieces belong together by index; without one, a new id or a new name begins the next call.
    Empty values never overwrite. Ids that are missing or used twice are made up, stable for the
    same reply.
    """

    def __init__(self, seed: str) -> None:
        self._seed = seed
        self._calls: list[dict[str, Any]] = []

    def add(self, *, index: int | None, id: str | None, name: str | None, arguments: str) -> None:
        """Take one piece."""
        call = self._find(index, id, name)
        if id and not call["id"]:
            call["id"] = id
        if name and not call["name"]:
            call["name"] = name
        call["arguments"] += arguments

    def _find(self, index: int | None, id: str | None, name: str | None) -> dict[str, Any]:
        known = [c for c in self._calls if index is None or c["index"] == index]
        if index is None and id and (same := [c for c in known if c["id"] == id]):
            return same[-1]
        if known and not self._begins_another(known[-1], id, name):
            return known[-1]
        call = {"index": index, "id": "", "name": "", "arguments": ""}
        self._calls.append(call)
        return call

    @staticmethod
    def _begins_another(last: Mapping[str, Any], id: str | None, name: str | None) -> bool:
        """Whether a piece that could go on with ``last`` is another call all the same: some
        servers give every call the same index, or none."""
        if id and last["id"]:
            return bool(id != last["id"])
        if not name or not last["name"]:
            return False
        whole = bool(last["arguments"]) and parse_arguments(last["arguments"]) is not None
        return whole or bool(name != last["name"])

    def finish(self) -> tuple[ToolCall, ...]:
        """Return the calls in order, each with a unique id and replayable arguments."""
        seen: set[str] = set()
        calls = []
        for position, call in enumerate(self._calls):
            if not call["name"]:
                continue
            id = call["id"]
            if not id or id in seen:
                digest = hashlib.sha256(f"{self._seed}/{position}".encode()).hexdigest()[:16]
                id = f"call_{digest}"
            seen.add(id)
            calls.append(
                ToolCall(id=id, name=call["name"], arguments=replayable(call["arguments"]))
            )
        return tuple(calls)


_THINK = re.compile(r"<think(?:ing)?>(.*?)(?:</think(?:ing)?>|\Z)", re.DOTALL)
_OPEN = ("<think>", "<thinking>")


class ThinkFilter:
    """Splits a text stream into answer and ``<think>`` reasoning, also when a tag is cut in two.

    Only a tag at the very start counts: later ones are somebody's example.
    """

    def __init__(self) -> None:
        self._buffer = ""
        self._state: Literal["start", "thinking", "answer"] = "start"

    def feed(self, piece: str) -> Iterator[Delta]:
        """Yield what the pieces so far make certain."""
        if self._state == "answer":
            yield Delta(text=piece)
            return
        self._buffer += piece
        if self._state == "start":
            head = self._buffer.lstrip()
            if any(tag.startswith(head) for tag in _OPEN if len(head) < len(tag)):
                return
            opened = next((tag for tag in _OPEN if head.startswith(tag)), None)
            if opened is None:
                yield from self._answer(self._buffer)
                return
            self._state, self._buffer = "thinking", head[len(opened) :]
        closed = re.search(r"</think(?:ing)?>\s*", self._buffer)
        if closed:
            yield Delta(text=self._buffer[: closed.start()], thinking=True)
            yield from self._answer(self._buffer[closed.end() :])
        elif len(self._buffer) > 24:
            yield Delta(text=self._buffer[:-24], thinking=True)
            self._buffer = self._buffer[-24:]

    def _answer(self, text: str) -> Iterator[Delta]:
        self._state, self._buffer = "answer", ""
        if text:
            yield Delta(text=text)

    def flush(self) -> Iterator[Delta]:
        """Yield the rest; an unclosed ``<think>`` stays reasoning."""
        if self._buffer:
            yield Delta(text=self._buffer, thinking=self._state == "thinking")
            self._buffer = ""


_LEAK_MARK = re.compile(
    r"<tool_call>|<\|tool_call_start\|>|\[TOOL_CALLS\]|^\w{1,64}\[ARGS\]", re.MULTILINE
)
_LEAK_MARKS = ("<tool_call>", "<|tool_call_start|>", "[TOOL_CALLS]")
_NAME_BEGUN = re.compile(r"\w{1,64}(?:\[A?R?G?S?)?")
_LEAKED = re.compile(
    r"\s*(?:<tool_call>\s*(?P<hermes>\{.*?\})\s*(?:</tool_call>|\Z)"
    r"|<\|tool_call_start\|>\s*\[?(?P<liquid>\w+)\((?P<largs>.*?)\)\]?\s*(?:<\|tool_call_end\|>|\Z)"
    r"|(?P<mistral>\w+)\[ARGS\]\s*(?P<margs>\{.*?\})(?=\s*(?:\Z|\w+\[ARGS\]))"
    r"|\[TOOL_CALLS\]\s*(?P<list>\[.*\]))\s*",
    re.DOTALL,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class LeakedCall:
    """A tool call that a server left in the text; the calls begin at ``start`` of it."""

    name: str
    arguments: str
    start: int


def leak_start(text: str) -> int:
    """Return how much of ``text``, as it has arrived so far, is certainly no leaked tool call."""
    place = _first_mark(text)
    if place is not None:
        return place
    line = text.rfind("\n") + 1
    if _NAME_BEGUN.fullmatch(text, line):
        return line
    for length in range(min(len(text), 19), 0, -1):
        if any(mark.startswith(text[-length:]) for mark in _LEAK_MARKS):
            return len(text) - length
    return len(text)


def _first_mark(text: str) -> int | None:
    for mark in _LEAK_MARK.finditer(text):
        before = text[: mark.start()]
        # Inside code it is an example.
        if before.count("```") % 2 == 0 and before.rpartition("\n")[2].count("`") % 2 == 0:
            return mark.start()
    return None


def leaked_calls(text: str, names: Sequence[str]) -> list[LeakedCall]:
    """Return the tool calls that a server failed to parse: those that *end* the text.

    A call with text behind it is a quotation and stays text; so is one of an unknown tool.
    """
    start = _first_mark(text)
    if start is None:
        return []
    found: list[LeakedCall] = []
    position = start
    while position < len(text):
        match = _LEAKED.match(text, position)
        if match is None:
            return []
        for name, arguments in _named(match):
            if name not in names:
                return []
            found.append(LeakedCall(name=name, arguments=replayable(arguments), start=start))
        position = match.end()
    return found


def _named(match: re.Match[str]) -> list[tuple[str, str]]:
    if match["mistral"]:
        return [(match["mistral"], match["margs"])]
    if match["liquid"]:
        try:
            call = ast.parse(f"f({match['largs']})", mode="eval").body
            assert isinstance(call, ast.Call)
            pairs = {k.arg: ast.literal_eval(k.value) for k in call.keywords if k.arg}
        except (SyntaxError, ValueError):
            return [("", "")]
        return [(match["liquid"], json.dumps(pairs, ensure_ascii=False))]
    try:
        value = json.loads(match["hermes"] or match["list"])
    except ValueError:
        return [("", "")]
    rows = value if isinstance(value, list) else [value]
    return [_name_and_arguments(row) for row in rows] or [("", "")]


def _name_and_arguments(row: Any) -> tuple[str, str]:
    if not isinstance(row, dict):
        return "", ""
    given = row.get("arguments", row.get("parameters", {}))
    return str(row.get("name", "")), given if isinstance(given, str) else json.dumps(given)


def prepared(request: Request, provider: str) -> list[Message]:
    """Return the messages of a request as any wire format may take them.

    Legal pairs only; ids short and plain; thinking kept only where ``provider`` made it; no empty
    user text; two messages of one role in a row become one (strict local templates refuse them).
    """
    ids: dict[str, str] = {}
    out: list[Message] = []
    for message in legal(request.messages):
        if message.thinking and message.provider != provider:
            message = replace(message, thinking=())
        if message.tool_calls:
            calls = tuple(replace(c, id=_wire_id(c.id, ids)) for c in message.tool_calls)
            message = replace(message, tool_calls=calls)
        elif message.role == "tool":
            message = replace(message, call_id=_wire_id(message.call_id, ids))
        if message.role == "user":
            message = replace(message, text=wire_text(message), context="")
        if out and _joins(out[-1], message):
            joined = f"{out[-1].text}\n\n{message.text}".strip()
            out[-1] = replace(
                out[-1],
                text=joined,
                tool_calls=message.tool_calls,
                thinking=(*out[-1].thinking, *message.thinking),
            )
        else:
            out.append(message)
    return out


def wire_text(message: Message) -> str:
    """Return a user message as the model reads it: what was said, then what travels with it."""
    said = message.text.strip() or "(empty message)"
    return f"{said}\n\n{message.context}" if message.context else said


def _joins(before: Message, message: Message) -> bool:
    if before.role != message.role or message.role == "tool":
        return False
    return not before.tool_calls


def _wire_id(id: str, known: dict[str, str]) -> str:
    if re.fullmatch(r"[a-zA-Z0-9_-]{1,40}", id):
        return id
    return known.setdefault(id, "call_" + hashlib.sha256(id.encode()).hexdigest()[:24])


def clean_part(part: Delta | Reply) -> Delta | Reply:
    """Return a part of an answer without what breaks JSON, SQLite or a terminal.

    The one entrance of model text; every consumer of ``stream`` passes parts through here.
    """
    if isinstance(part, Delta):
        return replace(part, text=clean(part.text))
    calls = tuple(replace(c, id=clean(c.id), name=clean(c.name)) for c in part.tool_calls)
    thinking = tuple(_cleaned(dict(block)) for block in part.thinking)
    return replace(part, text=clean(part.text), tool_calls=calls, thinking=thinking)


def complete(provider: Provider, prompt: str, *, system: str = "", max_tokens: int = 1024) -> str:
    """Return the text that a provider answers to one prompt: for set-up and background work."""
    return complete_reply(provider, prompt, system=system, max_tokens=max_tokens).text


def complete_reply(
    provider: Provider,
    prompt: str,
    *,
    system: str = "",
    max_tokens: int = 1024,
    seconds: float = math.inf,
) -> Reply:
    """Return the reply to one prompt, with its usage. Raises ``ProviderError``, also for an answer
    that takes longer than ``seconds``.

    Background calls stream like all others: an SDK refuses long ones that do not.
    """
    from datetime import UTC, datetime

    start = time.monotonic()
    message = Message(role="user", text=prompt, created=datetime.now(UTC))
    request = Request(system=system, messages=[message], max_output_tokens=max_tokens)
    for part in map(clean_part, provider.stream(request)):
        if isinstance(part, Reply):
            return part
        if time.monotonic() - start > seconds:
            raise ProviderError(Fault.TIMEOUT, f"The answer took longer than {seconds:.0f} s.")
    return Reply(text="")
