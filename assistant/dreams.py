"""Owns the nights of a home in use: what a night is given, what follows it, and what the user is told."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from datetime import date, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from assistant.background import BackgroundModel
from assistant.errors import ReverieError
from assistant.upkeep import keep_up
from memory.clean import one_line
from memory.errors import StorageError
from memory.forgotten import is_forgotten
from memory.limits import bring_within
from memory.owed import OwedSteps
from memory.uses import Uses

if TYPE_CHECKING:
    from assistant.app import Assistant
    from dreaming.candidates import Vectors
    from dreaming.dream import Dreamer, Report
    from dreaming.promote import Decision

log = logging.getLogger(__name__)


class Dreams:
    """The dreaming of an assistant. Heavy imports wait until there is a night to dream."""

    def __init__(self, app: Assistant) -> None:
        self._app = app
        self._thread: threading.Thread | None = None

    def dreamer(self, *, with_model: bool = True) -> Dreamer:
        """Return what dreams; first it finishes what an interrupted night left. Raises ``ReverieError``
        without an archive, ``StorageError`` or ``OSError``."""
        from dreaming.dream import Dreamer, Home

        app = self._app
        if app.store is None:
            raise ReverieError("The archive cannot be opened. Next step: reverie doctor.")
        home = Home(
            root=app.home.root,
            user=app.home.user,
            memory=app.home.memory,
            archive=app.home.archive,
            diary=app.home.diary,
            lock=app.home.lock,
            user_limit=app.config.memory.user_limit,
            memory_limit=app.config.memory.memory_limit,
        )
        dreamer = Dreamer(
            home=home,
            notes=app.notes,
            store=app.store,
            zone=app.zone,
            now=app.now,
            embed=self._embed if app.recall.has_embedder() else None,
            complete=self._model() if with_model else None,
            forgotten=is_forgotten(app.store),
        )
        if left := dreamer.close():
            app.history.mark_own(left)
            app.history.record("Dream: finished what was interrupted")
        return dreamer

    def _embed(self, texts: Sequence[str]) -> Vectors:
        return self._app.recall.vectors(texts)

    def _model(self) -> Callable[[str], str] | None:
        """Return the model that words what a night keeps, None where dreaming does without."""
        app = self._app
        speaks = app.provider.name.startswith(("openai:", "anthropic:"))
        if not (app.config.dreaming.with_model and speaks and app.store):
            return None
        limits = app.config.learning.model_copy(
            update={
                "calls_per_turn": app.config.dreaming.calls_per_night,
                "tokens_per_turn": app.config.dreaming.tokens_per_night,
                "seconds_per_turn": app.config.dreaming.seconds_per_night,
            }
        )
        model = BackgroundModel(app.provider, OwedSteps(app.store), limits, app.now)
        return lambda prompt: model.complete("dreaming", prompt, max_tokens=2_000)

    # -- nights ------------------------------------------------------------------------------

    def last_day(self) -> date:
        """Return the last day whose night has come."""
        from dreaming.nights import due

        return due(None, self._app.now().astimezone(self._app.zone), self._app.config.dreaming.hour)

    def dream(
        self,
        days: Sequence[date],
        *,
        dry: bool = False,
        dreamer: Dreamer | None = None,
        choose: Callable[[Decision], bool] | None = None,
    ) -> list[Report]:
        """Dream some nights in order; each is a change of its own in the history. Raises ``StorageError``
        or ``OSError`` for the night that could not be; those before it stand."""
        app = self._app
        dreamer = dreamer or self.dreamer()
        if app.hook and not dry:
            app.hook.work_off()
        reports = []
        for day in days:
            if not dry:
                app.history.keep_hand_edits([*self._written(), app.home.notes])
            report = dreamer.dream(day, dry=dry, choose=choose)
            if not dry:
                app.history.mark_own(report.changed)
                dreamer.close()
                if report.changed:
                    app.history.record(_what(report))
                    app.memory_changed |= set(report.changed)
            reports.append(report)
        return reports

    def _written(self) -> list[Path]:
        home = self._app.home
        return [home.user, home.memory, home.archive, home.diary]

    # -- by itself ---------------------------------------------------------------------------

    def start(self) -> None:
        """Dream what is owed in the background, if a night has come since the last one."""
        if self._app.config.dreaming.approval == "auto" and self._thread is None:
            self._thread = threading.Thread(target=self._run, name="dreams", daemon=True)
            self._thread.start()

    def _run(self) -> None:
        try:
            self.catch_up()
        except (ReverieError, StorageError, OSError):
            log.exception("the night could not be dreamt; the next start tries again")
        finally:
            if self._app.store:
                self._app.store.close()

    def catch_up(self) -> list[Report]:
        """Dream the nights that are owed, at most a fortnight of them, then look after the home."""
        from dreaming.dream import NIGHTS_AT_ONCE

        dreamer = self.dreamer()
        days = dreamer.owed(self.last_day())[:NIGHTS_AT_ONCE]
        if not days:
            return []
        reports = self.dream(days, dreamer=dreamer)
        for line in keep_up(self._app):
            log.info("%s", line)
        return reports

    def stop(self, patience_s: float = 10.0) -> None:
        """Wait a little for a night that is being dreamt; it goes on at the next start otherwise."""
        if self._thread is not None:
            self._thread.join(patience_s)

    def news(self) -> list[str]:
        """Return one line on what the last nights learned, once; or that something waits for approval."""
        app = self._app
        if app.store is None:
            return []
        from dreaming.nights import Nights

        nights = Nights(app.store)
        if app.config.dreaming.approval == "ask":
            cursor = nights.cursor()
            waits = cursor is None or cursor < self.last_day()
            noted = any(cursor is None or day > cursor for day in app.notes.days()[-14:])
            return ["There are memories to decide on: reverie dream"] if waits and noted else []
        learned = sum(
            n.outcomes.get("kept", 0) + n.outcomes.get("changed", 0) for n in nights.untold()
        )
        if not learned:
            return []
        change = next((c for c in app.history.changes(50) if c.what.startswith("Dream:")), None)
        undo = f", reverie undo {change.id} takes the last night back" if change else ""
        what = f" ({one_line(change.what.removeprefix('Dream: '), 90)})" if change else ""
        things = "1 thing" if learned == 1 else f"{learned} things"
        return [f"Overnight I kept {things}{what}: reverie dreams shows the diary{undo}."]

    # -- upkeep ------------------------------------------------------------------------------

    def make_room(self) -> int:
        """Bring the memory files within capacity; return how many entries went to the archive."""
        app = self._app
        gone = [
            leaving
            for place in app.places.values()
            for leaving in bring_within(
                place.path,
                place.limit,
                app.home.archive,
                app.home.lock,
                app.now().date(),
                None,
                Uses(app.store).counts if app.store else lambda texts: {},
            )
        ]
        if gone:
            app.history.mark_own([app.home.user, app.home.memory, app.home.archive])
            app.history.record("Memory: brought within capacity")
        return len(gone)


def _what(report: Report) -> str:
    """Return the message of a night's commit."""
    texts = [one_line(d.text, 50) for d in report.taken]
    more = f" and {len(texts) - 2} more" if len(texts) > 2 else ""
    kept = f"kept {'; '.join(texts[:2])}{more}" if texts else "nothing to keep"
    return f"Dream: {kept} ({report.day.isoformat()})"


def nights_since(since: date, until: date) -> list[date]:
    """Return the days from ``since`` to ``until``, both included."""
    return [since + timedelta(days=n) for n in range((until - since).days + 1)]
