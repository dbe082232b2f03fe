"""Owns the OpenAI chat completions wire: OpenAI and every server that imitates it.

Facts of the wire and its imitations: see "Provider protocol quirks" in docs/providers.md.
"""

from __future__ import annotations

import hashlib
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from assistant.errors import Fault, ProviderError
from assistant.providers import faults
from assistant.providers.base import (
    CallCollector,
    Delta,
    Reply,
    Request,
    StopReason,
    ThinkFilter,
    leak_start,
    leaked_calls,
    prepared,
)
from memory.transcript import Message, ToolCall, Usage

if TYPE_CHECKING:
    import openai

_REASONING_FIELDS = ("reasoning_content", "reasoning")


class OpenAIChat:
    """A model behind ``/chat/completions``. ``base_url`` None means OpenAI itself."""

    def __init__(self, model: str, *, api_key: str, base_url: str | None, timeout_s: float) -> None:
        self.name = f"openai:{model}"
        self._model = model
        self._api_key = api_key
        self._base_url = base_url
        self._timeout_s = timeout_s
        self._client: openai.OpenAI | None = None
        # What this model was found not to take; learned from its own refusals, once each.
        self._limit_field = "max_tokens" if base_url else "max_completion_tokens"
        self._limit: int | None = None
        self._dropped: set[str] = set()
        self._extra: dict[str, Any] = {}

    def stream(self, request: Request) -> Iterator[Delta | Reply]:
        """See :class:`assistant.providers.base.Provider`."""
        while True:
            try:
                yield from self._once(request)
                return
            except ProviderError as error:
                if not self._adapt(error, request):
                    raise

    def _once(self, request: Request) -> Iterator[Delta | Reply]:
        client = self._connect()
        import openai

        try:
            stream = client.chat.completions.create(**self._body(request))
        except openai.OpenAIError as error:
            raise _fault_of(error) from error
        except UnicodeError as error:  # a key that was copied with a curly quote
            raise faults.fault_error(Fault.AUTH, f"the key has odd characters ({error})") from error
        try:
            with faults.reading():
                kind = stream.response.headers.get("content-type", "")
                if "event-stream" not in kind and ("json" in kind or "html" in kind):
                    body = stream.response.read().decode("utf-8", "replace")
                    yield from self._unstreamed(body, request)
                else:
                    yield from self._read(stream, request)
        except openai.OpenAIError as error:
            raise _fault_of(error) from error
        finally:
            stream.close()

    def _connect(self) -> openai.OpenAI:
        if self._client is None:
            with _without_aiohttp():
                import openai
            from assistant.providers import http

            self._client = openai.OpenAI(
                api_key=self._api_key,
                base_url=self._base_url,
                max_retries=0,  # retries are the loop's: it tells the user and keeps the budget
                http_client=http.client(self._timeout_s),
            )
        return self._client

    # -- request ----------------------------------------------------------------------------

    def _body(self, request: Request) -> dict[str, Any]:
        body: dict[str, Any] = {
            "model": self._model,
            "messages": self._messages(request),
            "stream": True,
            "stream_options": {"include_usage": True},
            self._limit_field: min(
                self._limit or request.max_output_tokens, request.max_output_tokens
            ),
            **self._extra,
        }
        if request.temperature is not None:
            body["temperature"] = request.temperature
        if request.tools:
            body["tools"] = [
                {
                    "type": "function",
                    "function": {
                        "name": tool.name,
                        "description": tool.description,
                        "parameters": tool.parameters,
                    },
                }
                for tool in request.tools
            ]
        return {key: value for key, value in body.items() if key not in self._dropped}

    def _messages(self, request: Request) -> list[dict[str, Any]]:
        system = [{"role": "system", "content": request.system}] if request.system.strip() else []
        return system + [self._message(message) for message in prepared(request, self.name)]

    def _message(self, message: Message) -> dict[str, Any]:
        if message.role == "tool":
            return {
                "role": "tool",
                "tool_call_id": message.call_id,
                "content": message.text or "(no output)",
            }
        wire: dict[str, Any] = {"role": message.role, "content": message.text or None}
        if message.tool_calls:
            wire["tool_calls"] = [
                {
                    "id": call.id,
                    "type": "function",
                    "function": {"name": call.name, "arguments": call.arguments},
                }
                for call in message.tool_calls
            ]
            for block in message.thinking:  # some models insist on it, others never send any
                wire[block["field"]] = block["text"]
        return wire

    def _adapt(self, error: ProviderError, request: Request) -> bool:
        """Change what a refusal names, each thing once; False when there is nothing to change."""
        refusal = str(error)
        if error.fault in (Fault.PARAMETER, Fault.OVERFLOW):
            limit = faults.output_limit(refusal, self._limit or request.max_output_tokens)
            if limit:
                self._limit = limit
                return True
        if error.fault is not Fault.PARAMETER:
            return False
        for name in ("max_completion_tokens", "max_tokens"):
            if name == self._limit_field and re.search(rf"\b{name}\b", refusal):
                # Either name may be refused; one that was refused is not tried again.
                self._dropped.add(name)
                other = {"max_completion_tokens": "max_tokens"}.get(name, "max_completion_tokens")
                self._limit_field = other
                return other not in self._dropped
        for name in ("temperature", "stream_options"):
            if name in refusal and name not in self._dropped:
                self._dropped.add(name)
                return True
        if "reasoning_effort" in refusal and not self._extra:
            self._extra["reasoning_effort"] = "none"
            return True
        return False

    # -- response ---------------------------------------------------------------------------

    def _read(self, stream: Any, request: Request) -> Iterator[Delta | Reply]:
        state = _Reading(request, self._base_url or "")
        for chunk in stream:
            yield from state.take(chunk.to_dict(warnings=False))
        yield from state.finish(complete=bool(getattr(stream.response.stream, "done", False)))

    def _unstreamed(self, body: str, request: Request) -> Iterator[Delta | Reply]:
        """A server that ignores ``stream`` answers in one piece, or with an error page."""
        import json

        try:
            data = json.loads(body)
        except ValueError:
            raise faults.classify(502, {}, body) from None
        if not isinstance(data, Mapping) or data.get("error") or not data.get("choices"):
            raise faults.classify(None, {}, data)
        choice = data["choices"][0]
        state = _Reading(request, self._base_url or "")
        message = dict(choice.get("message") or {})
        yield from state.take(
            {
                "choices": [{"delta": message, "finish_reason": choice.get("finish_reason")}],
                "usage": data.get("usage"),
            }
        )
        yield from state.finish(complete=True)


