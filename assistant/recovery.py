"""Owns the way out of a failed model call: whether to try again, how often, after how long."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, field

from assistant.errors import Fault, ProviderError

LONGEST_WAIT_S = 60.0


@dataclass(frozen=True, slots=True)
class Way:
    """How often a fault is worth another try, and the first pause in seconds (doubling)."""

    tries: int
    base_s: float = 2.0


WAYS: dict[Fault, Way] = {
    Fault.RATE_LIMIT: Way(3),
    Fault.OVERLOADED: Way(4),
    Fault.SERVER: Way(3),
    Fault.TIMEOUT: Way(1),
    Fault.CONNECTION: Way(2, 0.5),
    Fault.CUT: Way(2, 0.5),
    Fault.EMPTY: Way(2, 0.2),
}
"""Faults that are not listed are final: another try would fail in the same way."""


@dataclass(slots=True)
class Budget:
    """What is left of the tries of one turn; each fault has its own."""

    scale: float = 1.0
    """Factor on all pauses; tests set it to 0."""
    _used: Counter[Fault] = field(default_factory=Counter)

    def wait_for(self, error: ProviderError) -> float | None:
        """Return the seconds to wait before another try, or None when it is over.

        What the server asked for counts, up to a cap; beyond the cap nobody waits at a prompt.
        """
        way = WAYS.get(error.fault)
        if way is None or self._used[error.fault] >= way.tries:
            return None
        if error.retry_after is not None and error.retry_after > LONGEST_WAIT_S:
            return None
        self._used[error.fault] += 1
        pause = way.base_s * 2.0 ** (self._used[error.fault] - 1)
        pause = min(pause, LONGEST_WAIT_S) * random.uniform(0.75, 1.0)  # noqa: S311 - jitter
        return max(pause, error.retry_after or 0.0) * self.scale

    def attempt(self, fault: Fault) -> int:
        """Return how many tries a fault has used."""
        return self._used[fault]
