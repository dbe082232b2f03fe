"""Owns the reading of what other assistants keep: memory files, notes, skills, conversations.

Sources are only read. What comes out are plain values; storing them is the caller's.
"""

from __future__ import annotations

import hashlib
import json
import re
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from memory.clean import clean
from memory.entries import MemoryFile, normal_text
from memory.transcript import Message, Role


class NothingFound(LookupError):
    """There is nothing of the expected kind at the given place; the message says where it looked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """One conversation from elsewhere. ``key`` is stable, so that a second import finds it."""

    key: str
    title: str
    messages: tuple[Message, ...]


@dataclass(slots=True, kw_only=True)
class Imported:
    """What was found. ``skills`` are folders; ``skipped`` says what was left out, and why."""

    user: list[str] = field(default_factory=list)
    memory: list[str] = field(default_factory=list)
    notes: dict[str, Path] = field(default_factory=dict)
    skills: list[Path] = field(default_factory=list)
    conversations: list[Conversation] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)

    @property
    def is_empty(self) -> bool:
        """Whether nothing was found."""
        return not (self.user or self.memory or self.notes or self.skills or self.conversations)


def read(kind: str, path: Path) -> Imported:
    """Return what there is at ``path``. Raises :class:`NothingFound`."""
    found = {"hermes": _hermes, "openclaw": _openclaw, "chatgpt": _chatgpt, "claude": _claude}[
        kind
    ](path)
    if found.is_empty:
        detail = f" ({'; '.join(found.skipped)})" if found.skipped else ""
        raise NothingFound(
            f"Nothing of {kind} was found at {path}{detail}. "
            "Next step: give its home folder, or the export file that it gave you."
        )
    return found


# -- memory files ---------------------------------------------------------------------------


def entries_of(path: Path) -> list[str]:
    """Return the facts of a memory file of another assistant: parted by a line ``§``, or bullets;
    a table or code block is one fact, whole."""
    text = path.read_bytes().decode("utf-8-sig", "replace").replace("\r\n", "\n")
    if re.search(r"^§\s*$", text, re.MULTILINE):
        parts = re.split(r"^§\s*$", text, flags=re.MULTILINE)
        return [normal_text(part) for part in parts if part.strip()]
    file = MemoryFile(raw=text)
    bullets = [entry.text for entry in file.entries]
    rest = text
    for entry in reversed(file.entries):
        rest = rest[: entry.start] + "\n\n" + rest[entry.end :]
    rest = re.sub(r"<!--.*?-->", "", rest, flags=re.DOTALL)
    for block in re.findall(
        r"```.*?```|(?:^(?!\s*$|#|```|-{3,}).+\n?)+", rest, re.MULTILINE | re.DOTALL
    ):
        if block.strip():
            bullets.append(normal_text(block))
    return bullets


def _memory_folder(found: Imported, folder: Path) -> None:
    for name, into in (("USER.md", found.user), ("MEMORY.md", found.memory)):
        path = folder / name
        if path.is_file():
            into += [fact for fact in entries_of(path) if fact not in into]
    for note in sorted(folder.glob("memory/*.md")):
        if re.fullmatch(r"\d{4}-\d\d-\d\d", note.stem):
            found.notes.setdefault(note.stem, note)


def _skills(found: Imported, folder: Path) -> None:
    for skill in sorted(folder.rglob("SKILL.md")):
        if ".git" not in skill.parts:
            found.skills.append(skill.parent)


def _hermes(path: Path) -> Imported:
    found = Imported()
    for folder in (path / "memories", path):
        _memory_folder(found, folder)
    _skills(found, path / "skills")
    if (path / "state.db").is_file():
        found.skipped.append("state.db: its sessions are not read")
    return found


def _openclaw(path: Path) -> Imported:
    """Workspaces under all their names: ``workspace``, ``workspace-main``, ``workspace-<id>``, the
    one that the configuration names, and the folder itself."""
    found = Imported()
    folders = [path, *sorted(path.glob("workspace*"))]
    for config in (
        *path.glob("openclaw.json"),
        *path.glob("clawdbot.json"),
        *path.glob("moltbot.json"),
    ):
        match = re.search(r'"workspace"\s*:\s*"([^"]+)"', config.read_text("utf-8", "replace"))
        if match:
            folders.append(Path(match[1]).expanduser())
    for folder in folders:
        if folder.is_dir():
            _memory_folder(found, folder)
            if folder != path:
                _skills(found, folder / "skills")
    _skills(found, path / "skills")
    return found


# -- conversations --------------------------------------------------------------------------


def _json_of(path: Path, name: str = "conversations.json") -> Any:
    """Return the JSON of an export: the file itself, in its folder, or in the zip as it came."""
    try:
        if path.is_dir():
            path = path / name
        if zipfile.is_zipfile(path):
            with zipfile.ZipFile(path) as archive:
                inner = next((n for n in archive.namelist() if n.endswith(name)), None)
                if inner is None:
                    raise NothingFound(
                        f"There is no {name} in {path}. Next step: give the export as it came."
                    )
                return json.loads(archive.read(inner))
        return json.loads(path.read_bytes())
    except FileNotFoundError:
        raise NothingFound(f"There is no {path}. Next step: give the export file.") from None
    except (ValueError, OSError) as error:
        raise NothingFound(
            f"{path} cannot be read as an export: {error}. Next step: export again."
        ) from error


def _key(*parts: str) -> str:
    return hashlib.sha256("/".join(parts).encode()).hexdigest()[:16]


def _moment(value: Any, before: datetime | None) -> datetime:
    """Return a time given as seconds or as ISO text; one that is missing follows the one before."""
    if isinstance(value, int | float) and value > 0:
        return datetime.fromtimestamp(value, UTC)
    if isinstance(value, str):
        try:
            moment = datetime.fromisoformat(value.replace("Z", "+00:00"))
            return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        except ValueError:
            pass
    return before or datetime.fromtimestamp(0, UTC)


def _chatgpt(path: Path) -> Imported:
    found = Imported()
    data = _json_of(path)
    for position, item in enumerate(data if isinstance(data, list) else []):
        if not isinstance(item, dict) or not isinstance(item.get("mapping"), dict):
            found.skipped.append(f"conversation {position + 1}: no messages")
            continue
        try:
            _chatgpt_item(found, item)
        except (AttributeError, TypeError, KeyError, ValueError) as error:
            found.skipped.append(f"conversation {position + 1}: {error}")
    return found


def _chatgpt_item(found: Imported, item: dict[str, Any]) -> None:
    title = clean(str(item.get("title") or "(untitled)"))
    id = str(item.get("conversation_id") or item.get("id") or title)
    seen: set[str] = set()
    for number, line in enumerate(_branches(item["mapping"], item.get("current_node"))):
        known = sum(node in seen for node in line)
        seen |= set(line)
        # A branch begins with the message that it answers or replaces the answer of.
        messages = _chatgpt_messages(item, line[max(known - 1, 0) :] if number else line)
        if messages:
            name = title if number == 0 else f"{title} (branch {number})"
            found.conversations.append(
                Conversation(key=_key("chatgpt", id, str(number)), title=name, messages=messages)
            )


def _branches(mapping: dict[str, Any], current: Any) -> Iterator[list[str]]:
    """Yield the path to the message that was shown last, then those to the ends of other branches."""
    ends = [node for node, value in mapping.items() if not (value or {}).get("children")]
    if current in mapping:
        ends = [current, *[end for end in ends if end != current]]
    for end in ends:
        line: list[str] = []
        node: Any = end
        while node in mapping and node not in line:  # a loop in a damaged export ends here
            line.append(node)
            node = (mapping[node] or {}).get("parent")
        yield line[::-1]


def _chatgpt_messages(item: dict[str, Any], line: list[str]) -> tuple[Message, ...]:
    messages: list[Message] = []
    before = _moment(item.get("create_time"), None)
    for node in line:
        message = (item["mapping"][node] or {}).get("message") or {}
        role = (message.get("author") or {}).get("role")
        if role not in ("user", "assistant"):
            continue
        content = message.get("content") or {}
        parts = content.get("parts") or [content.get("text") or ""]
        text = "\n".join(part for part in parts if isinstance(part, str)).strip()
        names = [
            str(a.get("name")) for a in (message.get("metadata") or {}).get("attachments") or []
        ]
        before = _moment(message.get("create_time"), before)
        _append(messages, role, text, names, before)
    return tuple(messages)


def _claude(path: Path) -> Imported:
    found = Imported()
    data = _json_of(path)
    for position, item in enumerate(data if isinstance(data, list) else []):
        rows = item.get("chat_messages") if isinstance(item, dict) else None
        if not isinstance(rows, list):
            found.skipped.append(f"conversation {position + 1}: no messages")
            continue
        messages: list[Message] = []
        before = _moment(item.get("created_at"), None)
        for row in rows:
            role = {"human": "user", "assistant": "assistant"}.get(str(row.get("sender")))
            blocks = row.get("content") or []
            text = "\n".join(
                str(b.get("text") or "")
                for b in blocks
                if isinstance(b, dict) and b.get("type") == "text"
            )
            names = [
                str(f.get("file_name"))
                for key in ("attachments", "files")
                for f in row.get(key) or []
            ]
            before = _moment(row.get("created_at"), before)
            if role:
                _append(messages, role, (text or str(row.get("text") or "")).strip(), names, before)
        if any(m.role == "user" for m in messages):
            title = clean(str(item.get("name") or "(untitled)"))
            id = str(item.get("uuid") or title)
            found.conversations.append(
                Conversation(key=_key("claude", id), title=title, messages=tuple(messages))
            )
    return found


def _append(
    messages: list[Message], role: Any, text: str, attachments: list[str], created: datetime
) -> None:
    names = [f"[attachment: {name}]" for name in attachments if name and name != "None"]
    whole = clean("\n".join([part for part in (text, *names) if part]))
    if whole:
        kind: Role = role
        messages.append(Message(role=kind, text=whole, created=created))
