"""Owns the post-turn hook: what is learned from a turn once its reply is on the screen.

Durable: a turn owes its steps from the transaction that stores it until they are done, so a
process that ends early leaves them to the next one. Each step is on its own (one that fails stops
no other) and repeating it changes nothing.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from memory.errors import StorageError
from memory.owed import OwedSteps
from memory.sessions import SessionStore
from memory.transcript import Turn

log = logging.getLogger(__name__)
TRIES = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One step: ``run`` returns a line on what it did."""

    name: str
    run: Callable[[Turn], str]


class AfterTurn:
    """The queue of owed steps and the thread that works it off."""

    def __init__(
        self, store: SessionStore, steps: Sequence[Step], now: Callable[[], datetime]
    ) -> None:
        self._store = store
        self._owed = OwedSteps(store)
        self._steps = tuple(steps)
        self._now = now
        self._wake = threading.Event()
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._working = threading.Lock()
        self._failed: dict[int, int] = {}
        self._passing = False

    def start(self) -> None:
        """Work in the background from now on."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._serve, name="after-turn", daemon=True)
            self._thread.start()
        self._wake.set()

    def wake(self) -> None:
        """Tell the background that a turn has ended."""
        self._wake.set()

    def settle(self, patience_s: float) -> None:
        """Wait at most so long for the background to have done what is owed."""
        deadline = time.monotonic() + patience_s
        while self._thread is not None and time.monotonic() < deadline and self._owed.owed(1):
            time.sleep(0.02)

    def stop(self, patience_s: float = 5.0) -> None:
        """End the background; what is left stays owed."""
        self._stop.set()
        self._wake.set()
        if self._thread is not None:
            self._thread.join(patience_s)

    def _serve(self) -> None:
        while not self._stop.is_set():
            self._wake.wait()
            self._wake.clear()
            try:
                while self.work_off() and not self._stop.is_set():
                    pass  # a long queue comes in pieces
            except StorageError:
                log.exception("the queue of the post-turn hook cannot be read")
        self._store.close()

    def work_off(self) -> int:
        """Do what is owed and return how many turns were settled.

        A step that fails again and again is given up after three tries, with its reason recorded.
        """
        settled = 0
        with self._working:
            for turn_id in self._owed.owed():
                turn = self._store.turn(turn_id)
                if turn is not None and self._run_steps(turn):
                    self._owed.settle(turn_id)
                    settled += 1
                if self._stop.is_set():
                    break
        return settled

    def _run_steps(self, turn: Turn) -> bool:
        done = self._owed.steps_done(turn.id)
        whole = True
        self._passing = False
        for step in self._steps:
            if step.name not in done:
                whole = self._run_step(step, turn) and whole
        if not whole and not self._passing:
            self._failed[turn.id] = self._failed.get(turn.id, 0) + 1
        return whole or self._failed.get(turn.id, 0) >= TRIES

    def _run_step(self, step: Step, turn: Turn) -> bool:
        start = time.perf_counter()
        try:
            status, detail = "done", step.run(turn)
        except Exception as error:
            # The seam between steps: one that fails must stop no other. The record says why.
            log.exception("step %s of turn %s failed", step.name, turn.id)
            # A full disk or a locked file passes: the turn stays owed, however often it is tried.
            self._passing = self._passing or isinstance(error, OSError | StorageError)
            status, detail = "failed", f"{type(error).__name__}: {error}"
        ms = (time.perf_counter() - start) * 1000
        self._owed.record_step(turn.id, step.name, status, ms, detail, self._now())
        return status == "done"
