"""Owns ``reverie memory``, ``reverie history`` and ``reverie undo``: what is known, why, since when."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from assistant.config import Config, find_home, load_config, load_environment, local_zone
from assistant.errors import UsageError
from assistant.history import Change, History
from assistant.home import Home
from assistant.recall import Recall
from memory.clean import one_line
from memory.entries import MemoryFile
from memory.notes import NoteBook, strip_source
from memory.recall_words import overlap
from memory.sessions import SessionStore

CLOSE_ENOUGH = 0.6


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """The home as these commands need it; nothing heavy is opened."""

    home: Home
    config: Config
    zone: ZoneInfo

    @property
    def history(self) -> History:
        """The history of the home."""
        return History(self.home.root, self.home.lock)

    @property
    def files(self) -> tuple[tuple[Path, int], ...]:
        """The memory files with their limits."""
        limits = self.config.memory
        return (self.home.user, limits.user_limit), (self.home.memory, limits.memory_limit)

    def recall(self, store: SessionStore) -> Recall:
        """Return the search over the home."""
        return Recall(
            self.home,
            self.config,
            load_environment(self.home),
            store=store,
            zone=self.zone,
            today=lambda: datetime.now(self.zone).date(),
        )


def place() -> Place:
    """Return the user's home. Raises ``UsageError`` where there is none yet."""
    home = find_home()
    if not home.root.is_dir():
        raise UsageError(f"There is no home at {home.root} yet. Next step: reverie starts one.")
    config = load_config(home.config)
    return Place(home=home, config=config, zone=local_zone(config))


def _print(value: Any) -> None:
    print(json.dumps(value, ensure_ascii=False, indent=2))


def show(at: Place, as_json: bool) -> None:
    """Print the entries of both memory files."""
    files = [(path, limit, MemoryFile.read(path)) for path, limit in at.files]
    if as_json:
        _print(
            {
                path.name: {"size": f.size, "limit": limit, "entries": [e.text for e in f.entries]}
                for path, limit, f in files
            }
        )
        return
    for path, limit, file in files:
        print(f"{path.name} ({file.size} of {limit} characters)")
        for entry in file.entries:
            print(f"- {entry.text}")


def why(at: Place, text: str, as_json: bool) -> None:
    """Print where an entry or a note comes from: the change, the turn, the words."""
    found = [row for path in _texts(at) for row in _matching(path, text)]
    if not found:
        raise UsageError(
            f"Nothing in memory or notes is about {text!r}. Next step: reverie memory show."
        )
    best = max(row[0] for row in found)
    rows = [_origin(at, name, line) for fit, name, line in found if fit >= best][:5]
    if as_json:
        _print({"origins": rows})
        return
    for row in rows:
        print(f"{row['file']}: {row['text']}")
        if row["change"]:
            print(f"  written {row['when']} by change {row['change']} ({row['what']})")
        else:
            print("  written by hand, or before there was a history")
        if row["said"]:
            print(f"  you said, {row['said_at']}, session {row['session']}: “{row['said']}”")


def _texts(at: Place) -> list[Path]:
    notes = sorted(at.home.notes.glob("*.md"), reverse=True)
    return [path for path, _ in at.files] + notes


def _matching(path: Path, text: str) -> list[tuple[float, Path, str]]:
    rows = []
    for entry in MemoryFile.read(path).entries:
        plain = strip_source(entry.text)
        fit = 1.5 if text.casefold() in plain.casefold() else overlap(text, plain)
        if fit >= CLOSE_ENOUGH:
            rows.append((fit, path, entry.text))
    return rows


def _origin(at: Place, path: Path, text: str) -> dict[str, Any]:
    name = path.relative_to(at.home.root).as_posix()
    first = text.split("\n")[0]
    added = [
        change
        for change, file, sign, line in at.history.lines(first)
        if sign == "+" and file == name and first in line
    ]
    row: dict[str, Any] = {
        "file": name,
        "text": strip_source(text),
        **dict.fromkeys(("change", "when", "what", "session", "said", "said_at")),
    }
    if not added:
        return row
    change = added[-1]
    row |= {"change": change.id, "when": _when(at, change.when), "what": change.what}
    turn = SessionStore(at.home.database).turn(change.turn) if change.turn else None
    if turn and turn.messages:
        row |= {
            "session": turn.session,
            "said": one_line(turn.messages[0].text, 300),
            "said_at": _when(at, turn.started),
        }
    return row


def _when(at: Place, moment: datetime) -> str:
    return moment.astimezone(at.zone).strftime("%Y-%m-%d %H:%M")


def history_of(at: Place, text: str, as_json: bool) -> None:
    """Print what was known about something, and when it changed."""
    rows = [
        {
            "when": _when(at, change.when),
            "file": name,
            "change": change.id,
            "sign": sign,
            "text": strip_source(line.lstrip("-*+ ")),
        }
        for change, name, sign, line in at.history.lines(text)
        if not name.startswith("memory/20")
    ]
    if as_json:
        _print({"lines": rows})
        return
    for row in rows:
        print(
            f"{row['when']}  {row['sign']} {row['text']}  ({row['file']}, change {row['change']})"
        )
    if not rows:
        print(f"Nothing about {text!r} was ever written to USER.md or MEMORY.md.")


def show_changes(at: Place, limit: int, as_json: bool) -> None:
    """Print the last changes of the home."""
    changes = at.history.changes(limit)
    if as_json:
        _print({"changes": [change.to_dict() for change in changes]})
        return
    for change in changes:
        print(f"{change.id}  {_when(at, change.when)}  {change.what}  [{_names(change.files)}]")
    if not changes:
        foreign = at.history.is_foreign
        print("Your own repository is left alone." if foreign else "Nothing has changed yet.")


def _names(files: Sequence[str]) -> str:
    return ", ".join(files[:3]) + (f" and {len(files) - 3} more" if len(files) > 3 else "")


def undo(at: Place, change_id: str, as_json: bool) -> None:
    """Take a change back."""
    change: Change = at.history.undo(change_id)
    if as_json:
        _print({"undone": change.to_dict()})
    else:
        print(
            f"Undone: {change.what} [{_names(change.files)}]. (reverie undo takes that back again "
            "with the id that reverie history shows.)"
        )


def notes(at: Place, day: str, as_json: bool) -> None:
    """Print the notes of a day, today's when none is named."""
    try:
        wanted = date.fromisoformat(day) if day else datetime.now(at.zone).date()
    except ValueError:
        raise UsageError(f"{day!r} is no date. Next step: write it as 2026-11-30.") from None
    texts = NoteBook(at.home.notes, at.home.lock).texts(wanted)
    if as_json:
        _print({"day": wanted.isoformat(), "notes": texts})
        return
    for text in texts:
        print(f"- {text}")
    if not texts:
        print(f"There are no notes of {wanted.isoformat()}.")
