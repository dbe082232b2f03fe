"""Owns the skills of one home as the assistant uses them: which are offered, loaded, learned, recorded."""

from __future__ import annotations

import logging
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime, timedelta
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from assistant.config import Config, Environment
from assistant.errors import UsageError
from assistant.history import History, HistoryError
from assistant.home import Home, template
from memory.clean import one_line
from memory.errors import StorageError
from memory.recall_words import overlap
from memory.sessions import SessionStore
from memory.transcript import Turn
from skills_learning.finding import Fit, fitting, in_bodies, sure
from skills_learning.folders import Unreadable, check_path
from skills_learning.library import SkillLibrary, description_of
from skills_learning.records import SKILL_FILE, Abilities, Entry, NoSkill, Place
from skills_learning.review import Advice, advice
from skills_learning.shelf import Shelf
from skills_learning.skill import BrokenSkill, Skill, parse
from skills_learning.usage import SkillUses

if TYPE_CHECKING:
    from skills_learning.learn import Learner
    from skills_learning.trace import Around

log = logging.getLogger(__name__)
INDEX_LIMIT = 4_000
"""Characters of the list of skills in the system prompt."""
TEXT_LIMIT = 28_000
"""Characters of a skill's text that are loaded at once."""
TOOLS = frozenset(
    "edit_file fetch_url forget_everywhere list_files memory memory_get memory_search read_file run_command"
    " search_files session_search skill_search skill_view todo write_file".split()
)
"""The tools that a skill may need; a test compares it with those on offer."""
_LONGEST_LINE = 200
_HEAD = """\
# Skills
How things are done here. Before a task that one is for, load it with `skill_view` and follow it.
"""
_CALLED = re.compile(r"(?<![\w$`\\])\$(?P<name>[a-z0-9]+(?:-[a-z0-9]+)*)(?![\w-]|\()")
_INLINE = re.compile(r"!`([^`\n]+)`")
_LATELY = timedelta(days=60)
_MOST_EARLIER = 400


class Likeness(Protocol):
    """Compares by meaning."""

    def __call__(self, said: str, phrases: Sequence[str], *, load: bool = False) -> list[float]:
        """Return how alike ``said`` is to each phrase; nothing where that cannot be told."""
        ...


