"""Owns which skills there are: where they lie, what was found about each when it was last looked at.

``.lock.json`` beside the home's skills says what is installed and approved. What was found (description,
verdict, needs) is kept in a cache under a stamp of the folder: a skill that anyone has changed is scanned
again before it is next used, and all are
when the rules change. Listing five hundred skills reads one file and looks at stamps.
"""

from __future__ import annotations

import json
import logging
import os
import re
import time
import unicodedata
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from memory.atomic import write_atomic
from memory.lock import Locked, locked
from memory.terms import terms
from skills_guard import Approval, Refused, Vetted, vet
from skills_guard.policy import Trust, digest
from skills_guard.rules import version as rules_version
from skills_learning.folders import Unreadable, files_of, stamp_of
from skills_learning.records import (
    SKILL_FILE,
    Abilities,
    Entry,
    Installed,
    NoSkill,
    Place,
    Record,
    Word,
    record_of,
)
from skills_learning.skill import BrokenSkill, Needs, Skill, parse, problems

log = logging.getLogger(__name__)
_LEAD = re.compile(r"^(?:The user asks for this: |Or in words such as |用户要求：|或者说：)")
"""How our own bullets begin."""
VERSION = 3
"""Of what is kept about a skill; another one is looked at anew."""


class Shelf:
    """The skills of all places, the first name winning."""

    def __init__(
        self,
        home: Path,
        lock: Path,
        *,
        others: Sequence[Place] = (),
        cache: Path,
        abilities: Abilities,
        trusted: Collection[str] = (),
        shipped: Callable[[], Mapping[str, str]] = dict,
    ) -> None:
        """``home`` is the home's folder of skills, ``lock`` guards it, ``cache`` is a file that may be lost;
        ``shipped`` gives the digests of the skills that came with the program, by name; ``trusted`` are
        names on the user's list."""
        self.home = home
        self.lock = lock
        self.places = (Place(folder=home, label="home"), *others)
        self.abilities = abilities
        self._trusted = frozenset(trusted)
        self._shipped = shipped
        self._file = home / ".lock.json"
        self._cache = cache
        self._known: tuple[str, dict[str, Record], dict[str, Installed], dict[str, Word]] | None = (
            None
        )

    # -- the lock file and the cache --------------------------------------------------------

    def _load(self) -> tuple[dict[str, Record], dict[str, Installed], dict[str, Word]]:
        """Return what was found by folder, what is installed by name, and the user's words by folder."""
        stamp = "/".join(map(_stamp, (self._file, self._cache)))
        if self._known and self._known[0] == stamp:
            return self._known[1:]
        data, cached = _read(self._file), _read(self._cache)
        found: dict[str, Record] = {}
        if cached.get("format") == VERSION:
            found = {key: record_of(row) for key, row in cached.get("found", {}).items()}
        installed = {
            key: Installed(**{**row, "turns": tuple(row.get("turns", ()))})
            for key, row in data.get("installed", {}).items()
        }
        approved = {
            key: Word(**{**row, "rules": tuple(row["rules"])})
            for key, row in data.get("approved", {}).items()
        }
        self._known = (stamp, found, installed, approved)
        return self._known[1:]

    def change(
        self,
        *,
        installed: Mapping[str, Installed | None] | None = None,
        approved: Mapping[str, Word | None] | None = None,
    ) -> None:
        """Write values into the lock file; None takes one out."""
        with locked(self.lock):
            self._known = None
            _, old_installed, old_approved = self._load()
            data = {
                "installed": _joined(old_installed, installed or {}),
                "approved": _joined(old_approved, approved or {}),
            }
            self.home.mkdir(parents=True, exist_ok=True, mode=0o700)
            write_atomic(self._file, json.dumps(data, ensure_ascii=False, indent=1).encode())
            self._known = None

    def _keep(self, fresh: Mapping[str, Record | None]) -> None:
        """Keep what was found; where that cannot be written it is looked at again."""
        try:
            with locked(self.lock):
                self._known = None
                rows = {"format": VERSION, "found": _joined(self._load()[0], fresh)}
                self._cache.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
                write_atomic(
                    self._cache, json.dumps(rows, ensure_ascii=False).encode("utf-8", "replace")
                )
        except (OSError, Locked) as error:
            log.warning("what was found about skills cannot be kept: %s", error)
        self._known = None

    def forget(self, folder: Path) -> None:
        """Have a skill looked at anew."""
        self._keep({str(folder): None})

    def installed(self, name: str) -> Installed | None:
        """Return what the lock file knows of a skill."""
        return self._load()[1].get(name)

    # -- looking ----------------------------------------------------------------------------

    def entries(self, seconds: float = 1.0, *, keep: bool = True) -> list[Entry]:
        """Return all skills, by place and name. Those that changed are scanned for at most so many
        seconds; what is left then is not offered before the next look. What was found is kept unless
        ``keep`` is off."""
        deadline = time.monotonic() + seconds
        known, installed, _ = self._load()
        fresh: dict[str, Record | None] = {}
        rows: list[tuple[Place, Path, Record]] = []
        for place in self.places:
            for folder in _folders(place.folder):
                record = known.get(str(folder))
                stamp = stamp_of(str(folder))
                if record is None or not self._holds(record, stamp):
                    if time.monotonic() > deadline:
                        rows.append((place, folder, _unseen(folder)))
                        continue
                    record = fresh[str(folder)] = self._look(folder, place, stamp)
                rows.append((place, folder, record))
        there = {str(folder) for _, folder, _ in rows}
        fresh |= {key: None for key in known if key not in there and not Path(key).exists()}
        if fresh and keep:
            self._keep(fresh)
        return self._sorted_out(rows, installed)

    def _holds(self, record: Record, stamp: str) -> bool:
        return bool(stamp) and record.stamp == stamp and record.rules == rules_version()

    def _sorted_out(
        self, rows: Sequence[tuple[Place, Path, Record]], installed: Mapping[str, Installed]
    ) -> list[Entry]:
        """Return the entries: of two with one name the first counts, and knows the other."""
        out: dict[str, Entry] = {}
        for place, folder, record in rows:
            key = same_name(record.name)
            if key in out:
                out[key] = replace(out[key], shadowed=(*out[key].shadowed, folder))
                continue
            out[key] = Entry(
                name=record.name,
                folder=folder,
                place=place,
                record=record,
                installed=installed.get(record.name) if place.label == "home" else None,
                why_not=self._why_not(record),
            )
        return list(out.values())

    def _why_not(self, record: Record) -> str:
        if record.decision == "broken":
            return record.problems[0] if record.problems else "it cannot be read"
        if record.decision != "allow":
            asked = "waits for your approval" if record.decision == "ask" else "is blocked"
            return f"{asked}: {record.why[0] if record.why else 'it was not looked at yet'}"
        return self.abilities.lacking(record.needs)

    def _look(self, folder: Path, place: Place, stamp: str) -> Record:
        """Read and scan one skill."""
        if folder.is_symlink():
            return _broken(
                folder, stamp, "its folder is a link; name the real place in skills.dirs"
            )
        try:
            files = files_of(folder)
            skill = parse(files[SKILL_FILE], folder.name)
        except KeyError:
            return _broken(folder, stamp, "it has no SKILL.md that can be read")
        except (Unreadable, BrokenSkill) as error:
            return _broken(folder, stamp, str(error))
        judged, trust = self.judge(files, skill.name, folder, place.label == "home")
        report = judged.report
        why = [
            f"{f.file}:{f.line} {f.why} ({f.rule})" for f in report.findings if f.severity != "note"
        ]
        return Record(
            stamp=stamp,
            digest=judged.digest,
            rules=rules_version(),
            trust=trust,
            decision="allow" if isinstance(judged, Vetted) else judged.decision,
            name=skill.name,
            description=skill.description,
            version=skill.version,
            verdict=report.verdict,
            why=(*why[:8], *report.unread[:4]),
            problems=(
                *skill.repairs,
                *problems(skill, files, strict=False),
                *_folder_name(skill, folder),
            ),
            needs=skill.needs,
            terms=tuple(dict.fromkeys(terms(told(skill)))),
            phrases=phrases_of(skill),
        )

    def judge(
        self, files: Mapping[str, bytes], name: str, folder: Path, at_home: bool
    ) -> tuple[Vetted | Refused, Trust]:
        """Scan what lies in a folder as what it came from, an approval of exactly these bytes counting."""
        _, installed, approved = self._load()
        known = installed.get(name) if at_home else None
        trust: Trust = known.trust if known else "community"
        if name in self._trusted:
            trust = "trusted"
        pinned = self._shipped().get(name)
        if pinned is not None and pinned == digest(files):
            trust = "builtin"
        elif trust == "builtin":
            trust = "community"
        pins = [pinned] if pinned else []
        judged = vet(files, trust, name=name, pinned=pins)
        word = approved.get(str(folder))
        if isinstance(judged, Refused) and word and word.covers(judged):
            approval = Approval(digest=judged.digest, name=name if word.typed else "")
            judged = vet(files, trust, name=name, approval=approval, pinned=pins)
        return judged, trust

    # -- finding ----------------------------------------------------------------------------

    def find(self, name: str) -> Entry:
        """Return the skill of this name: the one in its front matter or its folder's. Raises
        :class:`NoSkill`, before any file is touched for a name that is none."""
        wanted = same_name(name)
        if not wanted or "/" in name or "\\" in name or "\0" in name or name.startswith("."):
            raise NoSkill(f"{name!r} is no name of a skill.")
        if (at_hand := self._at_hand(name)) is not None:
            return at_hand
        entries = self.entries()
        found = [e for e in entries if same_name(e.name) == wanted]
        found = found or [e for e in entries if same_name(e.folder.name) == wanted]
        if len(found) == 1:
            return found[0]
        if found:
            raise NoSkill(f"{name!r} can be {' or '.join(e.name for e in found)}.")
        import difflib

        near = difflib.get_close_matches(name, [e.name for e in entries], n=3, cutoff=0.5)
        hint = f"Did you mean {', '.join(near)}?" if near else "skill_search finds skills."
        raise NoSkill(f"There is no skill {name!r}. {hint}")

    def _at_hand(self, name: str) -> Entry | None:
        """Return the skill in the folder of this name where it stands as it was looked at: one stamp, not
        hundreds."""
        known, installed, _ = self._load()
        for place in self.places:
            folder = place.folder / name
            record = known.get(str(folder))
            if record is None:
                if folder.exists():
                    return None
                continue
            if record.name != name or not self._holds(record, stamp_of(str(folder))):
                return None
            return Entry(
                name=name,
                folder=folder,
                place=place,
                record=record,
                installed=installed.get(name) if place.label == "home" else None,
                why_not=self._why_not(record),
            )
        return None

    def fresh(self, entry: Entry) -> tuple[Entry, dict[str, bytes]]:
        """Return the entry as it is now, and exactly the bytes that were judged. Raises
        :class:`Unreadable` and :class:`BrokenSkill`."""
        files = files_of(entry.folder)
        if SKILL_FILE not in files:
            raise BrokenSkill("SKILL.md is gone")
        if digest(files) == entry.record.digest and entry.record.rules == rules_version():
            return entry, files
        record = self._look(entry.folder, entry.place, stamp_of(str(entry.folder)))
        self._keep({str(entry.folder): record})
        if record.digest != digest(files):
            raise Unreadable("it is being changed just now; try again")
        return replace(entry, record=record, why_not=self._why_not(record)), files


