"""Owns the ``todo`` tool: the model's list of steps, which the user sees."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

from pydantic import BaseModel, ConfigDict

from assistant.task_state import Status, TaskState, Todo
from assistant.tools.registry import CallContext, Toolset, make_tool


class _Item(BaseModel):
    model_config = ConfigDict(extra="forbid")
    text: str
    status: Status = "pending"


def toolset(*, load: Callable[[str], TaskState], save: Callable[[str, TaskState], None]) -> Toolset:
    """Return the tool over a session's state, by session id."""

    def todo(
        items: Annotated[
            list[_Item] | None, "the whole list, in order; leave out to read it"
        ] = None,
        *,
        call: CallContext,
    ) -> str:
        """Read or replace the to-do list of this session. For work of three steps or more."""
        state = load(call.session)
        if items is not None:
            state = state.with_todos([Todo(text=i.text, status=i.status) for i in items])
            save(call.session, state)
        return state.render() or "(the list is empty)"

    return Toolset(name="todo", tools=(make_tool(todo, effect="write"),))
