"""Owns the model calls that nobody waits for: what they may cost a turn and a day, and the ledger."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import datetime

from assistant.config import Learning
from assistant.errors import Fault, ProviderError
from assistant.providers.base import Provider, complete_reply
from memory.owed import OwedSteps, Spent
from memory.transcript import Usage

CHARACTERS_A_TOKEN = 4
"""For a call that failed: nobody says what it cost, and a failing model must not be free."""


class OverBudget(ProviderError):
    """The limits of a turn or of the day do not allow a further call; nothing was sent."""

    def __init__(self, what: str) -> None:
        super().__init__(Fault.QUOTA, f"learning has used its {what}; the rules go on alone")


class BackgroundModel:
    """A provider behind the limits of ``learning``; one for each turn that is worked on."""

    def __init__(
        self, provider: Provider, owed: OwedSteps, limits: Learning, now: Callable[[], datetime]
    ) -> None:
        self._provider = provider
        self._owed = owed
        self._limits = limits
        self._now = now
        self._turn = Spent()

    def complete(self, source: str, prompt: str, *, max_tokens: int = 1024) -> str:
        """Return the answer to ``prompt``, empty when it was cut off; book it under ``source``.

        Raises :class:`OverBudget` before anything is sent and ``ProviderError`` as the provider does.
        """
        seconds = self._seconds_left()
        usage = Usage(calls=1, input=len(prompt) // CHARACTERS_A_TOKEN)
        start = time.monotonic()
        try:
            reply = complete_reply(self._provider, prompt, max_tokens=max_tokens, seconds=seconds)
            usage = reply.usage
        finally:
            took = time.monotonic() - start
            self._turn += Spent(usage=usage, seconds=took)
            self._owed.spend(source, usage, self._now(), took)
        return reply.text if reply.stop == "end" else ""

    def _seconds_left(self) -> float:
        """Return the seconds that a call may take. Raises :class:`OverBudget`."""
        limits = self._limits
        day = sum(self._owed.spent(self._now().date()).values(), Spent())
        left = []
        for name, spent, calls, tokens, seconds in (
            ("turn", self._turn, limits.calls_per_turn, limits.tokens_per_turn, limits.seconds_per_turn),
            ("day", day, limits.calls_per_day, limits.tokens_per_day, limits.seconds_per_day),
        ):  # fmt: skip
            if spent.usage.calls >= calls:
                raise OverBudget(f"{calls} model calls of a {name}")
            if spent.usage.input + spent.usage.output >= tokens:
                raise OverBudget(f"{tokens} tokens of a {name}")
            if spent.seconds >= seconds:
                raise OverBudget(f"{seconds:g} seconds of a {name}")
            left.append(seconds - spent.seconds)
        return min(left)
