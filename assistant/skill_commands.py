"""Owns the commands about skills; what they do is in ``commands/skills.py``."""

from __future__ import annotations

import sys

import click

from assistant.command_line import CONTEXT, JSON, TEXT, Group

_NAME = click.argument("name", type=TEXT)
_TRUST = click.Choice(("builtin", "trusted", "agent-created", "community"))


@click.group(cls=Group, context_settings=CONTEXT)
def skills() -> None:
    """What the assistant has learned to do."""


@skills.command("list", context_settings=CONTEXT)
@click.option("--retired", is_flag=True, help="Those that were taken out of use.")
@JSON
def list_(retired: bool, as_json: bool) -> None:
    """Show the skills there are, where from, and why one is not used."""
    from assistant.commands import skills as run

    run.show_list(run.open_skills(), retired, as_json)


@skills.command("show", context_settings=CONTEXT)
@_NAME
@click.argument("path", default="", type=TEXT)
@JSON
def show(name: str, path: str, as_json: bool) -> None:
    """Show a skill, or a file of it, and where it comes from."""
    from assistant.commands import skills as run

    run.show_one(run.open_skills(), name, path, as_json)


@skills.command("check", context_settings=CONTEXT)
@JSON
def check(as_json: bool) -> None:
    """Name all problems of all skills at once; exit 1 where there are any."""
    from assistant.commands import skills as run

    sys.exit(run.check(run.open_skills(), as_json))


@skills.command("scan", context_settings=CONTEXT)
@click.argument("paths", nargs=-1, required=True, type=click.Path())
@click.option(
    "--trust", type=_TRUST, default="community", show_default=True, help="Whose skill it is."
)
@JSON
def scan(paths: tuple[str, ...], trust: str, as_json: bool) -> None:
    """Look through skills for attack shapes; nothing is installed or run."""
    from skills_guard.__main__ import main

    sys.exit(main([*(["--json"] if as_json else []), "--trust", trust, "--", *paths]))


@skills.command("new", context_settings=CONTEXT)
@_NAME
@click.option("--description", type=TEXT, default="", help="What it does and when to use it.")
def new(name: str, description: str) -> None:
    """Write the frame of a skill for you to fill in."""
    from assistant.commands import skills as run

    run.new(run.open_skills(), name, description)


@skills.command("install", context_settings=CONTEXT)
@click.argument("source", type=TEXT)
@click.option("--name", type=TEXT, default="", help="Which skill, where the source holds several.")
@click.option("--yes", is_flag=True, help="Answer the question about doubtful findings with yes.")
@JSON
def install(source: str, name: str, yes: bool, as_json: bool) -> None:
    """Install a skill from a folder, a ZIP file or a git address; it is scanned first."""
    from assistant.commands import skill_sources as run
    from assistant.commands.skills import open_skills

    sys.exit(run.install(open_skills(), source, name, yes, as_json))


@skills.command("update", context_settings=CONTEXT)
@_NAME
@click.option("--yes", is_flag=True, help="Answer the question about doubtful findings with yes.")
def update(name: str, yes: bool) -> None:
    """Fetch an installed skill anew from where it came from."""
    from assistant.commands import skill_sources as run
    from assistant.commands.skills import open_skills

    sys.exit(run.update(open_skills(), name, yes))


@skills.command("verify", context_settings=CONTEXT)
@click.argument("name", default="", type=TEXT)
@JSON
def verify(name: str, as_json: bool) -> None:
    """Compare skills with the hashes of what was installed; exit 1 where one differs."""
    from assistant.commands import skills as run

    sys.exit(run.verify(run.open_skills(), name, as_json))


@skills.command("remove", context_settings=CONTEXT)
@_NAME
def remove(name: str) -> None:
    """Take a skill out of use; restore brings it back."""
    from assistant.commands import skills as run

    run.remove(run.deciding(), name)


@skills.command("restore", context_settings=CONTEXT)
@_NAME
def restore(name: str) -> None:
    """Bring a skill back that was taken out of use."""
    from assistant.commands import skills as run

    run.restore(run.deciding(), name)


@skills.command("pending", context_settings=CONTEXT)
@JSON
def pending(as_json: bool) -> None:
    """Show the drafts and changes that wait for your word, with what the scanner found."""
    from assistant.commands import skills as run

    run.show_pending(run.open_skills(), as_json)


@skills.command("diff", context_settings=CONTEXT)
@_NAME
def diff(name: str) -> None:
    """Show what a waiting draft would change, or what the last version changed."""
    from assistant.commands import skills as run

    run.diff(run.open_skills(), name)


@skills.command("approve", context_settings=CONTEXT)
@_NAME
@click.option(
    "--type-name", "typed", type=TEXT, default="", help="The skill's name again: lifts a block."
)
def approve(name: str, typed: str) -> None:
    """Let a waiting draft go live, or a skill that was changed on disk."""
    from assistant.commands import skills as run

    sys.exit(run.approve(run.deciding(), name, typed))


@skills.command("reject", context_settings=CONTEXT)
@_NAME
def reject(name: str) -> None:
    """Drop a waiting draft."""
    from assistant.commands import skills as run

    run.reject(run.open_skills(), name)


@skills.command("history", context_settings=CONTEXT)
@click.argument("name", default="", type=TEXT)
@JSON
def history(name: str, as_json: bool) -> None:
    """Show what was learned, changed, dropped and taken back, and why."""
    from assistant.commands import skills as run

    run.history(run.open_skills(), name, as_json)


@skills.command("undo", context_settings=CONTEXT)
@click.argument("name", default="", type=TEXT)
def undo(name: str) -> None:
    """Take the last change of a skill back; without a name the last that was learned."""
    from assistant.commands import skills as run

    run.undo(run.deciding(), name)


@skills.command("pin", context_settings=CONTEXT)
@_NAME
@click.option("--off", is_flag=True, help="End it.")
def pin(name: str, off: bool) -> None:
    """Keep a skill from being proposed for retiring."""
    from assistant.commands import skills as run

    run.pin(run.open_skills(), name, not off)


@skills.command("stats", context_settings=CONTEXT)
@JSON
def stats(as_json: bool) -> None:
    """Show uses, success and what was saved against the first time."""
    from assistant.commands import skills as run

    run.stats(run.open_skills(), as_json)


@skills.command("review", context_settings=CONTEXT)
@JSON
def review(as_json: bool) -> None:
    """Propose what to retire and what to merge; changes nothing."""
    from assistant.commands import skills as run

    run.review(run.open_skills(), as_json)