def same_name(name: str) -> str:
    """Return what two spellings of one name have in common: composed, lower case, spaces as hyphens."""
    return re.sub(r"[\s_]+", "-", unicodedata.normalize("NFKC", name).strip().casefold())


def told(skill: Skill) -> str:
    """Return what a skill says of when it is of use: the text that questions are compared with."""
    when = skill.section("When to Use") or skill.body[:400]
    return f"{skill.name.replace('-', ' ')}\n{skill.title}\n{skill.description}\n{when[:600]}"


def phrases_of(skill: Skill, most: int = 8) -> tuple[str, ...]:
    """Return the sentences in which a skill says when it is of use, without parameters."""
    bullets = re.findall(r"^[-*]\s+(.+)$", skill.section("When to Use"), re.MULTILINE)
    rows = [skill.title, skill.description.split(". ")[0], *bullets]
    plain = (_LEAD.sub("", re.sub(r"<[a-z]+\d?>|[“”\"]", " ", row)) for row in rows)
    return tuple(
        dict.fromkeys(" ".join(row.split()).strip(" .。") for row in plain if len(row) > 3)
    )[:most]


def _folders(place: Path) -> list[Path]:
    """Return the folders that hold a SKILL.md: directly, or one category below."""
    found: list[Path] = []
    for folder in _inside(place):
        if os.path.lexists(f"{folder}/{SKILL_FILE}"):
            found.append(folder)
        else:
            found += [f for f in _inside(folder) if os.path.lexists(f"{f}/{SKILL_FILE}")]
    return found


