"""A local HTTP server that speaks OpenAI chat completions and Anthropic messages as streams.

Real SDKs talk to it over loopback; replies are scripted, requests recorded. A reply is text, a dict
``{"text", "tool_calls": [{"name", "arguments"}], "stop"}``, or a :class:`Raw` answer.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True)
class Raw:
    """A response exactly as given; ``pause_s`` waits between its chunks."""

    chunks: tuple[bytes, ...] = ()
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    kind: str = "text/event-stream"
    pause_s: float = 0.0

    @classmethod
    def json(cls, value: Any, status: int = 200, **headers: str) -> Raw:
        return cls(
            chunks=(json.dumps(value).encode(),),
            status=status,
            headers={k.replace("_", "-"): v for k, v in headers.items()},
            kind="application/json",
        )

    @classmethod
    def sse(cls, *events: Any, done: bool = True) -> Raw:
        """Chat-completion chunks, then ``[DONE]``."""
        chunks = [f"data: {json.dumps(e, ensure_ascii=False)}\n\n".encode() for e in events]
        return cls(chunks=(*chunks, *((b"data: [DONE]\n\n",) if done else ())))

    @classmethod
    def events(cls, *events: dict[str, Any]) -> Raw:
        """Named events, as the Anthropic wire has them."""
        return cls(
            chunks=tuple(
                f"event: {e['type']}\ndata: {json.dumps(e, ensure_ascii=False)}\n\n".encode()
                for e in events
            )
        )


def openai_chunk(delta: Any, finish: str | None = None, **more: Any) -> dict[str, Any]:
    return {
        "id": "c1",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": "m",
        "choices": [{"index": 0, "delta": delta, "finish_reason": finish}],
        **more,
    }


def openai_stream(reply: dict[str, Any]) -> Raw:
    chunks: list[Any] = [openai_chunk({"role": "assistant", "content": ""})]
    for piece in re.findall(r"\S+\s*|\s+", reply.get("text", "")):
        chunks.append(openai_chunk({"content": piece}))
    for index, call in enumerate(reply.get("tool_calls", [])):
        arguments = call["arguments"]
        text = arguments if isinstance(arguments, str) else json.dumps(arguments)
        function = {"name": call["name"], "arguments": ""}
        first = {"index": index, "id": call.get("id", f"call_{index}"), "type": "function"}
        chunks.append(openai_chunk({"tool_calls": [{**first, "function": function}]}))
        for piece in (text[: len(text) // 2], text[len(text) // 2 :]):
            chunks.append(
                openai_chunk({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
            )
    stop = reply.get("stop") or ("tool_calls" if reply.get("tool_calls") else "stop")
    chunks.append(openai_chunk({}, stop))
    usage = {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}
    chunks.append({**openai_chunk({}), "choices": [], "usage": usage})
    return Raw.sse(*chunks)


def anthropic_events(reply: dict[str, Any]) -> list[dict[str, Any]]:
    events: list[dict[str, Any]] = [
        {
            "type": "message_start",
            "message": {
                "id": "m1",
                "type": "message",
                "role": "assistant",
                "content": [],
                "model": "m",
                "stop_reason": None,
                "stop_sequence": None,
                "usage": {"input_tokens": 11, "output_tokens": 1},
            },
        }
    ]
    index = 0

    def block(start: dict[str, Any], *deltas: dict[str, Any]) -> None:
        nonlocal index
        events.append({"type": "content_block_start", "index": index, "content_block": start})
        for delta in deltas:
            events.append({"type": "content_block_delta", "index": index, "delta": delta})
        events.append({"type": "content_block_stop", "index": index})
        index += 1

    if thinking := reply.get("thinking"):
        block(
            {"type": "thinking", "thinking": "", "signature": ""},
            {"type": "thinking_delta", "thinking": thinking},
            {"type": "signature_delta", "signature": f"sig({thinking})"},
        )
    if text := reply.get("text"):
        block({"type": "text", "text": ""}, {"type": "text_delta", "text": text})
    for number, call in enumerate(reply.get("tool_calls", [])):
        start = {"type": "tool_use", "id": call.get("id", f"toolu_{number}"), "name": call["name"]}
        arguments = json.dumps(call["arguments"])
        half = len(arguments) // 2
        block(
            {**start, "input": {}},
            {"type": "input_json_delta", "partial_json": arguments[:half]},
            {"type": "input_json_delta", "partial_json": arguments[half:]},
        )
    stop = reply.get("stop") or ("tool_use" if reply.get("tool_calls") else "end_turn")
    events.append(
        {
            "type": "message_delta",
            "delta": {"stop_reason": stop, "stop_sequence": None},
            "usage": {"output_tokens": 7},
        }
    )
    events.append({"type": "message_stop"})
    return events


class ModelServer:
    """Answers POSTs with its replies in order (the last one for ever); ``requests`` are the bodies."""

    def __init__(self, replies: Iterable[Any]) -> None:
        self.replies = list(replies)
        self.requests: list[dict[str, Any]] = []
        self.raw_requests: list[bytes] = []
        self.headers: list[dict[str, str]] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *args: Any) -> None:
                pass

            def do_GET(self) -> None:
                self._send(Raw.json({"data": [{"id": "local-model"}]}))

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                with outer._lock:
                    outer.raw_requests.append(body)
                    outer.requests.append(json.loads(body))
                    outer.headers.append({k.lower(): v for k, v in self.headers.items()})
                    reply = outer.replies.pop(0) if len(outer.replies) > 1 else outer.replies[0]
                if isinstance(reply, str):
                    reply = {"text": reply}
                if isinstance(reply, dict):
                    reply = (
                        openai_stream(reply)
                        if "chat/completions" in self.path
                        else Raw.events(*anthropic_events(reply))
                    )
                self._send(reply)

            def _send(self, raw: Raw) -> None:
                self.send_response(raw.status)
                self.send_header("content-type", raw.kind)
                self.send_header("connection", "close")
                for name, value in raw.headers.items():
                    self.send_header(name, value)
                self.end_headers()
                self.close_connection = True
                try:
                    for chunk in raw.chunks:
                        self.wfile.write(chunk)
                        self.wfile.flush()
                        if raw.pause_s and outer._stopped.wait(raw.pause_s):
                            return
                except (BrokenPipeError, ConnectionResetError):
                    pass

        self._lock = threading.Lock()
        self._stopped = threading.Event()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> ModelServer:
        self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._stopped.set()
        self._server.shutdown()
        self._server.server_close()


def serve(*replies: Any) -> Iterator[ModelServer]:
    with ModelServer(replies) as server:
        yield server