class Skills:
    """The skills of a home. Nothing is scanned that stands as it was scanned before."""

    def __init__(
        self,
        home: Home,
        config: Config,
        environment: Environment,
        *,
        cwd: Path,
        store: SessionStore | None,
        history: History,
        tools: Collection[str] = TOOLS,
        likeness: Likeness | None = None,
    ) -> None:
        self._home, self._config, self._history = home, config, history
        self._environment = environment
        self._store = store
        self._cwd = cwd
        self._likeness = likeness
        self.trusted = frozenset(config.skills.trusted)
        self.shelf = shelf_of(home, config, environment, cwd, tools)
        self.library = SkillLibrary(self.shelf)
        self.uses = SkillUses(store) if store else None

    # -- offering ---------------------------------------------------------------------------

    def offered(self) -> list[Entry]:
        """Return the skills that can be used here."""
        return [entry for entry in self.shelf.entries() if not entry.why_not]

    def examples(self) -> dict[str, list[str]]:
        """Return what the user said when skills were of use, by name."""
        return self.uses.examples() if self.uses else {}

    def meaning(self, text: str, *, load: bool = False) -> dict[str, float]:
        """Return how alike each skill is to ``text`` by what they mean, the best of its phrases; nothing
        without an embedder that is loaded."""
        examples = self.examples()
        phrases = [
            (entry.name, phrase)
            for entry in self.shelf.entries()
            for phrase in (*entry.record.phrases, *examples.get(entry.name, ()))
        ]
        if self._likeness is None or not phrases:
            return {}
        found = self._likeness(text, [phrase for _, phrase in phrases], load=load)
        best: dict[str, float] = {}
        for (name, _), value in zip(phrases, found, strict=False):
            best[name] = max(best.get(name, 0.0), value)
        return best

    def index(self) -> str:
        """Return the list of skills for the system prompt, at most :data:`INDEX_LIMIT` characters: the
        most used and those nearest to what the user lately asked for, where not all have room."""
        entries = self.offered()
        if not entries:
            return ""
        rows = [
            f"- {e.name}: {description_of(e.record.description, _LONGEST_LINE)}" for e in entries
        ]
        if len(_HEAD) + sum(len(row) + 1 for row in rows) <= INDEX_LIMIT:
            return _HEAD + "\n".join(rows)
        text, left = _HEAD, len(entries)
        tail = "({} more: `skill_search` finds them by what they are for.)"
        for entry in self._by_habit(entries):
            row = f"- {entry.name}: {description_of(entry.record.description, 120)}\n"
            if len(text) + len(row) + len(tail) + 4 > INDEX_LIMIT:
                break
            text += row
            left -= 1
        return text + tail.format(left)

    def _by_habit(self, entries: Sequence[Entry]) -> list[Entry]:
        tallies = self.uses.tallies() if self.uses else {}
        lately = " ".join(_asked_lately(self._store)) if self._store else ""
        near = {fit.entry.name: fit.score for fit in fitting(lately, entries, limit=len(entries))}
        return sorted(
            entries,
            key=lambda e: (
                -(tallies[e.name].uses if e.name in tallies else 0),
                -near.get(e.name, 0.0),
                e.place.label != "home",
                e.name,
            ),
        )

    def fitting(self, text: str, limit: int = 3) -> list[Fit]:
        """Return the skills that surely fit a message, best first."""
        meaning = self.meaning(text)
        found = fitting(text, self.offered(), meaning, limit, self.examples())
        return sure(text, found, bool(meaning))

    def search(self, text: str, limit: int = 8) -> list[Fit]:
        """Return the skills that have to do with ``text``, also those not in use: by what they say of
        themselves, by meaning where the search over the home is warm, then by their whole text."""
        entries = self.shelf.entries()
        if text.strip() in ("", "*"):  # all there are
            return [Fit(entry=entry, score=0.0) for entry in entries[:limit]]
        found = fitting(text, entries, self.meaning(text), limit, self.examples())
        if len(found) < limit:
            named = {fit.entry.name for fit in found}
            found += in_bodies(text, [e for e in entries if e.name not in named])
        return found[:limit]

    def retired_for(self, text: str) -> list[str]:
        """Return the retired skills that have to do with ``text``."""
        found = []
        for name, folder in self.library.retired().items():
            try:
                skill = parse((folder / SKILL_FILE).read_bytes(), name)
            except (OSError, BrokenSkill):
                continue
            if overlap(text, f"{name.replace('-', ' ')} {skill.description}") >= 0.5:
                found.append(name)
        return found

    def called(self, text: str) -> list[str]:
        """Return the skills that a message calls by ``$name``; other dollar signs mean nothing."""
        names = [m["name"] for m in _CALLED.finditer(text[:20_000])]
        known = {e.name for e in self.shelf.entries()} if names else set()
        return [name for name in dict.fromkeys(names) if name in known]

    # -- loading ----------------------------------------------------------------------------

    def view(self, name: str, path: str = "", session: str = "") -> str:
        """Return the text of a skill, or a file of it. Raises ``UsageError`` with a sentence."""
        try:
            if path:
                check_path(path.removeprefix("./"))
            entry, files = self.shelf.fresh(self.shelf.find(name))
            if entry.why_not:
                raise UsageError(f"{entry.name} is not used: {entry.why_not}.")
            if path:
                return self._file(entry, files, path.removeprefix("./"))
            skill = parse(files[SKILL_FILE], entry.folder.name)
        except NoSkill as error:
            raise UsageError(str(error)) from None
        except (Unreadable, BrokenSkill) as error:
            raise UsageError(f"{name}: {error}.") from None
        text = self._filled(skill, entry, session)
        others = sorted(path for path in files if path != SKILL_FILE)
        if others:
            shown = ", ".join(others[:20]) + (" ..." if len(others) > 20 else "")
            text += f"\n\nFiles of this skill, for skill_view with a path: {shown}"
        return text

    def _file(self, entry: Entry, files: Mapping[str, bytes], path: str) -> str:
        if path not in files:
            near = ", ".join(sorted(files)[:20])
            raise UsageError(f"{entry.name} has no file {path!r}. There are {near}.")
        try:
            text = files[path].decode("utf-8-sig")
        except UnicodeDecodeError:
            raise UsageError(
                f"{path} of {entry.name} is no text; it lies in {entry.folder}."
            ) from None
        return _cut(text, f"{entry.folder}/{path}")

    def _filled(self, skill: Skill, entry: Entry, session: str) -> str:
        text = skill.body.strip()
        for variable, value in (
            ("SKILL_DIR", str(entry.folder)),
            ("CLAUDE_SKILL_DIR", str(entry.folder)),
            ("SESSION_ID", session),
        ):
            text = text.replace(f"${{{variable}}}", value)
        if entry.name in self._config.skills.inline_shell:
            text = _INLINE.sub(lambda m: self._run(m[1]), text)
        head = f"# Skill {entry.name}\n{skill.description}\n"
        if skill.allowed_tools:
            head += f"Use only these tools for it: {skill.allowed_tools}\n"
        return _cut(f"{head}\n{text}", f"{entry.folder}/{SKILL_FILE}")

    def _run(self, command: str) -> str:
        """Run an inline command of a skill for which the user has switched that on."""
        secrets = self._environment.secrets
        visible = {k: v for k, v in self._environment.variables.items() if v not in secrets}
        try:
            done = subprocess.run(
                ["/bin/sh", "-c", command],
                cwd=self._cwd,
                env=visible,
                capture_output=True,
                stdin=subprocess.DEVNULL,
                timeout=10,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            return f"[{command}: {type(error).__name__}]"
        return done.stdout.decode("utf-8", "replace").strip()[:4_000]

    # -- learning ---------------------------------------------------------------------------

    def learner(
        self,
        redact: Callable[[str], str],
        now: Callable[[], datetime],
        complete: Callable[[str], str] | None = None,
    ) -> Learner:
        """Return what learns skills from turns, by ``complete`` (a model) and by rules."""
        from skills_learning.learn import Learner

        return Learner(
            library=self.library,
            uses=self.uses,
            redact=redact,
            now=now,
            ask=self._config.skills.approval == "ask",
            folder=str(self._cwd),
            home=str(self._home.root),
            complete=complete,
            meaning=lambda text: self.meaning(text, load=True),
            examples=self.examples,
            prepare=self.keep_hand_edits,
        )

    def around(self, turn: Turn) -> Around:
        """Return what a turn stands among: its session, and turns with tool calls of the last weeks."""
        from skills_learning.trace import Around

        if self._store is None:
            return Around()
        rows = self._store.query(
            "SELECT turns.id FROM turns JOIN sessions ON key = session WHERE sessions.id = ?"
            " AND turns.id < ? ORDER BY turns.id DESC LIMIT 6",
            (turn.session, turn.id),
        )
        before = [t for row in reversed(rows) if (t := self._store.turn(row[0]))]
        stood = [t for t in before if t.status != "undone"]
        worked = any(m.role == "tool" for t in (*stood[-1:], turn) for m in t.messages)
        return Around(before=stood, earlier=self._earlier(turn) if worked else ())

    def _earlier(self, turn: Turn) -> list[Turn]:
        assert self._store is not None
        since = round((turn.started - _LATELY).timestamp() * 1000) << 20
        rows = self._store.query(
            "SELECT DISTINCT turn FROM messages WHERE turn > ? AND turn < ? AND role = 2"
            " ORDER BY turn DESC LIMIT ?",
            (since, turn.id, _MOST_EARLIER),
        )
        found = [self._store.turn(row[0]) for row in reversed(rows)]
        return [t for t in found if t is not None and t.status == "done"]

    def advice(self, now: datetime) -> list[Advice]:
        """Return what could be retired or merged."""
        return advice(
            self.shelf.entries(),
            self.uses.tallies() if self.uses else {},
            lambda e: (e.folder / SKILL_FILE).read_text(encoding="utf-8", errors="replace"),
            now,
        )

    def keep_hand_edits(self) -> None:
        """Commit what a person changed in skills, so that it is not mixed with what is written now."""
        try:
            self._history.keep_hand_edits([self._home.skills])
        except (HistoryError, StorageError) as error:
            log.warning("hand edits of skills could not be kept apart: %s", error)

    def record(self, what: str, names: Sequence[str], turn: int = 0) -> None:
        """Put a change of skills into the history of the home."""
        try:
            self._history.record(what, [self._home.skills / name for name in names], turn=turn)
        except (HistoryError, StorageError) as error:
            log.warning("a change of a skill has no entry in the history: %s", error)


def shelf_of(
    home: Home, config: Config, environment: Environment, cwd: Path, tools: Collection[str] = TOOLS
) -> Shelf:
    """Return the skills that there are for a home and a working folder; nothing is written before one is
    looked at."""
    return Shelf(
        home.skills,
        home.lock,
        cache=home.skill_cache,
        others=_places(config, cwd),
        abilities=Abilities(
            platform=sys.platform,
            tools=tools,
            env=environment.variables.keys(),
            has_program=lambda name: shutil.which(name) is not None,
        ),
        trusted=config.skills.trusted,
        shipped=shipped,
    )


def _cut(text: str, where: str) -> str:
    if len(text) <= TEXT_LIMIT:
        return text
    return f"{text[:TEXT_LIMIT]}\n[... {len(text) - TEXT_LIMIT} characters left out; the whole is {where}]"


def _places(config: Config, cwd: Path) -> list[Place]:
    """Return where else skills are: the user's for all assistants, those of trusted projects, extra ones."""
    found = [Place(folder=Path.home() / ".agents" / "skills", label="user")]
    trusted = {Path(name).expanduser().resolve() for name in config.skills.projects}
    project = next((f for f in (cwd, *cwd.parents) if f.resolve() in trusted), None)
    if project:
        found += [
            Place(folder=project / name / "skills", label="project")
            for name in (".agents", ".claude")
        ]
    return found + [
        Place(folder=Path(name).expanduser(), label="extra") for name in config.skills.dirs
    ]


@cache
def shipped() -> Mapping[str, str]:
    """Return the digests of the skills that came with the program, by name."""
    from skills_guard.policy import digest
    from skills_learning.folders import files_of

    folder = template() / "skills"
    if not folder.is_dir():
        return {}
    return {path.name: digest(files_of(path)) for path in sorted(folder.iterdir()) if path.is_dir()}


def _asked_lately(store: SessionStore) -> list[str]:
    rows = store.query("SELECT text FROM messages WHERE role = 0 ORDER BY id DESC LIMIT 40")
    return [one_line(row[0], 200) for row in rows]
