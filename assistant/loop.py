"""Owns the conversation loop of one turn: a generator of events that knows no files and no terminal.

``run_turn`` never raises for what a model, a tool or Ctrl-C does: it always ends with a
``TurnEnded`` whose record the next request can go on from.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from assistant.errors import Fault, ProviderError
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
from assistant.providers.base import Provider, Reply, Request, clean_part
from assistant.recovery import Budget
from assistant.tools.registry import Approve, CallContext, Cancel, Outcome, Registry, summary
from memory.transcript import Message, ToolCall, Turn, TurnStatus, Usage, unanswered

CONTINUATIONS = 3
"""How often a cut-off answer is asked to go on."""
GO_ON = (
    "(Your answer was cut off. Go on exactly where it stopped, in the middle of a word if need "
    "be. Repeat nothing and comment on nothing.)"
)
NUDGE = "(Your last answer was empty. Answer the user in plain text, or call a tool.)"
CANCELLED = "cancelled by the user; it may be half done"
STOP_GRACE_S = 0.8


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """Everything that one turn works with."""

    provider: Provider
    registry: Registry
    system: str
    history: Sequence[Message]
    turn: Turn
    """The turn as it begins: its id, session, start and the user's message."""
    cancel: Cancel
    approve: Approve
    now: Callable[[], datetime]
    model_calls: int = 60
    max_output_tokens: int = 8192
    temperature: float | None = None
    pause_scale: float = 1.0


@dataclass(slots=True)
class _Progress:
    """What has been reached; it outlives an interruption at any point."""

    messages: list[Message]
    usage: Usage = field(default_factory=Usage)
    shown: str = ""
    """Text of the running model call that the user has seen."""
    running: list[ToolCall] = field(default_factory=list)
    """Calls of the last assistant message that have no result yet."""


def run_turn(setup: Setup) -> Generator[Event, None, None]:
    """Run one turn and yield its events, ``TurnEnded`` last.

    ``KeyboardInterrupt``, raised in here or thrown in by the consumer, ends the turn: tools are
    told, what was said is kept, every call gets a result.
    """
    progress = _Progress(messages=list(setup.turn.messages))
    status: TurnStatus = "done"
    error = ""
    try:
        yield from _converse(setup, progress)
    except KeyboardInterrupt:
        setup.cancel.set()
        status, error = "interrupted", "interrupted by the user"
        _close(setup, progress, "(interrupted)")
    except ProviderError as failure:
        status, error = "failed", str(failure)
        _close(setup, progress, "(no answer: the model call failed)")
    yield TurnEnded(
        turn=replace(
            setup.turn,
            messages=tuple(progress.messages),
            status=status,
            ended=setup.now(),
            model=setup.provider.name,
            usage=progress.usage,
            error=error,
        )
    )


def _close(setup: Setup, progress: _Progress, remark: str) -> None:
    """Bring the record to an end that any next request accepts."""
    for call in progress.running:
        progress.messages.append(unanswered(call, setup.now(), CANCELLED))
    progress.running = []
    text = f"{progress.shown.rstrip()}\n\n{remark}".strip()
    progress.messages.append(Message(role="assistant", text=text, created=setup.now()))


def _converse(setup: Setup, progress: _Progress) -> Generator[Event, None, None]:
    tries = Budget(scale=setup.pause_scale)
    for call_number in range(1, setup.model_calls + 1):
        reply = yield from _ask(setup, progress, tries)
        progress.messages.append(
            Message(
                role="assistant",
                text=reply.text,
                created=setup.now(),
                tool_calls=reply.tool_calls,
                thinking=reply.thinking,
                provider=setup.provider.name if reply.thinking else "",
            )
        )
        progress.shown = ""
        if reply.stop == "pause":
            continue
        if not reply.tool_calls:
            return
        left = setup.model_calls - call_number
        if left == 0:
            break
        yield from _run_calls(setup, progress, reply.tool_calls, left)
    yield from _out_of_calls(setup, progress)


