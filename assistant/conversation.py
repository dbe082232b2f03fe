"""Owns one session as it goes on: what travels with a message, storing turns, undo."""

from __future__ import annotations

import hashlib
import logging
import signal
import threading
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from assistant import prompt
from assistant.errors import UsageError
from assistant.events import Event, Notice, TurnEnded
from assistant.explicit import keep_wish, open_doubt, question
from assistant.loop import Setup, run_turn
from assistant.recall import as_line
from assistant.tools.registry import Cancel, keep_whole
from memory.clean import clean
from memory.entries import MemoryFile, same_key
from memory.errors import StorageError
from memory.forgotten import scrubber
from memory.rows import scrubbed
from memory.sessions import Session, UnknownSession
from memory.transcript import Message, Turn, new_turn_id
from skills_guard.scanner import neutralise

if TYPE_CHECKING:
    from assistant.app import Assistant

log = logging.getLogger(__name__)
MESSAGE_LIMIT = 100_000
"""Characters of a user message that a model is sent; a longer one is kept whole in a file."""
NOTES_LIMIT = 2_000
NEARLY_FULL = 0.8


class Conversation:
    """One session as it goes on: its frozen system prompt and its turns."""

    def __init__(
        self,
        assistant: Assistant,
        session: Session,
        turns: list[Turn],
        notices: tuple[str, ...] = (),
    ) -> None:
        home = assistant.home
        self.session = session
        self.turns = [turn for turn in turns if turn.status != "undone"]
        self._assistant = assistant
        self._notices = list(notices)
        self._stored = bool(turns)
        self._unsaved = False
        self._seen = self._memory_state()
        self._full = {name for name, share in self._fill().items() if share >= NEARLY_FULL}
        if turns:  # resumed: what the frozen prompt does not say was changed meanwhile
            for name, path in (("USER.md", home.user), ("MEMORY.md", home.memory)):
                layer = prompt.memory_body(path)
                if layer and layer not in session.system_prompt:
                    self._seen[path] = f"unlike the prompt ({name})"

    @property
    def history(self) -> list[Message]:
        """All messages that stand, oldest first."""
        return [message for turn in self.turns for message in turn.messages]

    def _forget(self) -> None:
        """Drop what was forgotten since, here or by another process, from what this chat holds."""
        scrub = scrubber(self._assistant.store) if self._assistant.store else None
        if scrub is None:
            return
        self.turns = [_scrubbed(turn, scrub) for turn in self.turns]
        lines = self.session.system_prompt.split("\n")
        kept = [line for line in lines if scrub(line, self.session.started) == line]
        self.session = replace(self.session, system_prompt="\n".join(kept))

    def ask(self, text: str, *, cancel: Cancel | None = None) -> Iterator[Event]:
        """Answer ``text`` and yield the turn's events, ``TurnEnded`` last.

        The words are stored before the model is asked; the outcome in one transaction at the end.
        """
        app = self._assistant
        self._forget()
        started = app.now()
        message, notices = self._message(text, started)
        for notice in (*self._notices, *notices):
            yield Notice(text=notice)
        self._notices.clear()
        # Ids order the turns of a session, also when the clock stands still or is set back.
        turn_id = max(new_turn_id(started), self.turns[-1].id + 1 if self.turns else 0)
        turn = Turn(id=turn_id, session=self.session.id, started=started, messages=(message,))
        yield from self._save(turn, ended=False)
        setup = Setup(
            provider=app.provider,
            registry=app.registry,
            system=self.session.system_prompt,
            history=self.history,
            turn=turn,
            cancel=cancel or Cancel(),
            approve=app.approve,
            now=app.now,
            model_calls=app.config.budget.model_calls,
            max_output_tokens=app.config.max_output_tokens,
            temperature=app.config.temperature,
        )
        yield from self._relay(run_turn(setup))

    def _relay(self, events: Generator[Event, None, None]) -> Iterator[Event]:
        """Pass a turn's events on and store its end; Ctrl-C at any point reaches the loop."""
        event = next(events)
        while not isinstance(event, TurnEnded):
            try:
                yield event
            except KeyboardInterrupt:
                event = events.throw(KeyboardInterrupt())
            else:
                event = next(events)
        scrub = scrubber(self._assistant.store) if self._assistant.store else None
        event = TurnEnded(turn=_scrubbed(event.turn, scrub)) if scrub else event
        self.turns.append(event.turn)
        with _uninterrupted():
            kept = keep_wish(self._assistant, event.turn)
            notices = [*self._save(event.turn, ended=True), *self._nearly_full()]
            notices += [Notice(text=kept)] if kept else []
        yield from notices
        if self._assistant.hook:
            self._assistant.hook.wake()
        self._assistant.recall.wake()
        yield event

    def _message(self, text: str, now: datetime) -> tuple[Message, list[str]]:
        """Return the user's message with what travels with it."""
        app = self._assistant
        said = clean(text)
        notices = []
        if len(said) > MESSAGE_LIMIT:
            path = keep_whole(app.home.outputs, said, "message")
            where = f"the whole text is in {path}" if path else "the rest could not be saved"
            kept = MESSAGE_LIMIT // 2
            notices.append(f"The message is {len(said)} characters long; {where}.")
            said = f"{said[:kept]}\n[... {len(said) - kept} characters left out; {where}]"
        recalled: list[tuple[str, str]] = []
        if not self.turns and (notes := app.notes.recent(now.date(), NOTES_LIMIT)):
            recalled.append(("daily notes", notes))
        if not self.turns and self.session.source == "chat" and (doubt := open_doubt(app)):
            asked = question(app, doubt)
            recalled.append(("open question", f"{asked} Ask when it fits, then mend memory."))
            notices += [asked] if app.provider.name == "offline" else []
        recalled += self._changed_memory()
        if app.config.memory.recall and (found := self._recalled(said)):
            recalled.append(("memory", found))
        safe = []
        for source, body in recalled:
            body, findings = neutralise(clean(body))
            notices += [f"{source}, line left out: {f.excerpt!r} ({f.why})" for f in findings]
            safe.append((source, body))
        skills, fitting, more = self._skills(said)
        notices += more
        context = prompt.turn_context(now, safe, skills=skills, fitting=fitting)
        return Message(role="user", text=said, created=now, context=context), notices

    def _skills(self, said: str) -> tuple[list[tuple[str, str]], list[str], list[str]]:
        """Return the skills that a message calls with their text, the names of those that may fit, and what
        the user should know: what was learned since, and why a called skill is not used."""
        skills = self._assistant.skills
        notices = skills.library.journal.news()
        if not self.turns:
            notices += self._assistant.dreams.news()
        called = []
        for name in skills.called(said):
            try:
                called.append((name, skills.view(name, session=self.session.id)))
            except UsageError as error:
                notices.append(str(error))
        if called or "skill_view" not in self._assistant.registry.names:
            return called, [], notices
        return called, [fit.entry.name for fit in skills.fitting(said)], notices

    def _recalled(self, said: str) -> str:
        """Return what surely has to do with a message and does not travel with it already, as lines."""
        known = {same_key(text) for text in self.session.system_prompt.split("\n- ")}
        known |= {same_key(m.text) for m in self.history if m.role != "tool"}
        known.add(same_key(said))
        here = f"session:{self.session.id}"
        hits = self._assistant.recall.quick(said)
        rows = [as_line(h) for h in hits if h.path != here and same_key(h.text) not in known]
        return "\n".join(rows)

    def _changed_memory(self) -> list[tuple[str, str]]:
        """Return memory files that changed outside this conversation since it last looked."""
        app = self._assistant
        state = self._memory_state()
        changed = [
            path
            for path, digest in state.items()
            if digest != self._seen[path] and path not in app.memory_changed
        ]
        self._seen = state
        app.memory_changed.clear()
        return [
            (f"{path.name}, as it is now", path.read_text(encoding="utf-8", errors="replace"))
            for path in changed
            if path.exists()
        ]

    def _fill(self) -> dict[str, float]:
        places = self._assistant.places.values()
        return {
            p.path.name: MemoryFile.read(p.path).size / p.limit for p in places if p.path.exists()
        }

    def _nearly_full(self) -> Iterator[Event]:
        """Say once when a memory file has become nearly full."""
        for name, share in self._fill().items():
            if share >= NEARLY_FULL and name not in self._full:
                self._full.add(name)
                yield Notice(
                    text=f"{name} is {share:.0%} full. When it is over its limit, what is oldest goes to "
                    "memory/archive.md; /memory shows what is in it."
                )

    def _memory_state(self) -> dict[Path, str]:
        def digest(path: Path) -> str:
            try:
                return hashlib.sha256(path.read_bytes()).hexdigest()
            except OSError:
                return ""

        return {place.path: digest(place.path) for place in self._assistant.places.values()}

    def _save(self, turn: Turn, *, ended: bool) -> Iterator[Event]:
        """Store a turn as it begins or as it ended; when that fails the chat goes on, and says so."""
        store = self._assistant.store
        if store is None:
            return
        try:
            if not self._stored:
                store.adopt(self.session)
                self._stored = True
            try:
                (store.finish if ended else store.begin)(turn)
            except UnknownSession:
                # The database was removed or replaced while we talked: put the session back.
                store.adopt(self.session)
                for earlier in self.turns:
                    store.finish(earlier, hook_owed=False)
                if not ended:
                    store.begin(turn)
                yield Notice(text="The database was gone; this conversation was stored again.")
            if self._unsaved:
                self._unsaved = False
                for earlier in self.turns:
                    if earlier.id != turn.id:
                        store.finish(earlier)
                yield Notice(text="The home can be written again; this conversation is saved.")
        except (StorageError, OSError) as error:
            log.exception("a turn could not be stored")
            if not self._unsaved:
                self._unsaved = True
                yield Notice(text=f"This turn is not saved: {error}")

    def undo(self) -> Turn | None:
        """Take the last turn back: history and search skip it from now on."""
        if not self.turns:
            return None
        if self._assistant.store and self._stored:
            self._assistant.store.undo_last(self.session.id)
        return self.turns.pop()


def _scrub_at(scrub: Callable[[str, datetime], str], moment: datetime, text: str) -> str:
    return scrub(text, moment)


def _scrubbed(turn: Turn, scrub: Callable[[str, datetime], str]) -> Turn:
    messages = [scrubbed(m, partial(_scrub_at, scrub, m.created)) for m in turn.messages]
    return replace(turn, messages=tuple(messages))


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Hold Ctrl-C back for the moment that it takes to store a turn."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
