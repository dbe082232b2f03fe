"""Owns ``reverie import``: takes over what another assistant kept, and reports each thing."""

from __future__ import annotations

import hashlib
import shutil
from datetime import datetime
from pathlib import Path

from assistant.commands.memory import Place, place
from assistant.config import find_home, load_environment
from assistant.errors import UsageError
from memory.atomic import write_atomic
from memory.clean import one_line
from memory.entries import MemoryFile, Operation, OverCapacity, change
from memory.imports import Conversation, Imported, NothingFound, read
from memory.limits import Leaving, keep_in_archive
from memory.redact import redact
from memory.rows import first_turn
from memory.sessions import Session, SessionStore
from memory.transcript import Message, Turn
from skills_guard import scan

KINDS = ("hermes", "openclaw", "chatgpt", "claude")


def run(kind: str, path: Path, dry_run: bool) -> None:
    """Import, or only report what would be. The source is never written."""
    home = find_home()
    secrets = load_environment(home).secrets
    if home.create():
        print(f"Your home is {home.root}.")
    at = place()
    try:
        found = read(kind, path.expanduser())
    except NothingFound as error:
        raise UsageError(str(error)) from None
    verb = "would be imported" if dry_run else "imported"
    found.user = [redact(fact, secrets) for fact in found.user]
    found.memory = [redact(fact, secrets) for fact in found.memory]
    _report_memory(at, found, dry_run, verb)
    _report_notes(at, found, dry_run, verb)
    _report_skills(at, found, dry_run)
    _report_conversations(at, kind, found, dry_run, verb)
    for skipped in found.skipped:
        print(f"skipped: {skipped}")
    if not dry_run:
        at.history.record(f"Import from {kind}", [path for path, _ in at.files])
        at.history.keep_hand_edits()


def _report_memory(at: Place, found: Imported, dry_run: bool, verb: str) -> None:
    for (path, limit), facts in zip(at.files, (found.user, found.memory), strict=True):
        if not facts:
            continue
        new = [fact for fact in facts if not MemoryFile.read(path).known(fact)]
        archived = 0
        if not dry_run and new:
            if path.exists():
                write_atomic(path.with_suffix(".md.bak"), path.read_bytes())
            archived = _store_facts(at, path, limit, new)
        room = f", {archived} of them to memory/archive.md for lack of room" if archived else ""
        print(
            f"{path.name}: {len(facts)} found, {len(new)} {verb}{room}, {len(facts) - len(new)} known"
        )


def _store_facts(at: Place, path: Path, limit: int, facts: list[str]) -> int:
    """Add facts one by one; those for which there is no room go to the archive."""
    left: list[Leaving] = []
    known = MemoryFile.read(at.home.archive).raw
    for fact in facts:
        try:
            change(
                path, [Operation(action="add", text=fact)], limit, at.home.lock, newest_wins=False
            )
        except OverCapacity:
            if fact not in known:
                left.append(Leaving(text=fact, reason="imported, and there was no room"))
    if left:
        keep_in_archive(
            at.home.archive, path.name, left, at.home.lock, datetime.now(at.zone).date()
        )
    return len(left)


def _report_notes(at: Place, found: Imported, dry_run: bool, verb: str) -> None:
    new = {
        day: path for day, path in found.notes.items() if not (at.home.notes / f"{day}.md").exists()
    }
    if found.notes:
        print(
            f"daily notes: {len(found.notes)} found, {len(new)} {verb}, {len(found.notes) - len(new)} there"
        )
    if not dry_run:
        for day, path in new.items():
            text = redact(path.read_bytes().decode("utf-8", "surrogateescape"))
            write_atomic(at.home.notes / f"{day}.md", text.encode("utf-8", "surrogateescape"))


def _report_skills(at: Place, found: Imported, dry_run: bool) -> None:
    """Skills wait in the quarantine: none goes live before it has been looked at."""
    if not found.skills:
        return
    waiting = at.home.skills / ".quarantine"
    new = [skill for skill in found.skills if not (waiting / skill.name).exists()]
    print(
        f"skills: {len(found.skills)} found, {len(new)} to skills/.quarantine, where they wait for you"
    )
    for skill in new if not dry_run else []:
        if (waiting / skill.name).exists():
            found.skipped.append(f"skill {skill}: another one of this name was imported")
            continue
        report = scan(skill)
        worst = [f.why for f in report.findings if f.severity != "note"] + list(report.unread)
        print(f"  {skill.name}: {': '.join([report.verdict, *worst[:1]])}")
        if any(f.rule == "link-leaves-folder" for f in report.findings):
            found.skipped.append(f"skill {skill.name}: a link in it leads out of its folder")
        else:
            shutil.copytree(skill, waiting / skill.name)


def _report_conversations(at: Place, kind: str, found: Imported, dry_run: bool, verb: str) -> None:
    if not found.conversations:
        return
    secrets = load_environment(at.home).secrets
    store = SessionStore(at.home.database, lambda text: redact(text, secrets))
    there = {s.id: s.messages for s in store.recent(10_000_000, ["import"])}
    # One that an interrupted import left half, or that has grown since, is taken up again.
    new = [c for c in found.conversations if there.get(f"{kind}-{c.key}", 0) < len(c.messages)]
    if not dry_run:
        for conversation in new:
            _store(store, f"{kind}-{conversation.key}", conversation)
    messages = sum(len(c.messages) for c in new)
    known = len(found.conversations) - len(new)
    print(
        f"conversations: {len(found.conversations)} found, {len(new)} {verb} ({messages} messages), "
        f"{known} known"
    )


def _store(store: SessionStore, id: str, conversation: Conversation) -> None:
    first, last = conversation.messages[0].created, conversation.messages[-1].created
    session = Session(
        id=id,
        title=one_line(conversation.title, 200),
        source="import",
        started=first,
        updated=last,
        model="",
        cwd="",
        parent=None,
        system_prompt="",
    )
    store.adopt(session)
    for position, messages in enumerate(_turns(conversation.messages)):
        turn = Turn(
            id=_free_id(store, id, position, messages[0]),
            session=id,
            started=messages[0].created,
            ended=messages[-1].created,
            status="done",
            messages=tuple(messages),
        )
        store.finish(turn, hook_owed=False)


def _free_id(store: SessionStore, session: str, position: int, first: Message) -> int:
    """Return the id of a turn: the same at each import, and no other session's."""
    digest = hashlib.sha256(f"{session}/{position}".encode()).digest()
    id = first_turn(first.created) | int.from_bytes(digest[:3]) & 0xFFFFF
    while (turn := store.turn(id)) is not None and turn.session != session:
        id += 1
    return id


def _turns(messages: tuple[Message, ...]) -> list[list[Message]]:
    turns: list[list[Message]] = []
    for message in messages:
        if message.role == "user" or not turns:
            turns.append([])
        turns[-1].append(message)
    return turns