class _Reading:
    """What has arrived of one answer."""

    def __init__(self, request: Request, seed: str) -> None:
        self._names = [tool.name for tool in request.tools]
        digest = hashlib.sha256(f"{seed}{len(request.messages)}".encode())
        self._calls = CallCollector(digest.hexdigest())
        self._think = ThinkFilter()
        self._text = ""
        self._shown = 0
        """How much of the text was shown; what may be a leaked tool call is held back."""
        self._reasoning: dict[str, str] = {}
        self._finish = ""
        self._usage = Usage(calls=1)

    def take(self, chunk: Mapping[str, Any]) -> Iterator[Delta]:
        """Read one chunk and yield what can be shown of it."""
        if chunk.get("error"):
            raise faults.classify(None, {}, chunk)
        if isinstance(usage := chunk.get("usage"), Mapping):
            self._usage = _usage_of(usage)
        for choice in (chunk.get("choices") or [])[:1]:
            if not isinstance(choice, Mapping):
                continue
            delta = choice.get("delta") or choice.get("message") or {}
            for piece in self._text_pieces(delta):
                yield from piece
            pieces = [call for call in delta.get("tool_calls") or [] if isinstance(call, Mapping)]
            for position, call in enumerate(pieces):
                function = call.get("function") or {}
                index = call.get("index")
                self._calls.add(
                    index=index if index is not None or len(pieces) == 1 else position,
                    id=call.get("id"),
                    name=function.get("name"),
                    arguments=_arguments_text(function.get("arguments")),
                )
            reason = choice.get("finish_reason") or ""
            if reason == "error":
                raise faults.classify(None, {}, choice.get("error") or chunk)
            self._finish = reason or self._finish

    def _text_pieces(self, delta: Mapping[str, Any]) -> Iterator[Iterator[Delta]]:
        for name in _REASONING_FIELDS:
            value = delta.get(name)
            if isinstance(value, str) and value:
                self._reasoning[name] = self._reasoning.get(name, "") + value
                yield iter([Delta(text=value, thinking=True)])
                break
        content = delta.get("content") or delta.get("refusal")
        if isinstance(content, list):  # some servers send parts, as in requests
            content = "".join(
                part if isinstance(part, str) else str(part.get("text", "")) for part in content
            )
        if content:
            yield self._show(self._think.feed(content))

    def _show(self, deltas: Iterator[Delta]) -> Iterator[Delta]:
        for delta in deltas:
            if delta.thinking:
                yield delta
                continue
            self._text += delta.text
            upto = leak_start(self._text)
            if upto > self._shown:
                piece, self._shown = self._text[self._shown : upto], upto
                yield Delta(text=piece)

    def finish(self, *, complete: bool) -> Iterator[Delta | Reply]:
        """Yield what was held back and the reply. Raises when the answer is none."""
        yield from self._show(self._think.flush())
        calls = self._calls.finish()
        if not calls and (leaked := leaked_calls(self._text, self._names)):
            self._text = self._text[: leaked[0].start].rstrip()
            calls = tuple(
                ToolCall(id=f"call_leaked{n}", name=call.name, arguments=call.arguments)
                for n, call in enumerate(leaked)
            )
        elif self._shown < len(self._text):
            yield Delta(text=self._text[self._shown :])
        if not self._finish and not complete:
            raise faults.fault_error(Fault.CUT, "the stream ended before the answer did")
        if self._finish == "content_filter" and not self._text:
            raise faults.fault_error(Fault.FILTERED, "the provider gave no text")
        if not self._text.strip() and not calls:
            what = (
                "only reasoning arrived" if self._reasoning else "no text and no tool call arrived"
            )
            raise faults.fault_error(Fault.EMPTY, what)
        if self._finish == "length" and calls:
            calls = ()  # half a call must not run
            if not self._text.strip():
                what = "a tool call did not fit into max_output_tokens"
                raise faults.fault_error(Fault.CUT, what)
        yield Reply(
            text=self._text,
            tool_calls=calls,
            thinking=tuple({"field": name, "text": text} for name, text in self._reasoning.items()),
            stop=self._stop(calls),
            usage=self._usage,
        )

    def _stop(self, calls: tuple[ToolCall, ...]) -> StopReason:
        # Servers say 'stop', '' or nothing beside tool calls: what arrived decides.
        if calls:
            return "tool_calls"
        if self._finish == "length":
            return "length"
        return "filtered" if self._finish == "content_filter" else "end"


