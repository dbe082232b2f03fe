"""Owns what changes the home's skills: installing, waiting, approving, retiring, taking back.

Only :meth:`SkillLibrary.install` writes to ``skills/``, and it takes a ``Vetted``: a skill that was not
scanned cannot go live. What is replaced stays in ``.versions``, what is removed in ``.retired``, what needs
the user's word in ``.quarantine``.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from memory.atomic import write_atomic
from memory.lock import locked
from skills_guard import Approval, Finding, Refused, Vetted, vet
from skills_guard.policy import Trust
from skills_learning.folders import Unreadable, files_of, recover, write_folder
from skills_learning.journal import Event, Journal
from skills_learning.records import SKILL_FILE, Entry, Installed, NoSkill, Origin, Word, serious
from skills_learning.shelf import Shelf, now_text
from skills_learning.skill import NAME, BrokenSkill, parse, problems

QUARANTINE, RETIRED, VERSIONS = ".quarantine", ".retired", ".versions"
MOST_VERSIONS = 20
TRIAL_USES = 3
"""Good uses after which a new or changed skill is on trial no longer."""
BAD_IN_A_ROW = 2
_BY_USER = "undone by you"


class NotInstalled(ValueError):
    """A change of a skill that was not made; the message is a sentence for people."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """A draft that needs the user's word."""

    name: str
    folder: Path
    why: str
    trust: Trust
    origin: Origin
    source: str = ""
    turn: str = ""

    def files(self) -> dict[str, bytes]:
        """Return its files. Raises ``Unreadable``."""
        return files_of(self.folder)


