"""Owns ``reverie sessions``: what the archive holds, as text or JSON."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import click

from assistant.commands.memory import place
from assistant.config import find_home, load_config, local_zone
from assistant.errors import UsageError
from assistant.tools.recall import format_hit, parse_moment
from assistant.tools.registry import ToolError
from memory.atomic import write_atomic
from memory.clean import one_line
from memory.index import purge
from memory.session_search import Scope
from memory.sessions import Session, SessionStore
from memory.transcript import Message


def _zone() -> Any:
    return local_zone(load_config(find_home().config))


def _print(value: Any) -> None:
    print(json.dumps(value, ensure_ascii=False, indent=2))


def _row(session: Session) -> dict[str, Any]:
    return {
        "id": session.id,
        "title": session.title,
        "source": session.source,
        "started": session.started.isoformat(timespec="seconds"),
        "updated": session.updated.isoformat(timespec="seconds"),
        "model": session.model,
        "messages": session.messages,
    }


def show_list(store: SessionStore, limit: int, as_json: bool) -> None:
    """Print recent sessions."""
    found = store.recent(limit)
    if as_json:
        _print({"sessions": [_row(session) for session in found]})
        return
    zone = _zone()
    for session in found:
        when = session.updated.astimezone(zone).strftime("%Y-%m-%d %H:%M")
        origin = "" if session.source == "chat" else f"  [{session.source}]"
        print(f"{when}  {session.id}  {session.messages:>4} messages  {session.title}{origin}")
    if not found:
        print("There are no sessions yet.")


def _message(message: Message) -> dict[str, Any]:
    return {
        "id": message.id,
        "role": message.role,
        "created": message.created.isoformat(timespec="seconds"),
        "text": message.text,
        **message.extras(),
    }


def show_one(store: SessionStore, session_id: str, as_json: bool) -> None:
    """Print what was said in a session."""
    session = store.find(session_id)
    if as_json:
        _print(whole(store, session))
    else:
        print(markdown(store, session))


def whole(store: SessionStore, session: Session) -> dict[str, Any]:
    """Return a session with all its turns as JSON values."""
    turns = [
        {
            "id": turn.id,
            "status": turn.status,
            "model": turn.model,
            "messages": [_message(message) for message in turn.messages],
        }
        for turn in store.turns(session.id)
    ]
    return {**_row(session), "turns": turns}


def markdown(store: SessionStore, session: Session) -> str:
    """Return a session as Markdown."""
    zone = _zone()
    lines = [f"# {session.title or session.id}", "", f"{session.id}, {session.model}"]
    for turn in store.turns(session.id):
        mark = "" if turn.status == "done" else f" ({turn.status})"
        for message in turn.messages:
            when = message.created.astimezone(zone).strftime("%Y-%m-%d %H:%M")
            if message.role == "tool":
                failed = " failed" if message.error else ""
                lines += ["", f"> {message.tool_name}{failed}: {one_line(message.text, 500)}"]
            elif message.text:
                who = "You" if message.role == "user" else "Reverie"
                lines += ["", f"**{who}**, {when}{mark if who == 'You' else ''}", "", message.text]
    return "\n".join(lines)


def show_search(
    store: SessionStore,
    query: str,
    span: tuple[str, str],
    limit: int,
    as_json: bool,
    explain: bool,
) -> None:
    """Print the messages that answer a query best."""
    at, zone = place(), _zone()
    try:
        scope = Scope(
            since=parse_moment(span[0], zone), until=parse_moment(span[1], zone, end=True)
        )
    except ToolError as error:
        raise UsageError(str(error)) from None
    recall = at.recall(store)
    hits = recall.sessions(store, query, scope, limit, explain=explain)
    recall.stop()
    if as_json:
        _print({"hits": [hit.to_dict() for hit in hits]})
        return
    for hit in hits:
        print(format_hit(hit, zone) + (f"\n    {hit.why}" if hit.why else ""))
    if not hits:
        print(f"Nothing found for {query!r}.")


def export(store: SessionStore, session_id: str, output: Path | None, as_json: bool) -> None:
    """Write a session to a file or to the screen."""
    session = store.find(session_id)
    text = (
        json.dumps(whole(store, session), ensure_ascii=False, indent=2)
        if as_json
        else markdown(store, session)
    )
    if output is None:
        print(text)
        return
    try:
        write_atomic(output, (text + "\n").encode("utf-8"))
    except OSError as error:
        raise UsageError(
            f"{output} cannot be written: {error.strerror}. Next step: name another file."
        ) from error
    print(f"{session.id} written to {output}.")


def delete(store: SessionStore, session_id: str, yes: bool, as_json: bool) -> None:
    """Delete a session after a question."""
    session = store.find(session_id)
    if not yes:
        if not sys.stdin.isatty():
            raise UsageError("Deleting needs a yes. Next step: add --yes.")
        click.confirm(
            f"Delete {session.id} ({session.title}, {session.messages} messages) for good?",
            abort=True,
        )
    count = store.delete(session.id)
    purge(store.path.parent, lambda _: False, [f"session:{session.id}"])
    if as_json:
        _print({"deleted": session.id, "messages": count})
    else:
        print(
            f"Deleted {session.id} with {count} messages. Notes that came from it stay; "
            "reverie forget --session takes those along."
        )


def rename(store: SessionStore, session_id: str, title: str, as_json: bool) -> None:
    """Give a session another title."""
    session = store.find(session_id)
    store.rename(session.id, one_line(title, 200))
    if as_json:
        _print({"id": session.id, "title": one_line(title, 200)})
    else:
        print(f"{session.id} is now called {one_line(title, 200)!r}.")
