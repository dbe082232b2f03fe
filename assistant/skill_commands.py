"""Owns the commands about skills."""

from __future__ import annotations

import sys

import click

from assistant.command_line import CONTEXT, JSON, Group


@click.group(cls=Group, context_settings=CONTEXT)
def skills() -> None:
    """What the assistant has learned to do."""


@skills.command("scan", context_settings=CONTEXT)
@click.argument("paths", nargs=-1, required=True, type=click.Path())
@click.option(
    "--trust",
    type=click.Choice(("builtin", "trusted", "agent-created", "community")),
    default="community",
    show_default=True,
    help="Whose skill it is.",
)
@JSON
def scan(paths: tuple[str, ...], trust: str, as_json: bool) -> None:
    """Look through skills for attack shapes; nothing is installed or run."""
    from skills_guard.__main__ import main

    sys.exit(main([*(["--json"] if as_json else []), "--trust", trust, "--", *paths]))