class SkillLibrary:
    """The skills of a home, and the only way to change them."""

    def __init__(self, shelf: Shelf) -> None:
        self.shelf = shelf
        self.root = shelf.home
        self.journal = Journal(shelf.home, shelf.lock)
        recover(self.root)

    # -- installing -------------------------------------------------------------------------

    def install(
        self,
        vetted: Vetted,
        *,
        origin: Origin,
        source: str = "",
        turn: str = "",
        trial: bool = False,
        word: Word | None = None,
        aside: Path | None = None,
        now: datetime | None = None,
    ) -> Entry:
        """Make a vetted skill live; what it replaces is kept, as an earlier version or in the folder
        ``aside``. ``word`` is the user's, where it took one. Raises :class:`NotInstalled`."""
        if not isinstance(vetted, Vetted):
            raise TypeError("Only what skills_guard.vet has passed is installed.")
        try:
            skill = parse(vetted.files.get(SKILL_FILE, b""))
        except BrokenSkill as error:
            raise NotInstalled(f"{error}.") from None
        wrong = problems(skill, vetted.files, strict=origin == "learned")
        if not NAME.fullmatch(skill.name):
            wrong.insert(0, f"the name {skill.name!r} is none that a folder can have")
        if wrong:
            raise NotInstalled(f"{skill.name or 'the skill'}: {'; '.join(wrong)}.")
        old = self.shelf.installed(skill.name)
        target = self.root / skill.name
        turns = (*(old.turns if old and origin == "learned" else ()), *([turn] if turn else []))
        try:
            with locked(self.shelf.lock):
                write_folder(target, vetted.files, aside or self._next_version(skill.name))
        except (Unreadable, OSError) as error:
            raise NotInstalled(
                f"{skill.name} was not installed: {error}. Nothing was changed."
            ) from None
        self.shelf.change(
            installed={
                skill.name: Installed(
                    origin=old.origin if old and origin == "learned" else origin,
                    digest=vetted.digest,
                    trust=vetted.trust,
                    source=source or (old.source if old else ""),
                    when=now_text(now),
                    turns=turns[-20:],
                    trial=trial,
                    pinned=bool(old and old.pinned),
                )
            },
            approved={str(target): word},
        )
        return self.shelf.find(skill.name)

    def _next_version(self, name: str) -> Path:
        folder = self.root / VERSIONS / name
        numbers = sorted(int(p.name) for p in folder.glob("[0-9]*") if p.name.isdigit())
        for number in numbers[: max(0, len(numbers) - MOST_VERSIONS + 1)]:
            shutil.rmtree(folder / str(number), ignore_errors=True)
        return folder / str((numbers[-1] if numbers else 0) + 1)

    def versions(self, name: str) -> list[Path]:
        """Return the folders of earlier versions, oldest first."""
        folder = self.root / VERSIONS / name
        return sorted(
            (p for p in folder.glob("[0-9]*") if p.name.isdigit()), key=lambda p: int(p.name)
        )

    # -- waiting ----------------------------------------------------------------------------

    def quarantine(
        self,
        files: Mapping[str, bytes],
        *,
        name: str,
        why: str,
        trust: Trust,
        origin: Origin,
        source: str = "",
        turn: str = "",
        findings: Sequence[Finding] = (),
    ) -> Waiting:
        """Keep a draft until the user has decided. Raises :class:`NotInstalled`."""
        if not NAME.fullmatch(name):
            raise NotInstalled(f"the name {name!r} is none that a folder can have.")
        folder = self.root / QUARANTINE / name
        waiting = Waiting(
            name=name, folder=folder, why=why, trust=trust, origin=origin, source=source, turn=turn
        )
        try:
            write_folder(folder, files, self.root / RETIRED / f".replaced-{name}")
        except (Unreadable, OSError) as error:
            raise NotInstalled(f"{name} was not kept: {error}.") from None
        shutil.rmtree(self.root / RETIRED / f".replaced-{name}", ignore_errors=True)
        row = {**asdict(waiting), "folder": name, "findings": [f.to_dict() for f in findings]}
        write_atomic(_about(folder), json.dumps(row, ensure_ascii=False).encode("utf-8", "replace"))
        return waiting

    def pending(self) -> list[Waiting]:
        """Return the drafts that wait; one without a note about it was put there by an import."""
        found = []
        for folder in sorted((self.root / QUARANTINE).glob("*")):
            if not folder.is_dir() or folder.name.startswith("."):
                continue
            try:
                row: dict[str, Any] = json.loads(_about(folder).read_bytes())
            except (OSError, ValueError):
                row = {}
            found.append(
                Waiting(
                    name=folder.name,
                    folder=folder,
                    why=str(row.get("why") or "imported; nobody has looked at it yet"),
                    trust=row.get("trust", "community"),
                    origin=row.get("origin", "installed"),
                    source=str(row.get("source", "")),
                    turn=str(row.get("turn", "")),
                )
            )
        return found

    def waiting(self, name: str) -> Waiting:
        """Return the draft of this name. Raises :class:`NoSkill`."""
        drafts = self.pending()
        for draft in drafts:
            if draft.name == name:
                return draft
        hint = f"There are {', '.join(d.name for d in drafts)}." if drafts else "None waits."
        raise NoSkill(f"No draft {name!r} waits. {hint}")

    def approve(
        self, name: str, *, typed: str = "", now: datetime | None = None
    ) -> Entry | Refused:
        """Make a waiting draft live on the user's word, or approve a skill that was changed on disk. A block
        is lifted only where ``typed`` is its name; else the refusal comes back. Raises ``NoSkill``,
        :class:`NotInstalled`."""
        try:
            draft = self.waiting(name)
        except NoSkill:
            return self._approve_changed(name, typed)
        try:
            files = draft.files()
            skill = parse(files.get(SKILL_FILE, b""), name)
        except (Unreadable, BrokenSkill) as error:
            raise NotInstalled(f"{name}: {error}.") from None
        approval = Approval(digest=_digest(files), name=typed)
        judged = vet(files, draft.trust, name=skill.name, approval=approval)
        if isinstance(judged, Refused):
            return judged
        entry = self.install(
            judged,
            origin=draft.origin,
            source=draft.source,
            turn=draft.turn,
            word=_word(judged, typed, skill.name),
            now=now,
        )
        self._drop(draft.folder)
        self.journal.add(
            "approved",
            entry.name,
            draft.why,
            turn=draft.turn,
            version=entry.record.version,
            now=now,
        )
        return entry

    def _approve_changed(self, name: str, typed: str) -> Entry | Refused:
        entry = self.shelf.find(name)
        if entry.record.decision in ("allow", "broken"):
            raise NotInstalled(
                f"{name} does not wait for anything. Next step: reverie skills check."
            )
        entry, files = self.shelf.fresh(entry)
        judged = vet(
            files,
            entry.installed.trust if entry.installed else "community",
            name=entry.name,
            approval=Approval(digest=entry.record.digest, name=typed),
        )
        if isinstance(judged, Refused):
            return judged
        self.shelf.change(
            approved={str(entry.folder): _word(judged, typed, entry.name)},
        )
        self.shelf.forget(entry.folder)
        self.journal.add("approved", entry.name, "changed on disk")
        return self.shelf.find(name)

    def reject(self, name: str) -> None:
        """Drop a waiting draft; it can be found among the retired. Raises :class:`NoSkill`."""
        draft = self.waiting(name)
        self._retire_folder(draft.folder, name)
        _about(draft.folder).unlink(missing_ok=True)
        self.journal.add("rejected", name, draft.why, turn=draft.turn)

    def _drop(self, folder: Path) -> None:
        shutil.rmtree(folder, ignore_errors=True)
        _about(folder).unlink(missing_ok=True)

    # -- leaving and coming back ------------------------------------------------------------

    def remove(self, name: str, why: str = "removed by you", event: Event = "removed") -> Path:
        """Take a skill of the home out of use; its files stay in ``.retired``. Raises :class:`NoSkill`,
        :class:`NotInstalled`."""
        entry = self.shelf.find(name)
        if entry.place.label != "home":
            raise NotInstalled(f"{name} lies in {entry.folder}, which Reverie does not change.")
        with locked(self.shelf.lock):
            kept = self._retire_folder(entry.folder, entry.name)
        # What is known of it stays: restored, it is again what it was.
        self.shelf.change(approved={str(entry.folder): None})
        self.journal.add(event, entry.name, why, version=entry.record.version)
        return kept

    def _retire_folder(self, folder: Path, name: str) -> Path:
        target = self._retired_place(name)
        folder.rename(target)
        return target

    def _retired_place(self, name: str) -> Path:
        shelf = self.root / RETIRED / name
        shelf.mkdir(parents=True, exist_ok=True, mode=0o700)
        numbers = [int(p.name) for p in shelf.iterdir() if p.name.isdigit()]
        return shelf / str(max(numbers, default=0) + 1)

    def retired(self) -> dict[str, Path]:
        """Return the retired skills: the last state of each by name."""
        found = {}
        for shelf in sorted((self.root / RETIRED).glob("*")):
            numbers = [p for p in shelf.glob("*") if p.name.isdigit()] if shelf.is_dir() else []
            if numbers:
                found[shelf.name] = max(numbers, key=lambda p: int(p.name))
        return found

    def restore(self, name: str) -> Entry | Refused:
        """Bring a retired skill back, byte for byte, scanned again. Raises :class:`NoSkill`,
        :class:`NotInstalled`."""
        kept = self.retired().get(name)
        if kept is None:
            known = ", ".join(self.retired()) or "none"
            raise NoSkill(f"There is no retired skill {name!r} (retired: {known}).")
        if (self.root / name).exists():
            raise NotInstalled(
                f"There is a skill {name} now. Next step: reverie skills remove {name}."
            )
        restored = self._bring_back(name, kept)
        if isinstance(restored, Entry):
            shutil.rmtree(kept, ignore_errors=True)
            self.journal.add(
                "restored", name, "brought back by you", version=restored.record.version
            )
        return restored

    def _bring_back(self, name: str, kept: Path, trial: bool = False) -> Entry | Refused:
        try:
            files = files_of(kept)
        except Unreadable as error:
            raise NotInstalled(f"{name} cannot be brought back: {error}.") from None
        known = self.shelf.installed(name)
        trust: Trust = known.trust if known else "community"
        # It was live before, so a question was answered then; a block is never lifted this way.
        judged = vet(files, trust, name=name, approval=Approval(digest=_digest(files)))
        if isinstance(judged, Refused):
            return judged
        return self.install(
            judged,
            origin=known.origin if known else "installed",
            source=known.source if known else "",
            trial=trial,
            word=_word(judged),
            aside=self._retired_place(name),
        )

    def undo(self, name: str, why: str = _BY_USER) -> str:
        """Take the last change of a skill back: the version before it comes back, a new skill goes to the
        retired. Return what was done. Raises :class:`NoSkill`, :class:`NotInstalled`."""
        entry = self.shelf.find(name)
        if entry.place.label != "home" or entry.installed is None:
            raise NotInstalled(f"{name} was not written by Reverie; it is left as it is.")
        event: Event = "undone" if why == _BY_USER else "rolled back"
        kept = self.versions(entry.name)
        if not kept:
            self.remove(entry.name, why, event)
            return f"{name} is no longer in use; reverie skills restore {name} brings it back."
        restored = self._bring_back(entry.name, kept[-1])
        if isinstance(restored, Refused):
            raise NotInstalled(f"The version before cannot come back: {restored.report.verdict}.")
        shutil.rmtree(kept[-1], ignore_errors=True)
        self.journal.add(event, name, why, version=restored.record.version)
        return f"{name} is at version {restored.record.version} again."

    # -- trial ------------------------------------------------------------------------------

    def judge_trial(self, name: str, outcomes: Sequence[bool]) -> str:
        """Act on how the last uses of this version went, newest last; return what was done, '' when
        nothing was: after two bad ones in a row the last version comes back."""
        known = self.shelf.installed(name)
        if known is None or not known.trial:
            return ""
        if len(outcomes) >= BAD_IN_A_ROW and not any(outcomes[-BAD_IN_A_ROW:]):
            return self.undo(name, f"it went wrong {BAD_IN_A_ROW} times in a row")
        if sum(outcomes) >= TRIAL_USES:
            self.shelf.change(installed={name: replace(known, trial=False)})
        return ""

    def pin(self, name: str, pinned: bool) -> None:
        """Keep a skill from ever being proposed for retiring, or end that."""
        entry = self.shelf.find(name)
        if entry.place.label != "home":
            raise NotInstalled(f"{name} lies in {entry.folder}, which Reverie does not change.")
        known = entry.installed or Installed(origin="by hand", digest=entry.record.digest)
        self.shelf.change(installed={entry.name: replace(known, pinned=pinned)})


def _about(folder: Path) -> Path:
    return folder.with_name(f"{folder.name}.json")


def _word(judged: Vetted, typed: str = "", name: str = "") -> Word:
    return Word(digest=judged.digest, rules=serious(judged), typed=bool(typed) and typed == name)


def _digest(files: Mapping[str, bytes]) -> str:
    from skills_guard.policy import digest

    return digest(files)


def description_of(description: str, longest: int) -> str:
    """Return a description as an index shows it: one line, cut at a word."""
    text = " ".join(description.split())
    return text if len(text) <= longest else text[: longest - 1].rsplit(" ", 1)[0] + "…"
