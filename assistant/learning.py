"""Owns what is learned from a finished turn: the steps of the post-turn hook, by rules or a model."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from assistant.after_turn import Step
from assistant.background import BackgroundModel
from assistant.errors import ProviderError
from assistant.recall import recalled_in
from assistant.tools.memory import WRITTEN
from memory.clean import one_line
from memory.consolidation import proposal
from memory.entries import MemoryFile
from memory.facts import notes_of
from memory.facts_model import NoProposal, proposed
from memory.forgotten import is_forgotten
from memory.limits import bring_within
from memory.notes import Note, strip_source
from memory.owed import OwedSteps
from memory.transcript import Turn
from memory.uses import Uses

if TYPE_CHECKING:
    from assistant.app import Assistant

log = logging.getLogger(__name__)
Complete = Callable[[str, str], str]
"""Given the source that a call is booked under and a prompt, the answer."""


class Learning:
    """The steps after a turn: notes, limits, history. Repeating one changes nothing."""

    def __init__(self, app: Assistant) -> None:
        self._app = app

    def steps(self) -> list[Step]:
        """Return the steps in the order in which they run."""
        return [
            Step(name="notes", run=self._note),
            Step(name="uses", run=self._count_uses),
            Step(name="limits", run=self._limit),
            Step(name="history", run=self._commit),
            Step(name="skills", run=self._learn_skill),
        ]

    def _files(self, turn: Turn) -> list[Path]:
        days = {m.created.astimezone(self._app.zone).date() for m in turn.messages}
        return [self._app.notes.path(day) for day in sorted(days)]

    def _note(self, turn: Turn) -> str:
        app = self._app
        if not app.config.memory.notes or turn.status == "undone":
            return "nothing to do"
        found = [replace(n, text=app.redact(n.text)) for n in self._notes_of(turn)]
        if app.store:
            forgotten = is_forgotten(app.store)
            found = [n for n in found if not forgotten(n.text, n.when)]
        if found:
            app.history.keep_hand_edits(self._files(turn))
        added = app.notes.add(found)
        if added:
            app.history.mark_own(self._files(turn))
        return f"{len(added)} notes"

    def _count_uses(self, turn: Turn) -> str:
        """Count which memories the answer took up: what always travels, what was recalled, what the model
        looked up."""
        app = self._app
        if app.store is None or not turn.reply:
            return "nothing to do"
        texts = [e.text for p in app.places.values() for e in MemoryFile.read(p.path).entries]
        texts += [text for message in turn.messages for text in recalled_in(message)]
        return f"{Uses(app.store).note(turn.id, texts, turn.reply, app.now())} memories were of use"

    def _limit(self, turn: Turn) -> str:
        app, complete = self._app, self._model()

        def propose(entries: Sequence[str], limit: int) -> Sequence[str]:
            try:
                return proposal(entries, limit, lambda p: complete("limits", p)) if complete else ()
            except ProviderError as error:
                log.warning("no consolidation after turn %s: %s", turn.id, error)
                return ()

        gone = [
            leaving
            for place in app.places.values()
            for leaving in bring_within(
                place.path,
                place.limit,
                app.home.archive,
                app.home.lock,
                app.now().date(),
                propose if complete else None,
                Uses(app.store).counts if app.store else lambda texts: {},
            )
        ]
        if gone:
            app.history.mark_own([app.home.user, app.home.memory, app.home.archive])
        return f"{len(gone)} entries to the archive"

    def _commit(self, turn: Turn) -> str:
        made = self._app.history.record(self._app.redact(_what_changed(turn)), turn=turn.id)
        return f"change {made}" if made else "nothing changed"

    def _learn_skill(self, turn: Turn) -> str:
        """Judge the skills that were used, learn from the turn, and record what came of it."""
        app = self._app
        if turn.status == "undone" or app.store is None:
            return "nothing to do"
        around = app.skills.around(turn)
        if not any(m.role == "tool" for t in (*around.before[-1:], turn) for m in t.messages):
            return "nothing to learn"
        learner = app.skills.learner(app.redact, app.now, self._writer())
        seen = len(app.skills.library.journal.all())
        told = learner.judge(turn, around)
        if app.config.skills.learn:
            told.append(learner.learn(turn, around))
        names = {h.skill for h in app.skills.library.journal.all()[seen:]}
        if names:
            app.skills.record(f"Skill: {one_line(told[-1], 150)}", sorted(names), turn.id)
        return "; ".join(told) or "nothing to learn"

    def _writer(self) -> Callable[[str], str] | None:
        """Return the model that words skills, None where learning does without."""
        complete = self._model()
        return (lambda p: complete("skills", p)) if complete else None

    def _model(self) -> Complete | None:
        """Return the model for one step, None where learning does without."""
        app = self._app
        speaks = app.provider.name.startswith(("openai:", "anthropic:"))
        if not (app.config.learning.with_model and speaks and app.store):
            return None
        return BackgroundModel(
            app.provider, OwedSteps(app.store), app.config.learning, app.now
        ).complete

    def _notes_of(self, turn: Turn) -> list[Note]:
        """Return the notes of a turn: by the model where that is switched on and within its limits,
        else, and when its answer cannot be used, by the rules."""
        app, complete = self._app, self._model()
        said = [m for m in turn.messages if m.role == "user"]
        if complete is None or not said:
            return notes_of(turn, app.zone)
        when = said[0].created.astimezone(app.zone)
        known = [e.text for p in app.places.values() for e in MemoryFile.read(p.path).entries]
        known += [strip_source(text) for text in app.notes.texts(when.date())]
        try:
            facts = proposed(
                app.redact(said[0].text), known, when.date(), lambda p: complete("notes", p)
            )
        except (NoProposal, ProviderError) as error:
            log.warning("notes of turn %s by the rules: %s", turn.id, error)
            return notes_of(turn, app.zone)
        return [Note(kind=f.kind, text=f.text, who="you", turn=turn.id, when=when) for f in facts]


def _what_changed(turn: Turn) -> str:
    """Return what a turn changed, in one line: the memory tool's own words, else what was said."""
    done = [
        line
        for message in turn.messages
        if message.tool_name == "memory" and not message.error
        for line in message.text.splitlines()
        if line.startswith(WRITTEN)
    ]
    said = one_line(turn.messages[0].text, 80) if turn.messages else ""
    return f"Memory: {one_line('; '.join(done), 160)}" if done else f"Notes: {said}"