def _inside(folder: Path) -> list[Path]:
    try:
        with os.scandir(folder) as entries:
            names = sorted(e.name for e in entries if not e.name.startswith(".") and e.is_dir())
    except OSError:
        return []
    return [folder / name for name in names]


def _folder_name(skill: Skill, folder: Path) -> list[str]:
    if same_name(skill.name) == same_name(folder.name):
        return []
    return [f"its folder is called {folder.name}, its front matter says {skill.name}"]


def _broken(folder: Path, stamp: str, why: str) -> Record:
    return Record(
        stamp=stamp, digest="", rules=rules_version(), trust="community", decision="broken",
        name=folder.name, description="", version=1, verdict="", why=(), problems=(why,),
        needs=Needs(), terms=(), phrases=(),
    )  # fmt: skip


def _unseen(folder: Path) -> Record:
    return replace(
        _broken(folder, "", "it was not looked at yet; the next look goes on"), decision="ask"
    )


def now_text(now: datetime | None = None) -> str:
    """Return a moment as the lock file keeps it."""
    return (now or datetime.now(UTC)).isoformat(timespec="seconds")


def _stamp(path: Path) -> str:
    try:
        status = os.stat(path)  # noqa: PTH116 - at each look
    except OSError:
        return "none"
    return f"{status.st_mtime_ns}.{status.st_ino}.{status.st_size}"


def _read(path: Path) -> dict[str, Any]:
    try:
        data = json.loads(path.read_bytes())
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        log.warning("%s cannot be read, what it says is found out anew: %s", path, error)
        return {}
    return data if isinstance(data, dict) else {}


def _joined(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    return {key: asdict(value) for key, value in {**old, **new}.items() if value is not None}
