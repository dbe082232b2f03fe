"""Owns the composition: config and home become an assistant. Nothing else wires parts together."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from logging.handlers import RotatingFileHandler
from pathlib import Path
from urllib.parse import urlsplit

from assistant import prompt
from assistant.after_turn import AfterTurn, Step
from assistant.config import Config, Environment, local_zone, with_model
from assistant.conversation import Conversation
from assistant.errors import ProviderError, UsageError
from assistant.forget import forget, look
from assistant.history import History, HistoryError
from assistant.home import Home
from assistant.providers.base import Provider, complete_reply
from assistant.task_state import TaskState
from assistant.tools import files, memory, recall, shell, todo, web
from assistant.tools.memory import MemoryPlace, Target
from assistant.tools.registry import Approve, Registry
from memory.clean import clean, one_line
from memory.entries import MemoryFile
from memory.errors import Corrupt, StorageError
from memory.facts import notes_of
from memory.facts_model import NoProposal, proposed
from memory.forgotten import is_forgotten
from memory.limits import Leaving, bring_within, keep_in_archive
from memory.notes import Note, NoteBook, strip_source
from memory.owed import OwedSteps
from memory.redact import redact
from memory.salvage import rescue
from memory.sessions import Session, SessionStore
from memory.transcript import Turn, Usage

log = logging.getLogger(__name__)
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
        _log_to(home.log, self.redact)
        self.store = self._open_store()
        self.notes = NoteBook(home.notes, home.lock)
        self.history = History(home.root, home.lock)
        self.provider = provider or make_provider(config, environment)
        self.registry = self._make_registry()
        self.hook = AfterTurn(self.store, self._steps(), self.now) if self.store else None
        self._states: dict[str, TaskState] = {}
        self.memory_changed: set[Path] = set()
        """Memory files that a tool of this process changed; conversations empty it."""

    def redact(self, text: str) -> str:
        """Return ``text`` without credentials; the one filter before anything is kept."""
        return redact(text, self.environment.secrets)

    def forget(self, text: str) -> None:
        """Forget ``text`` everywhere; conversations that still hold it are scrubbed by tombstones."""
        if self.store is None:
            raise UsageError("The archive cannot be opened. Next step: reverie doctor.")
        self.memory_changed |= {place.path for place in self.places.values()}
        forget(self.home, self.store, self.history, text, self.now())

    def _places_of(self, text: str) -> list[str]:
        if self.store is None:
            raise UsageError("The archive cannot be opened. Next step: reverie doctor.")
        return look(self.home, self.store, self.history, text).lines()

    # -- parts ------------------------------------------------------------------------------

    def _open_store(self) -> SessionStore | None:
        """Open the archive; a damaged one is rescued, an unusable one leaves a read-only chat."""
        try:
            store = SessionStore(self.home.database, self.redact)
            store.close_interrupted()
        except Corrupt:
            log.exception("the database is damaged")
            try:
                self.notices.append(str(rescue(self.home.database, self.now())))
                return SessionStore(self.home.database, self.redact)
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
                today=lambda: self.now().date(),
                prepare=self._keep_hand_edit,
                changed=self._memory_was_changed,
            ),
            memory.forgetting(look=self._places_of, forget=self.forget),
            recall.toolset(store=self.store, zone=self.zone, now=self.now),
            todo.toolset(load=self._load_state, save=self._save_state),
        ]
        return Registry(
            toolsets,
            outputs=home.outputs,
            secrets=secrets,
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

    def _keep_hand_edit(self, path: Path) -> None:
        """Commit what earlier turns and a person changed before a tool changes the file: each change
        keeps its own reason. A history that cannot be written must not keep the user from being
        remembered."""
        if self.hook:
            self.hook.work_off()
        try:
            self.history.keep_hand_edits([path])
        except (HistoryError, StorageError):
            log.exception("a hand edit could not be kept apart")

    def _memory_was_changed(
        self, target: Target, before: object, after: object, done: Sequence[str], call: object
    ) -> None:
        place = self.places[target]
        self.memory_changed.add(place.path)
        gone = [
            Leaving(text=old, reason=f"replaced by: {one_line(new, 80)}")
            for line in done
            if line.startswith("replaced: ")
            for old, _, new in [line.removeprefix("replaced: ").partition(" -> ")]
        ]
        if gone:
            keep_in_archive(
                self.home.archive, place.path.name, gone, self.home.lock, self.now().date()
            )
        self.history.mark_own([place.path, self.home.archive])

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
        def files(turn: Turn) -> list[Path]:
            days = {m.created.astimezone(self.zone).date() for m in turn.messages}
            return [self.notes.path(day) for day in sorted(days)]

        def note(turn: Turn) -> str:
            if not self.config.memory.notes or turn.status == "undone":
                return "nothing to do"
            found = [replace(n, text=self.redact(n.text)) for n in self._notes_of(turn)]
            if self.store:
                forgotten = is_forgotten(self.store)
                found = [n for n in found if not forgotten(n.text, n.when)]
            if found:
                self.history.keep_hand_edits(files(turn))
            added = self.notes.add(found)
            if added:
                self.history.mark_own(files(turn))
            return f"{len(added)} notes"

        def limit(turn: Turn) -> str:
            gone = [
                leaving
                for place in self.places.values()
                for leaving in bring_within(
                    place.path, place.limit, self.home.archive, self.home.lock, self.now().date()
                )
            ]
            if gone:
                self.history.mark_own([self.home.user, self.home.memory, self.home.archive])
            return f"{len(gone)} entries to the archive"

        def commit(turn: Turn) -> str:
            made = self.history.record(self.redact(_what_changed(turn)), turn=turn.id)
            return f"change {made}" if made else "nothing changed"

        return [
            Step(name="notes", run=note),
            Step(name="limits", run=limit),
            Step(name="history", run=commit),
        ]

    def _notes_of(self, turn: Turn) -> list[Note]:
        """Return the notes of a turn: by the model where that is switched on and within its budget,
        else, and when its answer cannot be used, by the rules."""
        said = [m for m in turn.messages if m.role == "user"]
        speaks = self.provider.name.startswith(("openai:", "anthropic:"))
        if not (self.config.memory.notes_with_model and speaks and self.store and said):
            return notes_of(turn, self.zone)
        owed, today = OwedSteps(self.store), self.now().date()
        used = owed.spent(today).get("notes", Usage())
        if used.input + used.output >= self.config.memory.notes_tokens_per_day:
            return notes_of(turn, self.zone)

        def complete(prompt: str) -> str:
            reply = complete_reply(self.provider, prompt, max_tokens=1024)
            owed.spend("notes", reply.usage, self.now())
            return reply.text if reply.stop == "end" else ""

        when = said[0].created.astimezone(self.zone)
        known = [e.text for p in self.places.values() for e in MemoryFile.read(p.path).entries]
        known += [strip_source(text) for text in self.notes.texts(when.date())]
        try:
            facts = proposed(self.redact(said[0].text), known, when.date(), complete)
        except (NoProposal, ProviderError) as error:
            log.warning("notes of turn %s by the rules: %s", turn.id, error)
            return notes_of(turn, self.zone)
        return [Note(kind=f.kind, text=f.text, who="you", turn=turn.id, when=when) for f in facts]

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


def _what_changed(turn: Turn) -> str:
    """Return what a turn changed, in one line: the memory tool's own words, else what was said."""
    done = [
        line
        for message in turn.messages
        if message.tool_name == "memory" and not message.error
        for line in message.text.splitlines()
        if line.startswith(("added:", "replaced:", "removed:"))
    ]
    said = one_line(turn.messages[0].text, 80) if turn.messages else ""
    return f"Memory: {one_line('; '.join(done), 160)}" if done else f"Notes: {said}"


class _RedactingFormatter(logging.Formatter):
    """Formats a record, traceback included, and redacts it."""

    def __init__(self, redact: Callable[[str], str]) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s: %(message)s")
        self._redact = redact

    def format(self, record: logging.LogRecord) -> str:
        return self._redact(super().format(record))


def _log_to(path: Path, redact: Callable[[str], str]) -> None:
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
    handler.setFormatter(_RedactingFormatter(redact))
    handler.reverie = str(path)  # type: ignore[attr-defined]
    root.addHandler(handler)
    root.setLevel(logging.WARNING)
