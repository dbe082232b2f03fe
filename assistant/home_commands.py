"""Owns the commands about the home: memory, history, undo, forget, status, usage, export, import."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from assistant.command_line import CONTEXT, JSON, LIMIT, TEXT, Group


@click.group(cls=Group, context_settings=CONTEXT)
def memory() -> None:
    """What is known: search, show, why, history, notes."""


@memory.command("show", context_settings=CONTEXT)
@JSON
def memory_show(as_json: bool) -> None:
    """Show USER.md and MEMORY.md."""
    from assistant.commands import memory as run

    run.show(run.place(), as_json)


@memory.command("why", context_settings=CONTEXT)
@click.argument("text", nargs=-1, required=True, type=TEXT)
@JSON
def memory_why(text: tuple[str, ...], as_json: bool) -> None:
    """Show where a memory comes from: the change, the day, your words."""
    from assistant.commands import memory as run

    run.why(run.place(), " ".join(text), as_json)


@memory.command("history", context_settings=CONTEXT)
@click.argument("text", nargs=-1, required=True, type=TEXT)
@JSON
def memory_history(text: tuple[str, ...], as_json: bool) -> None:
    """Show what was known about something, and when that changed."""
    from assistant.commands import memory as run

    run.history_of(run.place(), " ".join(text), as_json)


@memory.command("notes", context_settings=CONTEXT)
@click.argument("day", default="", type=TEXT)
@JSON
def memory_notes(day: str, as_json: bool) -> None:
    """Show the notes of a day (2026-11-30), today's without one."""
    from assistant.commands import memory as run

    run.notes(run.place(), day, as_json)


@memory.command("search", context_settings=CONTEXT)
@click.argument("question", nargs=-1, required=True, type=TEXT)
@click.option("--limit", type=LIMIT, default=8, show_default=True, help="Answers, at most.")
@click.option(
    "--source",
    "sources",
    multiple=True,
    type=click.Choice(["memory", "archive", "notes", "dreams", "skills", "files", "sessions"]),
    help="Look only here; can be given more than once.",
)
@click.option("--since", type=TEXT, default="", help="Not before this date.")
@click.option("--until", type=TEXT, default="", help="Not after this date.")
@click.option("--explain", is_flag=True, help="Show what each answer was ranked by.")
@JSON
def memory_search(
    question: tuple[str, ...],
    limit: int,
    sources: tuple[str, ...],
    since: str,
    until: str,
    explain: bool,
    as_json: bool,
) -> None:
    """Search all that is known, by meaning and by words: memory, notes, conversations, files."""
    from assistant.commands import search as run

    run.search(" ".join(question), limit, sources, (since, until), explain, as_json)


@memory.command("index", context_settings=CONTEXT)
@click.option("--rebuild", is_flag=True, help="Begin the index anew; nothing is embedded twice.")
@JSON
def memory_index(rebuild: bool, as_json: bool) -> None:
    """Bring the search index up to date, vectors as well, and show what it holds."""
    from assistant.commands import search as run

    run.build(rebuild, as_json)


@click.command(context_settings=CONTEXT)
@click.option("--limit", type=LIMIT, default=20, show_default=True, help="How many, newest first.")
@JSON
def history(limit: int, as_json: bool) -> None:
    """Show what was changed in your home, and why."""
    from assistant.commands import memory as run

    run.show_changes(run.place(), limit, as_json)


@click.command(context_settings=CONTEXT)
@click.argument("change_id", default="", type=TEXT)
@JSON
def undo(change_id: str, as_json: bool) -> None:
    """Take one change of your home back: the last one, or any one by its id."""
    from assistant.commands import memory as run

    run.undo(run.place(), change_id, as_json)


@click.command(context_settings=CONTEXT)
@click.argument("text", nargs=-1, type=TEXT)
@click.option(
    "--session", "session_id", type=TEXT, help="Forget a session and what came from it alone."
)
@click.option("--dry-run", is_flag=True, help="Only show where it is.")
@click.option("--yes", is_flag=True, help="Do not ask.")
def forget(text: tuple[str, ...], session_id: str | None, dry_run: bool, yes: bool) -> None:
    """Remove a fact everywhere: memory, notes, sessions, history; and prove it."""
    from assistant.commands import forget as run

    if bool(text) == bool(session_id):
        raise click.UsageError("Give the words of a fact, or --session with a session's id.")
    if session_id:
        run.session(session_id, dry_run, yes)
    else:
        run.run(" ".join(text), dry_run, yes)


@click.command(context_settings=CONTEXT)
@click.option("--wait", is_flag=True, help="Do what is owed now and return when nothing is.")
@JSON
def status(wait: bool, as_json: bool) -> None:
    """Show what the post-turn hook owes, and how its steps went."""
    from assistant.commands import status as run

    sys.exit(run.show(wait, as_json))


@click.command(context_settings=CONTEXT)
@click.option(
    "--days", type=click.IntRange(1, 3650), default=30, show_default=True, help="How far back."
)
@JSON
def usage(days: int, as_json: bool) -> None:
    """Show model calls and tokens by source."""
    from assistant.commands import status as run

    run.usage(days, as_json)


@click.command(context_settings=CONTEXT)
@click.argument("folder", type=click.Path(path_type=Path))
def export(folder: Path) -> None:
    """Write everything in open formats to a new folder: files, sessions, history."""
    from assistant.commands import export as run

    run.run(folder)


@click.command("import", context_settings=CONTEXT)
@click.argument("kind", type=click.Choice(["hermes", "openclaw", "chatgpt", "claude"]))
@click.argument("path", type=click.Path(path_type=Path))
@click.option("--dry-run", is_flag=True, help="Only report what would be imported.")
def import_(kind: str, path: Path, dry_run: bool) -> None:
    """Take over memory, notes, skills and conversations from elsewhere."""
    from assistant.commands import importing as run

    run.run(kind, path, dry_run)


@click.group(cls=Group, invoke_without_command=True, context_settings=CONTEXT)
@click.option("--dry-run", is_flag=True, help="Show what would be kept; nothing is written.")
@click.option(
    "--explain", is_flag=True, help="Show each candidate with its signals; nothing is written."
)
@click.option("--since", default="", metavar="DATE", help="Dream again from this date on.")
@click.option(
    "--replay", default="", metavar="MONTH", help="Dream a month (2026-11) again, on a copy."
)
@JSON
@click.pass_context
def dream(
    ctx: click.Context, dry_run: bool, explain: bool, since: str, replay: str, as_json: bool
) -> None:
    """Turn the notes of the days since the last night into lasting memory."""
    if ctx.invoked_subcommand is None:
        from assistant.commands import dreams as run

        run.dream(dry=dry_run, explain=explain, since=since, replay=replay, as_json=as_json)


@dream.command("status", context_settings=CONTEXT)
@JSON
def dream_status(as_json: bool) -> None:
    """Show how the last night went, why things were not kept, and what it cost."""
    from assistant.commands import dreams as run

    run.status(as_json)


@click.command(context_settings=CONTEXT)
@click.option("--limit", type=LIMIT, default=7, show_default=True, help="Nights, newest first.")
def dreams(limit: int) -> None:
    """Show the dream diary."""
    from assistant.commands import dreams as run

    run.diary(limit)


HOME_COMMANDS = (dream, dreams, memory, history, undo, forget, status, usage, export, import_)
