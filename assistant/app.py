"""Owns the composition: config and home become an assistant. Nothing else wires parts together."""

from __future__ import annotations

import hashlib
import logging
import signal
import threading
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from logging.handlers import RotatingFileHandler
from pathlib import Path
from urllib.parse import urlsplit

from assistant import prompt
from assistant.after_turn import AfterTurn, Step
from assistant.config import Config, Environment, local_zone, with_model
from assistant.errors import UsageError
from assistant.events import Event, Notice, TurnEnded
from assistant.home import Home
from assistant.loop import Setup, run_turn
from assistant.providers.base import Provider
from assistant.task_state import TaskState
from assistant.tools import files, memory, recall, shell, todo, web
from assistant.tools.memory import MemoryPlace, Target
from assistant.tools.registry import Approve, Cancel, Registry, keep_whole
from memory.clean import clean
from memory.errors import Corrupt, StorageError
from memory.facts import statements
from memory.notes import NoteBook
from memory.redact import redact
from memory.salvage import rescue
from memory.sessions import Session, SessionStore, UnknownSession
from memory.transcript import Message, Turn, new_turn_id
from skills_guard.scanner import neutralise

log = logging.getLogger(__name__)
MESSAGE_LIMIT = 100_000
"""Characters of a user message that a model is sent; a longer one is kept whole in a file."""
NOTES_LIMIT = 2_000
KEY_NAMES = {"openai": "OPENAI_API_KEY", "anthropic": "ANTHROPIC_API_KEY"}


def refuse(tool: str, what: str, why: str) -> bool:
    """Where nobody can be asked, nothing that needs a yes happens."""
    return False


def make_provider(config: Config, environment: Environment) -> Provider:
    """Return the provider that ``config.model`` names. Raises ``UsageError`` without its key."""
    kind, _, name = config.model.partition(":")
    if kind == "scripted":
        from assistant.providers.scripted import Scripted

        return Scripted.from_file(Path(name).expanduser())
    if kind == "offline":
        from assistant.providers.offline import Offline

        return Offline()
    base_url = config.base_url or environment.get(f"{kind.upper()}_BASE_URL")
    variable = config.api_key_env or KEY_NAMES[kind]
    key = environment.get(variable)
    if key is None:
        host = urlsplit(base_url or "").hostname or ""
        if host not in ("localhost", "127.0.0.1", "::1") and not host.endswith(".local"):
            raise UsageError(
                f"{config.model} needs a key and {variable} is not set. "
                "Next step: reverie setup, or put the key into the environment or the home's .env."
            )
        key = "none"  # local servers take any
    if kind == "openai":
        from assistant.providers.openai_chat import OpenAIChat

        return OpenAIChat(name, api_key=key, base_url=base_url, timeout_s=config.timeout_s)
    from assistant.providers.anthropic_messages import AnthropicMessages

    return AnthropicMessages(name, api_key=key, base_url=base_url, timeout_s=config.timeout_s)


