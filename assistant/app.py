"""Owns the composition: config and home become an assistant. Nothing else wires parts together."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from datetime import datetime
from logging.handlers import RotatingFileHandler
from pathlib import Path
from urllib.parse import urlsplit

from assistant import prompt
from assistant.after_turn import AfterTurn
from assistant.config import Config, Environment, local_zone, with_model
from assistant.conversation import Conversation
from assistant.dreams import Dreams
from assistant.errors import UsageError
from assistant.forget import forget, look
from assistant.history import History, HistoryError
from assistant.home import Home
from assistant.learning import Learning
from assistant.providers.base import Provider
from assistant.recall import Recall
from assistant.skills import TOOLS, Skills
from assistant.task_state import TaskState
from assistant.tools import files, memory, recall, shell, skills, todo, web
from assistant.tools.memory import MemoryPlace, Target
from assistant.tools.registry import Approve, Registry
from memory.clean import clean, one_line
from memory.errors import Corrupt, StorageError
from memory.limits import Leaving, keep_in_archive
from memory.notes import NoteBook
from memory.redact import redact
from memory.salvage import rescue
from memory.sessions import Session, SessionStore

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
        self.recall = Recall(
            home,
            config,
            environment,
            store=self.store,
            zone=self.zone,
            today=lambda: self.now().date(),
        )
        self.skills = Skills(
            home,
            config,
            environment,
            cwd=cwd,
            store=self.store,
            history=self.history,
            tools=self._tools_on_offer(),
            likeness=self.recall.likeness,
        )
        self.registry = self._make_registry()
        self.hook = AfterTurn(self.store, Learning(self).steps(), self.now) if self.store else None
        self.dreams = Dreams(self)
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
                prepare=self.keep_hand_edit,
                changed=self.memory_was_changed,
            ),
            memory.forgetting(look=self._places_of, forget=self.forget),
            recall.toolset(store=self.store, search=self.recall, zone=self.zone, now=self.now),
            todo.toolset(load=self._load_state, save=self._save_state),
            skills.toolset(self.skills),
        ]
        return Registry(
            toolsets,
            outputs=home.outputs,
            secrets=secrets,
            allow=config.tools.allow,
            deny=config.tools.deny,
        )

    def _tools_on_offer(self) -> set[str]:
        allow, deny = self.config.tools.allow, self.config.tools.deny
        return {name for name in TOOLS if (not allow or name in allow) and name not in deny}

    @property
    def places(self) -> dict[Target, MemoryPlace]:
        """The two memory files and their limits."""
        return {
            "user": MemoryPlace(path=self.home.user, limit=self.config.memory.user_limit),
            "memory": MemoryPlace(path=self.home.memory, limit=self.config.memory.memory_limit),
        }

    def keep_hand_edit(self, path: Path) -> None:
        """Commit what earlier turns and a person changed before a tool changes the file: each change
        keeps its own reason. A history that cannot be written must not keep the user from being
        remembered."""
        if self.hook:
            self.hook.work_off()
        try:
            self.history.keep_hand_edits([path])
        except (HistoryError, StorageError):
            log.exception("a hand edit could not be kept apart")

    def memory_was_changed(self, target: Target, done: Sequence[str]) -> None:
        """Archive what a change of memory replaced, and note that the change is the assistant's."""
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
            skills_index=self.skills.index(),
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
        self.recall.stop()
        self.dreams.stop()
        if self.hook:
            self.hook.stop()
        if self.store:
            self.store.close()


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
