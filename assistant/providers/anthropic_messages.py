"""Owns the Anthropic messages wire.

The system prompt is top level; all results of one round stand first in one user message; signed
thinking goes back unchanged within the running tool loop and is left out of older turns.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from assistant.errors import Fault, ProviderError
from assistant.providers import faults
from assistant.providers.base import (
    CallCollector,
    Delta,
    Reply,
    Request,
    StopReason,
    prepared,
)
from memory.transcript import Message, Usage

if TYPE_CHECKING:
    import anthropic

_STOPS: Mapping[str, StopReason] = {
    "end_turn": "end",
    "stop_sequence": "end",
    "tool_use": "tool_calls",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "pause_turn": "pause",
    "refusal": "filtered",
}
_CACHED = {"type": "ephemeral"}


class AnthropicMessages:
    """A model behind ``/v1/messages``. ``base_url`` None means Anthropic itself."""

    def __init__(self, model: str, *, api_key: str, base_url: str | None, timeout_s: float) -> None:
        self.name = f"anthropic:{model}"
        self._model = model
        self._api_key = api_key
        self._base_url = base_url
        self._timeout_s = timeout_s
        self._client: anthropic.Anthropic | None = None
        self._limit: int | None = None
        self._dropped: set[str] = set()  # fields that this model or server refused, once each

    def stream(self, request: Request) -> Iterator[Delta | Reply]:
        """See :class:`assistant.providers.base.Provider`."""
        while True:
            try:
                yield from self._once(request)
                return
            except ProviderError as error:
                if not self._adapt(error, request):
                    raise

    def _adapt(self, error: ProviderError, request: Request) -> bool:
        """Change what a refusal names, each thing once; False when there is nothing to change."""
        refusal = str(error).lower()
        if error.fault in (Fault.PARAMETER, Fault.OVERFLOW):
            limit = faults.output_limit(refusal, self._limit or request.max_output_tokens)
            if limit:
                self._limit = limit
                return True
        if error.fault is Fault.HISTORY and ("thinking" in refusal or "signature" in refusal):
            names = ["thinking"]
        elif error.fault is Fault.PARAMETER:
            names = [name for name in ("temperature", "cache_control") if name in refusal]
        else:
            names = []
        fresh = set(names) - self._dropped
        self._dropped |= fresh
        return bool(fresh)

    def _once(self, request: Request) -> Iterator[Delta | Reply]:
        client = self._connect()
        import anthropic
        import httpx2

        try:
            stream = client.messages.create(**self._body(request))
        except anthropic.AnthropicError as error:
            raise _fault_of(error) from error
        except UnicodeError as error:  # a key that was copied with a curly quote
            raise faults.fault_error(Fault.AUTH, f"the key has odd characters ({error})") from error
        try:
            with faults.reading():
                kind = stream.response.headers.get("content-type", "")
                if "event-stream" not in kind and ("json" in kind or "html" in kind):
                    yield from _unstreamed(stream.response.read().decode("utf-8", "replace"))
                else:
                    yield from _read(stream)
        except anthropic.AnthropicError as error:
            raise _fault_of(error) from error
        except httpx2.TimeoutException as error:
            # The SDK lets the transport's own errors pass while it streams.
            raise faults.fault_error(Fault.TIMEOUT, "no byte within timeout_s") from error
        except httpx2.HTTPError as error:
            raise faults.fault_error(Fault.CUT, f"the stream broke ({error})") from error
        finally:
            stream.close()

    def _connect(self) -> anthropic.Anthropic:
        if self._client is None:
            import anthropic

            from assistant.providers import http

            self._client = anthropic.Anthropic(
                api_key=self._api_key,
                base_url=self._base_url,
                max_retries=0,  # retries are the loop's: it tells the user and keeps the budget
                http_client=http.client(self._timeout_s),
            )
        return self._client

    # -- request ----------------------------------------------------------------------------

    def _body(self, request: Request) -> dict[str, Any]:
        cached = {} if "cache_control" in self._dropped else {"cache_control": _CACHED}
        body: dict[str, Any] = {
            "model": self._model,
            "max_tokens": min(self._limit or request.max_output_tokens, request.max_output_tokens),
            "messages": self._messages(request),
            "stream": True,
        }
        if request.system.strip():
            # One breakpoint behind tools and system prompt, which never change in a session; the
            # growing rest is cached by the top-level field, so no marker moves through messages.
            body["system"] = [{"type": "text", "text": request.system, **cached}]
        if request.tools:
            body["tools"] = [
                {"name": t.name, "description": t.description, "input_schema": t.parameters}
                for t in request.tools
            ]
        if request.temperature is not None and "temperature" not in self._dropped:
            body["temperature"] = min(request.temperature, 1.0)
        return body | cached

    def _messages(self, request: Request) -> list[dict[str, Any]]:
        messages = prepared(request, self.name)
        asked = max((i for i, m in enumerate(messages) if m.role == "user"), default=0)
        wire: list[dict[str, Any]] = []
        for position, message in enumerate(messages):
            running = position > asked and "thinking" not in self._dropped
            role = "assistant" if message.role == "assistant" else "user"
            content = _content(message, keep_thinking=running)
            if not content:
                continue
            if wire and wire[-1]["role"] == role:
                wire[-1]["content"].extend(content)
            else:
                wire.append({"role": role, "content": content})
        return wire


def _content(message: Message, *, keep_thinking: bool) -> list[dict[str, Any]]:
    if message.role == "tool":
        block: dict[str, Any] = {
            "type": "tool_result",
            "tool_use_id": message.call_id,
            "content": message.text if message.text.strip() else "(no output)",
        }
        if message.error:
            block["is_error"] = True
        return [block]
    content: list[dict[str, Any]] = []
    if keep_thinking:
        content += [dict(block) for block in message.thinking]
    if message.text.strip():  # empty text blocks are refused
        content.append({"type": "text", "text": message.text})
    for call in message.tool_calls:
        content.append(
            {
                "type": "tool_use",
                "id": call.id,
                "name": call.name,
                "input": json.loads(call.arguments),
            }
        )
    return content


def _read(stream: Any) -> Iterator[Delta | Reply]:
    """Read the events of one answer."""
    text: list[str] = []
    thinking: dict[int, dict[str, Any]] = {}
    calls = CallCollector("anthropic")
    usage: dict[str, int] = {}
    stop, ended = "", False
    for event in stream:
        data: dict[str, Any] = event.to_dict(warnings=False)
        kind = data.get("type")
        if kind == "message_start":
            _merge(usage, (data.get("message") or {}).get("usage"))
        elif kind == "content_block_start":
            block, index = data.get("content_block") or {}, data.get("index", 0)
            if block.get("type") == "tool_use":
                given = block.get("input")
                first = json.dumps(given, ensure_ascii=False) if given else ""
                calls.add(index=index, id=block.get("id"), name=block.get("name"), arguments=first)
            elif block.get("type") in ("thinking", "redacted_thinking"):
                thinking[index] = dict(block)
            elif block.get("text"):
                text.append(block["text"])
                yield Delta(text=text[-1])
        elif kind == "content_block_delta":
            delta, index = data.get("delta") or {}, data.get("index", 0)
            if delta.get("type") == "text_delta" and delta.get("text"):
                text.append(delta["text"])
                yield Delta(text=text[-1])
            elif delta.get("type") == "input_json_delta":
                piece = delta.get("partial_json") or ""
                calls.add(index=index, id=None, name=None, arguments=piece)
            elif delta.get("type") == "thinking_delta":
                held = thinking.setdefault(index, {"type": "thinking", "thinking": ""})
                held["thinking"] = held.get("thinking", "") + (delta.get("thinking") or "")
                yield Delta(text=delta.get("thinking") or "", thinking=True)
            elif delta.get("type") == "signature_delta" and index in thinking:
                thinking[index]["signature"] = delta.get("signature") or ""
        elif kind == "message_delta":
            stop = (data.get("delta") or {}).get("stop_reason") or stop
            _merge(usage, data.get("usage"))
        elif kind == "message_stop":
            ended = True
    if not ended and not stop:
        raise faults.fault_error(Fault.CUT, "the stream ended before the answer did")
    yield _reply("".join(text), calls, list(thinking.values()), stop, usage)


def _unstreamed(body: str) -> Iterator[Delta | Reply]:
    """A server that ignores ``stream`` answers in one piece, or with an error page."""
    try:
        data = json.loads(body)
    except ValueError:
        raise faults.classify(502, {}, body) from None
    if (
        not isinstance(data, Mapping)
        or data.get("error")
        or not isinstance(data.get("content"), list)
    ):
        raise faults.classify(None, {}, data)
    calls = CallCollector("anthropic")
    text, thinking = "", []
    for index, block in enumerate(data["content"]):
        if block.get("type") == "text":
            text += block.get("text") or ""
        elif block.get("type") == "tool_use":
            arguments = json.dumps(block.get("input") or {}, ensure_ascii=False)
            calls.add(index=index, id=block.get("id"), name=block.get("name"), arguments=arguments)
        elif block.get("type") in ("thinking", "redacted_thinking"):
            thinking.append(dict(block))
    if text:
        yield Delta(text=text)
    usage: dict[str, int] = {}
    _merge(usage, data.get("usage"))
    yield _reply(text, calls, thinking, data.get("stop_reason") or "", usage)


def _reply(
    text: str,
    collector: CallCollector,
    thinking: list[dict[str, Any]],
    stop: str,
    usage: dict[str, int],
) -> Reply:
    calls = (
        collector.finish() if stop not in ("max_tokens", "model_context_window_exceeded") else ()
    )
    reason: StopReason = "tool_calls" if calls else _STOPS.get(stop, "end")
    if reason == "tool_calls" and not calls:
        reason = "end"
    if not text.strip() and not calls and reason != "pause":
        if reason == "filtered":
            raise faults.fault_error(Fault.FILTERED, "the model refused to answer")
        what = "only reasoning arrived" if thinking else "no text and no tool call arrived"
        raise faults.fault_error(Fault.EMPTY, what)
    read, written = (
        usage.get("cache_read_input_tokens", 0),
        usage.get("cache_creation_input_tokens", 0),
    )
    return Reply(
        text=text,
        tool_calls=calls,
        thinking=tuple(thinking),
        stop=reason,
        usage=Usage(
            input=usage.get("input_tokens", 0) + read + written,
            output=usage.get("output_tokens", 0),
            cached=read,
            calls=1,
        ),
    )


def _merge(usage: dict[str, int], more: Mapping[str, Any] | None) -> None:
    """Take over the counts of a later event; a zero or null there does not erase an earlier one."""
    for key, value in (more or {}).items():
        if isinstance(value, int) and value:
            usage[key] = value


def _fault_of(error: Any) -> ProviderError:
    import anthropic

    if isinstance(error, anthropic.APITimeoutError):
        return faults.fault_error(Fault.TIMEOUT, "no answer within timeout_s")
    if isinstance(error, anthropic.APIConnectionError):
        return faults.fault_error(Fault.CONNECTION, str(error.__cause__ or error))
    if isinstance(error, anthropic.APIStatusError):
        body = error.body if error.body is not None else error.response.text
        # An error event inside a stream carries the status of the stream: 200.
        status = error.status_code if error.status_code >= 400 else None
        return faults.classify(status, error.response.headers, body)
    return faults.fault_error(Fault.OTHER, str(error))