class Assistant:
    """An assistant at home: its archive, tools, hook and model."""

    def __init__(
        self,
        home: Home,
        config: Config,
        environment: Environment,
        *,
        cwd: Path,
        provider: Provider | None = None,
        approve: Approve = refuse,
        clock: Callable[[], datetime] | None = None,
    ) -> None:
        self.home, self.config, self.environment, self.cwd = home, config, environment, cwd
        self.zone = local_zone(config)
        self.now = clock or (lambda: datetime.now(self.zone))
        self.approve = approve
        self.notices: list[str] = []
        self.created = home.create()
        _log_to(home.log)
        self.store = self._open_store()
        self.notes = NoteBook(home.notes, home.lock)
        self.provider = provider or make_provider(config, environment)
        self.registry = self._make_registry()
        self.hook = AfterTurn(self.store, self._steps(), self.now) if self.store else None
        self._states: dict[str, TaskState] = {}
        self.memory_changed: set[Path] = set()
        """Memory files that a tool of this process changed; conversations empty it."""

    # -- parts ------------------------------------------------------------------------------

    def _open_store(self) -> SessionStore | None:
        """Open the archive; a damaged one is rescued, an unusable one leaves a read-only chat."""
        try:
            store = SessionStore(self.home.database)
            store.close_interrupted()
        except Corrupt:
            log.exception("the database is damaged")
            try:
                self.notices.append(str(rescue(self.home.database, self.now())))
                return SessionStore(self.home.database)
            except (StorageError, OSError) as error:
                self.notices.append(f"The damaged database could not be rescued: {error}.")
                return None
        except (StorageError, OSError) as error:
            log.exception("the database cannot be opened")
            self.notices.append(
                f"This chat is not saved: {error}"
                if isinstance(error, StorageError)
                else f"This chat is not saved: {self.home.database} cannot be opened "
                f"({error.strerror}). Next step: reverie doctor."
            )
            return None
        return store

    def _make_registry(self) -> Registry:
        config, home = self.config, self.home
        roots = [(self.cwd / Path(root).expanduser()).resolve() for root in config.tools.roots]
        secrets = self.environment.secrets
        toolsets = [
            files.toolset(files.Fence(home=home, roots=roots)),
            shell.toolset(
                folder=roots[0],
                allow=config.tools.commands.allow,
                timeout_s=config.tools.commands.timeout_s,
                environment={
                    name: value
                    for name, value in self.environment.variables.items()
                    if value not in secrets
                },
                secrets=secrets,
            ),
            web.toolset(
                timeout_s=config.tools.web.timeout_s,
                max_bytes=config.tools.web.max_bytes,
                allow_hosts=config.tools.web.allow_hosts,
            ),
            memory.toolset(
                places=self.places,
                lock=home.lock,
                secrets=secrets,
                changed=lambda target, *_: self.memory_changed.add(self.places[target].path),
            ),
            recall.toolset(store=self.store, zone=self.zone, now=self.now),
            todo.toolset(load=self._load_state, save=self._save_state),
        ]
        return Registry(
            toolsets,
            outputs=home.outputs,
            allow=config.tools.allow,
            deny=config.tools.deny,
        )

    @property
    def places(self) -> dict[Target, MemoryPlace]:
        """The two memory files and their limits."""
        return {
            "user": MemoryPlace(path=self.home.user, limit=self.config.memory.user_limit),
            "memory": MemoryPlace(path=self.home.memory, limit=self.config.memory.memory_limit),
        }

    def _load_state(self, session: str) -> TaskState:
        if session not in self._states:
            stored = self.store.state(session) if self.store else ""
            self._states[session] = TaskState.load(stored)
        return self._states[session]

    def _save_state(self, session: str, state: TaskState) -> None:
        self._states[session] = state
        if self.store:
            self.store.set_state(session, state.dump())

    def _steps(self) -> list[Step]:
        def note(turn: Turn) -> str:
            if not self.config.memory.notes or turn.status == "undone":
                return "nothing to do"
            found = [
                replace(n, text=redact(n.text, self.environment.secrets))
                for n in statements(turn, self.zone)
            ]
            return f"{len(self.notes.add(found))} notes"

        return [Step(name="notes", run=note)]

    # -- sessions ---------------------------------------------------------------------------

    def converse(self, session: Session | None = None, *, source: str = "chat") -> Conversation:
        """Return a conversation: a new one, or a stored session that goes on where it was."""
        if session is not None:
            return Conversation(self, session, self.store.turns(session.id) if self.store else [])
        now = self.now()
        built = prompt.build(
            self.home,
            cwd=self.cwd,
            model=self.provider.name,
            user_limit=self.config.memory.user_limit,
            memory_limit=self.config.memory.memory_limit,
            project_context=self.config.project_context,
        )
        fresh = Session.begin(
            source=source,
            cwd=clean(str(self.cwd)),
            model=self.provider.name,
            system_prompt=built.text,
            now=now,
        )
        return Conversation(self, fresh, [], built.notices)

    def use_model(self, model: str) -> None:
        """Go on with another model. Raises ``UsageError`` and keeps the old one if it cannot be."""
        config = with_model(self.config, model)
        self.provider = make_provider(config, self.environment)
        self.config = config

    def close(self) -> None:
        """End the background work; what is left of it stays owed."""
        if self.hook:
            self.hook.stop()
        if self.store:
            self.store.close()


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
        if turns:  # resumed: what the frozen prompt does not say was changed meanwhile
            for name, path in (("USER.md", home.user), ("MEMORY.md", home.memory)):
                layer = prompt.memory_body(path)
                if layer and layer not in session.system_prompt:
                    self._seen[path] = f"unlike the prompt ({name})"

    @property
    def history(self) -> list[Message]:
        """All messages that stand, oldest first."""
        return [message for turn in self.turns for message in turn.messages]

    def ask(self, text: str, *, cancel: Cancel | None = None) -> Iterator[Event]:
        """Answer ``text`` and yield the turn's events, ``TurnEnded`` last.

        The words are stored before the model is asked; the outcome in one transaction at the end.
        """
        app = self._assistant
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
        self.turns.append(event.turn)
        with _uninterrupted():
            notices = list(self._save(event.turn, ended=True))
        yield from notices
        if self._assistant.hook:
            self._assistant.hook.wake()
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
        recalled += self._changed_memory()
        safe = []
        for source, body in recalled:
            body, findings = neutralise(clean(body))
            notices += [f"{source}, line left out: {f.excerpt!r} ({f.why})" for f in findings]
            safe.append((source, body))
        context = prompt.turn_context(now, safe)
        return Message(role="user", text=said, created=now, context=context), notices

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


def _log_to(path: Path) -> None:
    """Send the log to a rotating file of the home, and nowhere when it cannot be written."""
    root = logging.getLogger()
    if any(getattr(handler, "reverie", None) == str(path) for handler in root.handlers):
        return
    try:
        handler: logging.Handler = RotatingFileHandler(
            path, maxBytes=1_000_000, backupCount=3, encoding="utf-8", delay=True
        )
    except OSError:
        handler = logging.NullHandler()
    handler.handleError = lambda record: None  # type: ignore[method-assign]  # a full disk
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    handler.reverie = str(path)  # type: ignore[attr-defined]
    root.addHandler(handler)
    root.setLevel(logging.WARNING)
