"""Owns the conversation in a terminal: renders events, reads input, runs slash commands."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Protocol, TextIO

from assistant.errors import UsageError
from assistant.events import (
    Event,
    Notice,
    Retrying,
    TextDelta,
    ThinkingDelta,
    ToolFinished,
    ToolStarted,
    TurnEnded,
)
from memory.clean import one_line
from memory.transcript import Turn

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

    from assistant.app import Assistant
    from assistant.conversation import Conversation
    from assistant.tools.registry import Approve


LEARNING_S = 0.4
"""For how long the prompt waits for the hook, so that what was learned stands below the answer."""


class Renderer(Protocol):
    """Shows the events of turns."""

    def show(self, event: Event) -> None:
        """Show one event."""
        ...

    def say(self, text: str) -> None:
        """Show a line that belongs to no turn."""
        ...


class PlainRenderer:
    """For pipes and files: the answer on ``out``, everything else on ``err``."""

    def __init__(self, out: TextIO, err: TextIO) -> None:
        self._out, self._err = out, err
        self._open = False

    def show(self, event: Event) -> None:
        """Write text as it arrives, other events as lines."""
        if isinstance(event, TextDelta):
            self._out.write(event.text)
            self._out.flush()
            self._open = not event.text.endswith("\n")
        elif isinstance(event, TurnEnded):
            if self._open:
                self._out.write("\n")
                self._out.flush()
                self._open = False
            if event.turn.error:
                print(event.turn.error, file=self._err, flush=True)
        elif line := activity(event):
            print(line, file=self._err, flush=True)

    def say(self, text: str) -> None:
        """Write a line to the output."""
        print(text, file=self._out, flush=True)


def activity(event: Event) -> str:
    """Return the one line that an event is worth beside the answer, or ''."""
    if isinstance(event, ToolFinished):
        from assistant.tools.registry import summary

        mark = "✗" if event.error else "✓"
        detail = f": {one_line(event.text, 100)}" if event.error else ""
        return f"{mark} {summary(event.call)} ({event.seconds:.1f} s){detail}"
    if isinstance(event, Retrying):
        return f"… {event.reason} Trying again in {event.wait:.0f} s."
    if isinstance(event, Notice):
        return f"! {event.text}"
    return ""


class RichRenderer:
    """For terminals: Markdown as it streams, a spinner with time and tokens, one line a tool."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._live: object | None = None
        self._tail = ""
        self._written = 0
        self._started = 0.0
        self._doing = ""

    def begin(self) -> None:
        """Start the spinner of a turn."""
        from rich.live import Live

        self._tail, self._written, self._started = "", 0, time.monotonic()
        self._doing = "thinking"
        self._live = Live(
            get_renderable=self._picture,
            console=self._console,
            transient=True,
            refresh_per_second=8,
        )
        self._live.start()

    def _picture(self) -> RenderableType:
        from rich.console import Group
        from rich.markdown import Markdown
        from rich.spinner import Spinner
        from rich.text import Text

        seconds = time.monotonic() - self._started
        tokens = f" · ~{self._written // 4} tokens" if self._written else ""
        status = Spinner("dots", Text(f"{self._doing} · {seconds:.0f} s{tokens}", style="dim"))
        return Group(Markdown(self._tail), status) if self._tail.strip() else status

    def end(self) -> None:
        """Print what is left and stop the spinner."""
        from rich.live import Live
        from rich.markdown import Markdown

        if isinstance(self._live, Live):
            self._live.stop()
        self._live = None
        if self._tail.strip():
            self._console.print(Markdown(self._tail))
        self._tail = ""

    def show(self, event: Event) -> None:
        """Show an event above the spinner."""
        from rich.markdown import Markdown
        from rich.text import Text

        if isinstance(event, TextDelta):
            self._doing = "writing"
            self._written += len(event.text)
            done, self._tail = split_blocks(self._tail + event.text)
            if done.strip():
                self._console.print(Markdown(done))
        elif isinstance(event, ThinkingDelta):
            self._doing = "thinking"
            self._written += len(event.text)
        elif isinstance(event, ToolStarted):
            self._doing = one_line(event.summary, 60)
        elif isinstance(event, TurnEnded):
            self.end()
            if event.turn.error:
                self._console.print(Text(event.turn.error, style="red"))
        elif line := activity(event):
            self._console.print(Text(line, style="dim"))

    def say(self, text: str) -> None:
        """Print a line."""
        from rich.text import Text

        self._console.print(Text(text))


def split_blocks(text: str) -> tuple[str, str]:
    """Return the Markdown that is complete, and the rest: cut at the last blank line that stands
    outside a code fence."""
    cut, fenced, offset = 0, False, 0
    for line in text.splitlines(keepends=True):
        offset += len(line)
        if line.lstrip().startswith(("```", "~~~")):
            fenced = not fenced
        elif not fenced and not line.strip() and line.endswith("\n"):
            cut = offset
    return text[:cut], text[cut:]


