"""Owns the to-do list of a session: kept outside the messages, so that nothing can cut it away."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Status = Literal["pending", "in_progress", "done"]
MARKS: dict[Status, str] = {"pending": "[ ]", "in_progress": "[>]", "done": "[x]"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Todo:
    """One thing to do."""

    text: str
    status: Status = "pending"


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskState:
    """What a session is working on."""

    todos: tuple[Todo, ...] = ()

    def with_todos(self, todos: Sequence[Todo]) -> TaskState:
        """Return the state with another list."""
        return TaskState(todos=tuple(todos))

    def render(self) -> str:
        """Return the list as text, one line each; '' when it is empty."""
        return "\n".join(f"{MARKS[todo.status]} {todo.text}" for todo in self.todos)

    def dump(self) -> str:
        """Return the state as JSON text."""
        return json.dumps({"todos": [[t.text, t.status] for t in self.todos]}, ensure_ascii=False)

    @classmethod
    def load(cls, text: str) -> TaskState:
        """Return the state that :meth:`dump` wrote; '' or '{}' is an empty one."""
        data = json.loads(text or "{}")
        return cls(todos=tuple(Todo(text=t[0], status=t[1]) for t in data.get("todos", ())))