def _out_of_calls(setup: Setup, progress: _Progress) -> Iterator[Event]:
    for call in progress.messages[-1].tool_calls:
        note = "not run: this turn has no model calls left"
        progress.messages.append(unanswered(call, setup.now(), note))
    text = (
        f"I stopped here: this turn has used its {setup.model_calls} model calls. "
        "Say “go on” to continue, or raise budget.model_calls in config.yaml."
    )
    yield TextDelta(text=text)
    progress.messages.append(Message(role="assistant", text=text, created=setup.now()))


# -- asking the model -----------------------------------------------------------------------


def _ask(setup: Setup, progress: _Progress, tries: Budget) -> Generator[Event, None, Reply]:
    """Get one whole reply: failures are retried, a cut-off answer goes on where it stopped."""
    progress.shown = ""
    nudged = False
    continued = 0
    while True:
        try:
            reply = yield from _stream(setup, progress, nudged)
        except ProviderError as error:
            if not progress.shown:
                yield from _wait(setup, tries, error)
                nudged = nudged or error.fault is Fault.EMPTY
                continue
            # Text is on the screen already: go on behind it instead of showing it again.
            try:
                yield from _wait(setup, tries, error)
            except ProviderError:
                yield Notice(text=f"The answer ends here. {error}")
                return Reply(text=progress.shown)
            reply = Reply(text="", stop="length")
        if reply.stop != "length" or reply.tool_calls:
            return replace(reply, text=progress.shown or reply.text)
        if continued == CONTINUATIONS:
            yield Notice(text="The answer was cut off here; ask it to go on.")
            return replace(reply, text=progress.shown)
        continued += 1


def _stream(setup: Setup, progress: _Progress, nudged: bool) -> Generator[Event, None, Reply]:
    """Run one model call and yield its text as it arrives."""
    extra: list[Message] = []
    if progress.shown:
        extra = [
            Message(role="assistant", text=progress.shown, created=setup.turn.started),
            Message(role="user", text=GO_ON, created=setup.turn.started),
        ]
    elif nudged:
        extra = [Message(role="user", text=NUDGE, created=setup.turn.started)]
    request = Request(
        system=setup.system,
        messages=[*setup.history, *progress.messages, *extra],
        tools=setup.registry.specs,
        max_output_tokens=setup.max_output_tokens,
        temperature=setup.temperature,
    )
    seam = _Seam(progress.shown)
    stream = setup.provider.stream(request)
    try:
        for part in map(clean_part, stream):
            if isinstance(part, Reply):
                progress.usage += part.usage
                yield from _show(progress, seam.rest())
                if not (
                    part.text.strip() or part.tool_calls or progress.shown or part.stop == "pause"
                ):
                    raise ProviderError(
                        Fault.EMPTY, "The model gave an empty answer. Next step: ask again."
                    )
                return part
            if part.thinking:
                yield ThinkingDelta(text=part.text)
            else:
                yield from _show(progress, seam.feed(part.text))
    finally:
        close = getattr(stream, "close", None)
        if close:
            close()
    raise ProviderError(Fault.CUT, "The model's answer had no end. Next step: ask again.")


def _show(progress: _Progress, text: str) -> Iterator[Event]:
    if text:
        progress.shown += text
        yield TextDelta(text=text)


class _Seam:
    """Joins a continuation to what was shown: words that the model repeats are left out."""

    _LONGEST, _SHORTEST = 160, 8

    def __init__(self, before: str) -> None:
        self._before = before
        self._held = ""
        self._open = bool(before)

    def feed(self, text: str) -> str:
        if not self._open:
            return text
        self._held += text
        return self.rest() if len(self._held) >= self._LONGEST else ""

    def rest(self) -> str:
        if not self._open:
            return ""
        self._open = False
        held, self._held = self._held, ""
        for length in range(min(len(held), len(self._before)), self._SHORTEST - 1, -1):
            if self._before.endswith(held[:length]):
                return held[length:]
        return held