def run_one(conversation: Conversation, text: str, show: Callable[[Event], None]) -> Turn | None:
    """Run one turn and show its events. Ctrl-C ends the turn, not the program."""
    events = conversation.ask(text)
    turn = None
    interrupt = False
    while True:
        try:
            event = events.throw(KeyboardInterrupt()) if interrupt else next(events)  # type: ignore[attr-defined]
            interrupt = False
            if isinstance(event, TurnEnded):
                turn = event.turn
            show(event)
        except StopIteration:
            return turn
        except KeyboardInterrupt:
            if interrupt:  # the turn had not begun, or has ended: there is nothing to tell
                return turn
            interrupt = True


class Chat:
    """The interactive session: input, slash commands, turns."""

    def __init__(
        self, assistant: Assistant, conversation: Conversation, renderer: Renderer
    ) -> None:
        self.assistant = assistant
        self.conversation = conversation
        self.renderer = renderer
        self.failed = False
        """Whether the last turn failed."""

    def run(self, lines: Iterator[str]) -> None:
        """Answer each line until the lines end or ``/quit``."""
        for line in lines:
            text = line.strip("\r\n")
            if not text.strip():
                continue
            if text.lstrip().startswith("/"):
                from assistant.slash import run_slash

                try:
                    if not run_slash(self, text.strip()):
                        return
                except UsageError as error:
                    self.renderer.say(str(error))
                except KeyboardInterrupt:
                    self.renderer.say("(interrupted)")
                continue
            self.turn(text)
            self.tell_news(LEARNING_S)

    def turn(self, text: str) -> None:
        """Run one turn."""
        if isinstance(self.renderer, RichRenderer):
            self.renderer.begin()
        try:
            turn = run_one(self.conversation, text, self.renderer.show)
        finally:
            if isinstance(self.renderer, RichRenderer):
                self.renderer.end()
        self.failed = turn is None or failed(turn)

    def tell_news(self, patience_s: float = 0.0) -> None:
        """Say what was learned meanwhile, waiting for the hook for at most so long."""
        hook = self.assistant.hook
        if hook and patience_s:
            hook.settle(patience_s)
        for line in self.assistant.skills.library.journal.news():
            self.renderer.show(Notice(text=line))


def failed(turn: Turn) -> bool:
    """Whether a script should take the turn for a failure: the model's, or its last tool call's."""
    if turn.status != "done":
        return True
    results = [message for message in turn.messages if message.role == "tool"]
    return bool(results) and results[-1].error


def piped_lines(stream: TextIO) -> Iterator[str]:
    """Yield the lines of a pipe."""
    yield from stream


def terminal_lines(assistant: Assistant) -> Iterator[str]:
    """Yield what is typed: history, completion of slash commands, Alt+Enter for a new line.

    Ctrl-C at an empty prompt, twice, or Ctrl-D leaves.
    """
    from prompt_toolkit import PromptSession
    from prompt_toolkit.completion import WordCompleter
    from prompt_toolkit.history import FileHistory
    from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent

    from assistant.slash import COMMANDS

    keys = KeyBindings()

    @keys.add("escape", "enter")
    def _(event: KeyPressEvent) -> None:
        event.current_buffer.insert_text("\n")

    session: PromptSession[str] = PromptSession(
        history=FileHistory(str(assistant.home.input_history)),
        completer=WordCompleter([f"/{name}" for name in COMMANDS], sentence=True),
        complete_while_typing=False,
        key_bindings=keys,
    )
    warned = False
    while True:
        try:
            text = session.prompt("› ")
        except KeyboardInterrupt:
            if warned:
                return
            warned = True
            print("(Ctrl-C again, or /quit, leaves)")
            continue
        except EOFError:
            return
        warned = False
        yield text


def ask_in_terminal(renderer: Callable[[], Renderer | None]) -> Approve:
    """Return the question before a tool does what needs a yes; "always" holds for this chat."""
    allowed: set[tuple[str, str]] = set()

    def approve(tool: str, what: str, why: str) -> bool:
        if (tool, what) in allowed:
            return True
        shown = renderer()
        if isinstance(shown, RichRenderer):
            shown.end()
        # What is asked must be what is seen: no character of it may move the cursor.
        seen = what.translate({9: "\\t", 13: "\\r", 27: "\\x1b", 8: "\\b"}).replace("\n", "\n  ")
        print(f"{tool} {why}:\n  {seen}")
        try:
            answer = input("Allow? [y]es, [n]o, [a]lways in this chat: ").strip().lower()
        except EOFError:
            answer = "n"
        if isinstance(shown, RichRenderer):
            shown.begin()
        if answer in ("a", "always"):
            allowed.add((tool, what))
        return answer in ("y", "yes", "a", "always", "是", "好", "可以")

    return approve


def use_utf8() -> None:
    """Make the standard streams UTF-8 whatever the locale says; unreadable bytes are replaced."""
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure:
            reconfigure(encoding="utf-8", errors="replace")