def _arguments_text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    import json

    return json.dumps(value, ensure_ascii=False)  # an object where the format has a string


def _usage_of(usage: Mapping[str, Any]) -> Usage:
    prompt = usage.get("prompt_tokens_details") or {}
    completion = usage.get("completion_tokens_details") or {}
    return Usage(
        input=int(usage.get("prompt_tokens") or 0),
        output=int(usage.get("completion_tokens") or 0),
        cached=int(prompt.get("cached_tokens") or 0),
        reasoning=int(completion.get("reasoning_tokens") or 0),
        calls=1,
    )


def _fault_of(error: Any) -> ProviderError:
    import openai

    if isinstance(error, openai.APITimeoutError):
        return faults.fault_error(Fault.TIMEOUT, "no answer within timeout_s")
    if isinstance(error, openai.APIConnectionError):
        cause = error.__cause__ or error
        if "incomplete" in str(cause) or "RemoteProtocol" in type(cause).__name__:
            return faults.fault_error(Fault.CUT, "the connection closed in the middle")
        return faults.fault_error(Fault.CONNECTION, f"{cause}")
    if isinstance(error, openai.APIStatusError):
        body = error.body if error.body is not None else error.response.text
        return faults.classify(error.status_code, error.response.headers, body)
    if isinstance(error, openai.APIError):
        return faults.classify(None, {}, error.body or error.message)
    return faults.fault_error(Fault.OTHER, str(error))


@contextmanager
def _without_aiohttp() -> Iterator[None]:
    """Import the SDK as if aiohttp were not installed.

    It probes for aiohttp to offer a transport that we never use; where chromadb has brought
    aiohttp along, that probe costs 0.15 s of CPU and 9 MB (measured, benchmarks/startup.py).
    """
    if "aiohttp" in sys.modules:
        yield
        return
    sys.modules["aiohttp"] = None  # type: ignore[assignment]
    try:
        yield
    finally:
        del sys.modules["aiohttp"]