def _wait(setup: Setup, tries: Budget, error: ProviderError) -> Iterator[Event]:
    """Pause before another try, or raise ``error`` when it is final."""
    pause = tries.wait_for(error)
    if pause is None:
        raise error
    yield Retrying(
        reason=str(error).split(" Next step:")[0],
        wait=round(pause, 1),
        attempt=tries.attempt(error.fault),
    )
    if setup.cancel.wait(pause):
        raise KeyboardInterrupt


# -- running tools --------------------------------------------------------------------------


def _run_calls(
    setup: Setup, progress: _Progress, calls: Sequence[ToolCall], left: int
) -> Iterator[Event]:
    """Run the calls of one reply: exactly one result each, in their order."""
    progress.running = list(calls)
    context = _context(setup, progress)
    for group in _groups(setup.registry, calls):
        for call in group:
            yield ToolStarted(call=call, summary=summary(call))
        outcomes = (
            _side_by_side(setup, group, context)
            if len(group) > 1
            else [_timed(setup.registry, group[0], context)]
        )
        for call, (outcome, seconds) in zip(group, outcomes, strict=True):
            text = outcome.text
            if call is calls[-1] and left <= 2:
                text += (
                    f"\n[{left} model call{'s' if left > 1 else ''} left in this turn: answer now]"
                )
            progress.messages.append(
                Message(
                    role="tool",
                    text=text,
                    created=setup.now(),
                    call_id=call.id,
                    tool_name=call.name,
                    error=outcome.error,
                )
            )
            progress.running.remove(call)
            yield ToolFinished(call=call, text=outcome.text, error=outcome.error, seconds=seconds)
        if setup.cancel.requested:
            raise KeyboardInterrupt


def _groups(registry: Registry, calls: Sequence[ToolCall]) -> list[list[ToolCall]]:
    """Return runs of read-only calls together, all others alone, in the order of the calls."""
    groups: list[list[ToolCall]] = []
    for call in calls:
        alike = registry.is_read_only(call)
        if groups and alike and registry.is_read_only(groups[-1][-1]):
            groups[-1].append(call)
        else:
            groups.append([call])
    return groups


def _timed(registry: Registry, call: ToolCall, context: CallContext) -> tuple[Outcome, float]:
    start = time.monotonic()
    outcome = registry.execute(call, context)
    return outcome, time.monotonic() - start


def _side_by_side(
    setup: Setup, calls: Sequence[ToolCall], context: CallContext
) -> list[tuple[Outcome, float]]:
    """Run read-only calls in threads. Threads are daemons: none can hold up Ctrl-C or the exit."""
    results: dict[int, tuple[Outcome, float]] = {}

    def work(position: int, call: ToolCall) -> None:
        results[position] = _timed(setup.registry, call, context)

    threads = [threading.Thread(target=work, args=item, daemon=True) for item in enumerate(calls)]
    for thread in threads:
        thread.start()
    try:
        for thread in threads:
            thread.join()
    except KeyboardInterrupt:
        setup.cancel.set()
        deadline = time.monotonic() + STOP_GRACE_S
        for thread in threads:
            thread.join(max(0.0, deadline - time.monotonic()))
    stopped = (Outcome(text=CANCELLED, error=True), 0.0)
    return [results.get(position, stopped) for position in range(len(calls))]


def _context(setup: Setup, progress: _Progress) -> CallContext:
    known = [*setup.history, *progress.messages]
    return CallContext(
        session=setup.turn.session,
        turn=setup.turn.id,
        cancel=setup.cancel,
        approve=setup.approve,
        said=[message.text for message in known if message.role == "user"],
        untrusted=[
            message.text
            for message in known
            if message.role == "tool" and _brings_text_in(setup.registry, message.tool_name)
        ],
    )


def _brings_text_in(registry: Registry, name: str) -> bool:
    tool = registry.get(name)
    return tool is None or tool.untrusted
