"""Owns ``reverie forget``: shows where a fact lives, asks, removes it, says that it is gone."""

from __future__ import annotations

import sys
from datetime import datetime

import click

from assistant.commands.memory import place
from assistant.errors import UsageError
from assistant.forget import forget, forget_session, from_session, look
from memory.sessions import SessionStore


def run(text: str, dry_run: bool, yes: bool) -> None:
    """Look, ask, forget."""
    at = place()
    store = SessionStore(at.home.database)
    found = look(at.home, store, at.history, text)
    if not found.traces:
        print(f"Nothing holds {text!r}.")
        return
    print(f"{len(found.traces)} places hold it:")
    for line in found.lines():
        print(f"  {line}")
    if dry_run:
        return
    _ask("Remove all of it for good?", yes)
    forget(at.home, store, at.history, text, datetime.now(at.zone))
    print("Gone: no byte of the home holds it any more.")


def session(name: str, dry_run: bool, yes: bool) -> None:
    """Show what came from a session, ask, delete it with all that only it tells."""
    at = place()
    store = SessionStore(at.home.database)
    found = from_session(at.home, store, at.history, store.find(name))
    print(f"Session {found.session.id} ({found.session.title}): {found.session.messages} messages")
    for text in found.only_here:
        print(f"  goes with it: {text}")
    for text, _ in found.told_elsewhere:
        print(f"  stays, you said it elsewhere too: {text}")
    if dry_run:
        return
    _ask("Delete the session and what came from it alone, for good?", yes)
    forget_session(at.home, store, at.history, found, datetime.now(at.zone))
    print(f"Gone: the session and {len(found.only_here)} memories and notes.")


def _ask(question: str, yes: bool) -> None:
    if yes:
        return
    if not sys.stdin.isatty():
        raise UsageError("Forgetting needs a yes. Next step: add --yes.")
    click.confirm(question, abort=True)
