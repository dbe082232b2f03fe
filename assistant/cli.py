"""Owns the command line. It starts fast: everything heavy is imported by the command that needs it."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from assistant.command_line import CONTEXT, LIMIT, TEXT, Group
from assistant.errors import ReverieError, UsageError
from assistant.home_commands import HOME_COMMANDS
from assistant.skill_commands import skills

if TYPE_CHECKING:
    from assistant.app import Assistant
    from assistant.config import Config, Environment
    from assistant.home import Home


def main() -> None:
    """Run the command line and exit: 0 ok, 1 the model or a tool failed, 2 wrong use."""
    import gc

    from assistant.chat import use_utf8

    # Importing an SDK makes a million objects and no garbage; collecting among them costs a sixth
    # of the start (benchmarks/startup.py).
    gc.set_threshold(100_000, 20, 20)
    use_utf8()
    try:
        reverie.main(prog_name="reverie", standalone_mode=False)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        sys.exit(130)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(0)
    except ReverieError as error:
        print(error, file=sys.stderr)
        sys.exit(2 if isinstance(error, UsageError) else 1)
    except Exception as error:
        from memory.errors import StorageError
        from memory.sessions import UnknownSession

        if not isinstance(error, StorageError | UnknownSession):
            raise  # a bug shows its traceback
        print(error, file=sys.stderr)
        sys.exit(2 if isinstance(error, UnknownSession) else 1)


def _chat_options(command: Any) -> Any:
    for option in (
        click.option("--session", "session_id", metavar="ID", help="Go on with this session."),
        click.option("--continue", "go_on", is_flag=True, help="Go on with the last session."),
        click.option("--json", "as_json", is_flag=True, help="Print one JSON object per event."),
        click.option("--model", metavar="MODEL", help="openai:NAME, anthropic:NAME, offline, ..."),
        click.option(
            "-m", "--message", metavar="TEXT", help="Answer this and exit; - reads stdin."
        ),
    ):
        command = option(command)
    return command


@click.group(cls=Group, invoke_without_command=True, context_settings=CONTEXT)
@click.version_option(package_name="reverie-assistant", message="%(prog)s %(version)s")
@_chat_options
@click.pass_context
def reverie(ctx: click.Context, /, **options: Any) -> None:
    """A personal assistant that remembers you. Without a command it starts the chat."""
    if ctx.invoked_subcommand is None:
        _chat(**options)
    elif any(value for value in options.values()):
        raise click.UsageError(
            f"Write options behind the command: reverie {ctx.invoked_subcommand} ..."
        )


@reverie.command(context_settings=CONTEXT)
@_chat_options
def chat(**options: Any) -> None:
    """Talk to the assistant (also without this word)."""
    _chat(**options)


def _settings(model: str | None = None) -> tuple[Home, Config, Environment]:
    from assistant.config import find_home, load_config, load_environment, with_model

    home = find_home()
    config = load_config(home.config)
    if model:
        config = with_model(config, model)
    return home, config, load_environment(home)


def _chat(
    message: str | None, model: str | None, as_json: bool, go_on: bool, session_id: str | None
) -> None:
    from assistant.app import Assistant, refuse
    from assistant.chat import Chat, PlainRenderer, RichRenderer, ask_in_terminal

    home, config, environment = _settings(model)
    interactive = sys.stdin.isatty() and sys.stdout.isatty() and message is None and not as_json
    holder: list[Chat] = []
    approve = ask_in_terminal(lambda: holder[0].renderer if holder else None)
    assistant = Assistant(
        home, config, environment, cwd=_here(), approve=approve if interactive else refuse
    )
    try:
        renderer: Any = PlainRenderer(sys.stdout, sys.stderr)
        if interactive:
            from rich.console import Console

            renderer = RichRenderer(Console(highlight=False))
        if as_json:
            renderer = _JsonRenderer()
        _announce(assistant, renderer, interactive)
        conversation = _conversation(assistant, go_on, session_id, "chat")
        session = Chat(assistant, conversation, renderer)
        holder.append(session)
        if message is not None:
            session.turn(sys.stdin.read() if message == "-" else message)
        else:
            _converse(session, interactive)
        # The reply is on the screen; what the turn left to learn takes milliseconds.
        if assistant.hook:
            assistant.hook.work_off()
            session.tell_news()
    finally:
        assistant.close()
    if session.failed and (message is not None or not interactive):
        sys.exit(1)


def _here() -> Path:
    try:
        return Path.cwd()
    except FileNotFoundError:
        raise UsageError("The working folder is gone. Next step: cd to another one.") from None


def _converse(session: Any, interactive: bool) -> None:
    from assistant.chat import piped_lines, terminal_lines

    if session.assistant.hook:
        session.assistant.hook.start()
    if interactive:
        session.assistant.recall.start()
        session.assistant.dreams.start()
    session.run(terminal_lines(session.assistant) if interactive else piped_lines(sys.stdin))


class _JsonRenderer:
    """Prints each event as a JSON object on a line of its own."""

    def show(self, event: Any) -> None:
        from assistant.events import to_dict

        print(json.dumps(to_dict(event), ensure_ascii=False), flush=True)

    def say(self, text: str) -> None:
        print(json.dumps({"type": "notice", "text": text}, ensure_ascii=False), flush=True)


def _announce(assistant: Assistant, renderer: Any, interactive: bool) -> None:
    from assistant.chat import PlainRenderer

    def tell(text: str) -> None:
        # One-shot output is the answer alone; remarks go beside it.
        if isinstance(renderer, PlainRenderer):
            print(text, file=sys.stderr, flush=True)
        else:
            renderer.say(text)

    if assistant.created:
        tell(f"Your home is {assistant.home.root}: plain files, yours to read and edit.")
    for notice in assistant.notices:
        tell(f"! {notice}")
    if interactive:
        tell(f"Reverie · {assistant.provider.name} · /help shows commands, Ctrl-D leaves")


def _conversation(assistant: Assistant, go_on: bool, session_id: str | None, source: str) -> Any:
    if session_id or go_on:
        if assistant.store is None:
            raise UsageError("The archive cannot be opened. Next step: reverie doctor.")
        if session_id:
            return assistant.converse(assistant.store.find(session_id))
        latest = assistant.store.latest()
        if latest is None:
            raise UsageError("There is no session to go on with. Next step: reverie starts one.")
        return assistant.converse(latest)
    return assistant.converse(source=source)


@reverie.group(cls=Group, context_settings=CONTEXT)
def sessions() -> None:
    """The archive of conversations: list, show, search, export, delete, rename."""


@sessions.command("list", context_settings=CONTEXT)
@click.option("--limit", type=LIMIT, default=20, show_default=True, help="How many, newest first.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def sessions_list(limit: int, as_json: bool) -> None:
    """Show recent sessions."""
    from assistant.commands import sessions as run

    run.show_list(_store(), limit, as_json)


@sessions.command("show", context_settings=CONTEXT)
@click.argument("session_id", type=TEXT)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def sessions_show(session_id: str, as_json: bool) -> None:
    """Show what was said in a session."""
    from assistant.commands import sessions as run

    run.show_one(_store(), session_id, as_json)


@sessions.command("search", context_settings=CONTEXT)
@click.argument("query", nargs=-1, required=True, type=TEXT)
@click.option("--since", default="", metavar="DATE", help="Only from this date on.")
@click.option("--until", default="", metavar="DATE", help="Only up to this date.")
@click.option("--limit", type=LIMIT, default=10, show_default=True, help="How many, best first.")
@click.option("--json", "as_json", is_flag=True, help='Print JSON: {"hits": [...]}.')
@click.option("--explain", is_flag=True, help="Show what each hit was ranked by.")
def sessions_search(
    query: tuple[str, ...], since: str, until: str, limit: int, as_json: bool, explain: bool
) -> None:
    """Search all conversations, by words and by meaning."""
    from assistant.commands import sessions as run

    run.show_search(_store(), " ".join(query), (since, until), limit, as_json, explain)


@sessions.command("export", context_settings=CONTEXT)
@click.argument("session_id", type=TEXT)
@click.option("-o", "--output", type=click.Path(path_type=Path), help="File; default: the screen.")
@click.option("--json", "as_json", is_flag=True, help="JSON instead of Markdown.")
def sessions_export(session_id: str, output: Path | None, as_json: bool) -> None:
    """Write a session as Markdown or JSON."""
    from assistant.commands import sessions as run

    run.export(_store(), session_id, output, as_json)


@sessions.command("delete", context_settings=CONTEXT)
@click.argument("session_id", type=TEXT)
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def sessions_delete(session_id: str, yes: bool, as_json: bool) -> None:
    """Delete a session for good."""
    from assistant.commands import sessions as run

    run.delete(_store(), session_id, yes, as_json)


@sessions.command("rename", context_settings=CONTEXT)
@click.argument("session_id", type=TEXT)
@click.argument("title", type=TEXT)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def sessions_rename(session_id: str, title: str, as_json: bool) -> None:
    """Give a session another title."""
    from assistant.commands import sessions as run

    run.rename(_store(), session_id, title, as_json)


def _store() -> Any:
    from assistant.config import find_home
    from memory.sessions import SessionStore

    home = find_home()
    if not home.root.is_dir():
        raise UsageError(f"There is no home at {home.root} yet. Next step: reverie starts one.")
    return SessionStore(home.database)


@reverie.command(context_settings=CONTEXT)
@click.option("--model", metavar="MODEL", help="Choose without asking: openai:NAME, ...")
@click.option("--base-url", metavar="URL", help="Address of a compatible server.")
@click.option("--key-env", metavar="NAME", help="Variable that holds the key.")
def setup(model: str | None, base_url: str | None, key_env: str | None) -> None:
    """Find and connect a model: tries one real request, then writes the choice."""
    from assistant.commands import setup as run

    run.run(model, base_url, key_env)


@reverie.command(context_settings=CONTEXT)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def doctor(as_json: bool) -> None:
    """Check everything that can be wrong; changes nothing."""
    from assistant.commands import doctor as run

    sys.exit(run.run(as_json))


@reverie.command(context_settings=CONTEXT)
@_chat_options
def private(**options: Any) -> None:
    """A chat of which nothing remains: no archive, no notes, no memory."""
    from assistant.commands import private as run

    run.run(lambda: _chat(**options))


for more in (*HOME_COMMANDS, skills):
    reverie.add_command(more)


if __name__ == "__main__":
    main()
