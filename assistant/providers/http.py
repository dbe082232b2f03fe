"""Owns the HTTP client under both SDKs: time-outs between bytes that keep-alives cannot defeat."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import httpx2

CONNECT_S = 10.0


class StallGuard(httpx2.SyncByteStream):
    """A response body that raises ``ReadTimeout`` when only keep-alive comments arrive for too long.

    ``done`` tells whether the ``[DONE]`` that ends a stream of the OpenAI kind has passed.
    """

    def __init__(self, inner: Any, limit_s: float) -> None:
        self._inner = inner
        self._limit_s = limit_s
        self._tail = b""
        self.done = False

    def __iter__(self) -> Iterator[bytes]:
        last = time.monotonic()
        for chunk in self._inner:
            now = time.monotonic()
            if any(line and not line.startswith(b":") for line in chunk.splitlines()):
                last = now
            elif now - last > self._limit_s:
                raise httpx2.ReadTimeout(f"only keep-alives for {self._limit_s:.0f} s")
            self._tail = (self._tail + chunk)[-64:]
            self.done = self.done or b"[DONE]" in self._tail
            yield chunk

    def close(self) -> None:
        """Close the body beneath."""
        self._inner.close()


def client(timeout_s: float) -> httpx2.Client:
    """Return a client that gives up after ``timeout_s`` seconds without a meaningful byte."""

    def guard(response: httpx2.Response) -> None:
        response.stream = StallGuard(response.stream, timeout_s)

    return httpx2.Client(
        timeout=httpx2.Timeout(timeout_s, connect=min(CONNECT_S, timeout_s)),
        follow_redirects=True,
        event_hooks={"response": [guard]},
    )
