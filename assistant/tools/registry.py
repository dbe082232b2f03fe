"""Owns what a tool is: a function whose name, docstring and type hints make its definition.

``execute`` never raises for what a tool does: an unknown name, malformed arguments, a refusal and
an exception are all results that the model can act on.
"""

from __future__ import annotations

import difflib
import inspect
import json
import logging
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal, Protocol, get_args, get_origin, get_type_hints

from pydantic import ConfigDict, Field, ValidationError, create_model

from assistant.providers.base import MALFORMED, ToolSpec, parse_arguments
from memory.clean import clean, one_line
from memory.transcript import ToolCall

Effect = Literal["read", "write", "execute", "network"]
RESULT_LIMIT = 30_000
"""Characters of a result that reach the model; longer ones are kept whole in a file."""
_HEAD, _TAIL = 22_000, 6_000

log = logging.getLogger(__name__)


class ToolError(Exception):
    """A tool could not do it; the message is the model's result and says what to do instead."""


class Approve(Protocol):
    """Asks the user whether something may happen."""

    def __call__(self, tool: str, what: str, why: str) -> bool:
        """Return whether the user agrees; False where nobody can be asked."""
        ...


@dataclass(slots=True)
class Cancel:
    """Tells the tools of one turn that the user wants an end."""

    _event: threading.Event = field(default_factory=threading.Event)

    def set(self) -> None:
        """Ask for the end."""
        self._event.set()

    @property
    def requested(self) -> bool:
        """Whether the end was asked for."""
        return self._event.is_set()

    def wait(self, seconds: float) -> bool:
        """Wait at most so long; True at once when the end is asked for."""
        return self._event.wait(seconds)


@dataclass(frozen=True, slots=True, kw_only=True)
class CallContext:
    """What a tool may know of the turn that calls it.

    ``said`` is what the user typed in this session, ``untrusted`` what tools brought in from
    files, pages and commands: a memory must come from the former.
    """

    session: str
    turn: int
    cancel: Cancel
    approve: Approve
    said: Sequence[str] = ()
    untrusted: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """One tool. ``untrusted`` marks results that hold text from elsewhere."""

    name: str
    description: str
    parameters: Mapping[str, Any]
    effect: Effect
    run: Callable[[Mapping[str, Any], CallContext], str]
    untrusted: bool = False

    @property
    def spec(self) -> ToolSpec:
        """What the model is told."""
        return ToolSpec(name=self.name, description=self.description, parameters=self.parameters)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The result of one call, as the model gets it."""

    text: str
    error: bool = False


def make_tool(
    function: Callable[..., str], *, effect: Effect = "read", untrusted: bool = False
) -> Tool:
    """Return the tool that a function is.

    Its first paragraph is the description, ``Annotated[T, "text"]`` describes a parameter. A
    parameter called ``call`` receives the :class:`CallContext` and is not shown to the model.
    """
    hints = get_type_hints(function, include_extras=True)
    fields: dict[str, Any] = {}
    wants_call = False
    for name, parameter in inspect.signature(function).parameters.items():
        if name == "call":
            wants_call = True
            continue
        default = ... if parameter.default is inspect.Parameter.empty else parameter.default
        fields[name] = (_described(hints[name]), default)
    model = create_model(
        function.__name__, __config__=ConfigDict(extra="forbid", strict=False), **fields
    )

    def run(arguments: Mapping[str, Any], call: CallContext) -> str:
        try:
            checked = model.model_validate(arguments)
        except ValidationError as error:
            raise ToolError(_explain(function.__name__, error, list(fields))) from None
        values = {name: getattr(checked, name) for name in fields}
        return function(**values, call=call) if wants_call else function(**values)

    doc = inspect.getdoc(function) or ""
    return Tool(
        name=function.__name__,
        description=" ".join(doc.split("\n\n")[0].split()),
        parameters=_slim(model.model_json_schema()),
        effect=effect,
        run=run,
        untrusted=untrusted,
    )


def _described(hint: Any) -> Any:
    """Turn ``Annotated[T, "text"]`` into what pydantic takes for a description."""
    if get_origin(hint) is Annotated:
        inner, *notes = get_args(hint)
        notes = [Field(description=note) if isinstance(note, str) else note for note in notes]
        return Annotated[(inner, *notes)]
    return hint


def _slim(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return a schema without titles, references and null defaults: small, and legal everywhere."""
    definitions = schema.get("$defs", {})

    def walk(node: Any, *, names: bool = False) -> Any:
        if isinstance(node, list):
            return [walk(item) for item in node]
        if not isinstance(node, dict):
            return node
        if "$ref" in node:
            target = definitions[node["$ref"].rsplit("/", 1)[-1]]
            return walk({**target, **{k: v for k, v in node.items() if k != "$ref"}})
        variants = [v for v in node.get("anyOf", []) if v != {"type": "null"}]
        if len(variants) == 1 and len(node["anyOf"]) == 2:  # optional: leaving it out says so
            rest = {k: v for k, v in node.items() if k != "anyOf"}
            return walk({**variants[0], **rest})
        drop = () if names else ("title", "$defs", "default", "additionalProperties")
        return {
            key: walk(value, names=key == "properties")
            for key, value in node.items()
            if key not in drop
        }

    slim: dict[str, Any] = walk(dict(schema))
    slim.setdefault("properties", {})
    return slim


