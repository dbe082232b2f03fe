"""Owns ``reverie forget``: shows where a fact lives, asks, removes it, says that it is gone."""

from __future__ import annotations

import sys
from datetime import datetime

import click

from assistant.commands.memory import place
from assistant.errors import UsageError
from assistant.forget import forget, look
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
    if not yes:
        if not sys.stdin.isatty():
            raise UsageError("Forgetting needs a yes. Next step: add --yes.")
        click.confirm("Remove all of it for good?", abort=True)
    forget(at.home, store, at.history, text, datetime.now(at.zone))
    print("Gone: no byte of the home holds it any more.")
