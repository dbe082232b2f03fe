"""Owns the places in a user's home: every path by name, made from the template, never overwritten."""

from __future__ import annotations

import os
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from assistant.errors import UsageError
from memory.atomic import sweep


@dataclass(frozen=True, slots=True)
class Home:
    """A home at ``root``. Nothing is created before :meth:`create`."""

    root: Path

    @property
    def config(self) -> Path:
        """Optional settings."""
        return self.root / "config.yaml"

    @property
    def env(self) -> Path:
        """Secrets, as ``NAME=value`` lines."""
        return self.root / ".env"

    @property
    def soul(self) -> Path:
        """Who the assistant is."""
        return self.root / "SOUL.md"

    @property
    def agents(self) -> Path:
        """How it works."""
        return self.root / "AGENTS.md"

    @property
    def user(self) -> Path:
        """Who the user is."""
        return self.root / "USER.md"

    @property
    def memory(self) -> Path:
        """What it knows of the world it works in."""
        return self.root / "MEMORY.md"

    @property
    def notes(self) -> Path:
        """The folder of daily notes."""
        return self.root / "memory"

    @property
    def archive(self) -> Path:
        """What had to leave MEMORY.md or USER.md."""
        return self.notes / "archive.md"

    @property
    def diary(self) -> Path:
        """What the nights changed, in words; written, never read back."""
        return self.root / "DREAMS.md"

    @property
    def backups(self) -> Path:
        """The last copies of the database, one a night."""
        return self.root / "backups"

    @property
    def skills(self) -> Path:
        """The folder of skills."""
        return self.root / "skills"

    @property
    def skill_cache(self) -> Path:
        """What was found about skills when they were last looked at; derived."""
        return self.root / "index" / "skills.json"

    @property
    def database(self) -> Path:
        """Sessions and all else that is no prose."""
        return self.root / "state.db"

    @property
    def outputs(self) -> Path:
        """Tool results and messages that were too long for a request, whole."""
        return self.root / "outputs"

    @property
    def log(self) -> Path:
        """What went wrong, with tracebacks."""
        return self.root / "logs" / "reverie.log"

    @property
    def lock(self) -> Path:
        """Held while a memory file or a note is written."""
        return self.root / ".lock"

    @property
    def input_history(self) -> Path:
        """What was typed at the prompt."""
        return self.root / ".input_history"

    def note(self, day: date) -> Path:
        """The notes of one day."""
        return self.notes / f"{day.isoformat()}.md"

    def create(self) -> bool:
        """Make the folder (mode 0700), at first use with the template's files; True when it is new.

        Raises :class:`UsageError` when the place cannot be a home.
        """
        fresh = not self.root.exists()
        try:
            self.root.mkdir(mode=0o700, parents=True, exist_ok=True)
            for folder in (self.notes, self.skills, self.outputs, self.log.parent):
                folder.mkdir(mode=0o700, exist_ok=True)
            if not self.database.exists():
                # At first use only: later, what is missing was removed on purpose.
                self.root.chmod(0o700)
                for source in sorted(template().rglob("*")):
                    if source.is_file():
                        _copy_new(source, self.root / source.relative_to(template()))
            for folder in (self.root, self.notes):
                sweep(folder)
        except FileExistsError as error:
            raise UsageError(
                f"{error.filename} is a file where a folder is needed. "
                "Next step: move it away, or set REVERIE_HOME to another folder."
            ) from error
        except OSError as error:
            if not fresh and self.root.is_dir():
                return False  # a full disk or a read-only home: the chat goes on without saving
            raise UsageError(
                f"The home {self.root} cannot be made: {error.strerror}. "
                "Next step: set REVERIE_HOME to a folder that you may write."
            ) from error
        return fresh

    def unchanged(self, path: Path) -> bool:
        """Whether a file is missing or still as the template made it (then it says nothing)."""
        try:
            return path.read_bytes() == (template() / path.relative_to(self.root)).read_bytes()
        except FileNotFoundError:
            return not path.exists()


def template() -> Path:
    """Return the template of a home: beside the packages in a checkout, inside them in a wheel."""
    shipped = Path(__file__).parent / "_home"
    return shipped if shipped.is_dir() else Path(__file__).parent.parent / "home"


def _copy_new(source: Path, target: Path) -> None:
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return
    with os.fdopen(descriptor, "wb") as stream:
        stream.write(source.read_bytes())