def _explain(tool: str, error: ValidationError, names: list[str]) -> str:
    problems = []
    for item in error.errors()[:4]:
        place = ".".join(str(part) for part in item["loc"]) or "arguments"
        if item["type"] == "extra_forbidden":
            near = difflib.get_close_matches(place, names, n=1)
            hint = f"; did you mean {near[0]}?" if near else f"; there are {', '.join(names)}"
            problems.append(f"{place}: no such parameter{hint}")
        elif item["type"] == "missing":
            problems.append(f"{place}: missing")
        else:
            given = one_line(repr(item.get("input")), 60)
            problems.append(f"{place}: {item['msg']}, got {given}")
    return f"{tool} was not run: {'; '.join(problems)}. Call it again, corrected."


@dataclass(frozen=True, slots=True, kw_only=True)
class Toolset:
    """Tools that stand and fall together. ``check`` returns why they cannot be offered, or None."""

    name: str
    tools: tuple[Tool, ...]
    check: Callable[[], str | None] = lambda: None


class Registry:
    """The tools of one assistant: sorted by name, so that their definitions are byte-stable."""

    def __init__(
        self,
        toolsets: Iterable[Toolset],
        *,
        outputs: Path,
        secrets: Sequence[str] = (),
        allow: Sequence[str] = (),
        deny: Sequence[str] = (),
    ) -> None:
        self._outputs = outputs
        self._secrets = secrets
        self.missing: dict[str, str] = {}
        tools: dict[str, Tool] = {}
        for toolset in toolsets:
            reason = toolset.check()
            for tool in toolset.tools:
                if reason:
                    self.missing[tool.name] = reason
                elif (not allow or tool.name in allow) and tool.name not in deny:
                    tools[tool.name] = tool
        self._tools = dict(sorted(tools.items()))

    @property
    def names(self) -> list[str]:
        """The names of the tools on offer, sorted."""
        return list(self._tools)

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        """The definitions, sorted by name."""
        return tuple(tool.spec for tool in self._tools.values())

    def get(self, name: str) -> Tool | None:
        """Return a tool by its name."""
        return self._tools.get(name)

    def is_read_only(self, call: ToolCall) -> bool:
        """Whether a call changes nothing, so that it may run beside others."""
        tool = self._tools.get(call.name)
        return tool is not None and tool.effect in ("read", "network")

    def execute(self, call: ToolCall, context: CallContext) -> Outcome:
        """Run one call and return its result, whatever happens."""
        tool = self._tools.get(call.name)
        if tool is None:
            return Outcome(text=self._unknown(call.name), error=True)
        arguments = parse_arguments(call.arguments)
        if arguments is None:
            arguments = {MALFORMED: call.arguments}
        if MALFORMED in arguments:
            raw = one_line(str(arguments[MALFORMED]), 200)
            return Outcome(
                text=f"{call.name} was not run: its arguments are no JSON object: {raw}. "
                f"Call it again with an object of {', '.join(tool.parameters['properties'])}.",
                error=True,
            )
        try:
            text = clean(tool.run(arguments, context))
        except ToolError as error:
            return Outcome(text=self._fitted(clean(str(error)), call), error=True)
        except Exception as error:
            # The seam where a tool's bug becomes a result; the traceback is for us, not the model.
            log.exception("tool %s failed", call.name)
            return Outcome(text=f"{call.name} failed: {type(error).__name__}: {error}", error=True)
        return Outcome(text=self._fitted(text, call) or "(no output)")

    def _unknown(self, name: str) -> str:
        if name in self.missing:
            return f"{name} is not available here: {self.missing[name]}."
        near = difflib.get_close_matches(name, self._tools, n=1, cutoff=0.4)
        hint = f"Did you mean {near[0]}?" if near else f"There are {', '.join(self._tools)}."
        return f"There is no tool {name!r}. {hint}"

    def _fitted(self, text: str, call: ToolCall) -> str:
        """Return ``text`` as it fits into a message; what is longer is kept whole in a file.

        Configured keys are masked first: no tool shows them to a model or keeps them in a file.
        """
        for secret in self._secrets:
            text = text.replace(secret, "[redacted: configured secret]")
        if len(text) <= RESULT_LIMIT:
            return text
        path = keep_whole(self._outputs, text, call.name)
        where = f"the whole result is in {path}" if path else "it could not be saved whole"
        cut = len(text) - _HEAD - _TAIL
        return f"{text[:_HEAD]}\n\n[... {cut} characters left out; {where} ...]\n\n{text[-_TAIL:]}"


def keep_whole(folder: Path, text: str, name: str) -> Path | None:
    """Keep ``text`` in a new private file of ``folder``; None when the disk does not take it."""
    import secrets
    from datetime import UTC, datetime

    from memory.atomic import write_atomic

    safe = "".join(c if c.isalnum() else "-" for c in name)[:40]
    path = folder / f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{safe}-{secrets.token_hex(3)}.txt"
    try:
        write_atomic(path, text.encode("utf-8", "replace"))
    except OSError:
        log.exception("a long text could not be kept")
        return None
    return path


def summary(call: ToolCall) -> str:
    """Return a call in one line for people: its name and its most telling argument."""
    try:
        arguments = json.loads(call.arguments)
    except ValueError:
        arguments = {}
    for key in ("command", "path", "url", "query", "text", "old_text", "pattern", "name", "action"):
        if arguments.get(key):
            return f"{call.name}: {one_line(str(arguments[key]), 80)}"
    return call.name
