"""Owns the tools over skills: ``skill_view`` and ``skill_search``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from assistant.errors import UsageError
from assistant.tools.registry import CallContext, ToolError, Toolset, make_tool
from memory.clean import one_line

if TYPE_CHECKING:
    from assistant.skills import Skills


def toolset(skills: Skills) -> Toolset:
    """Return the tools."""

    def skill_view(
        name: str,
        path: Annotated[str, "a file of it; empty: its text"] = "",
        *,
        call: CallContext,
    ) -> str:
        """Load a skill: how a kind of task is done here. Do so before such a task."""
        try:
            return skills.view(name, path, call.session)
        except UsageError as error:
            raise ToolError(str(error)) from None

    def skill_search(query: Annotated[str, "a task, in words; * for all"], limit: int = 8) -> str:
        """Find skills by what they are for, those of the list and all others."""
        rows = [
            f"{fit.entry.name}: {one_line(fit.entry.description, 160)}"
            + (f" (not used: {fit.entry.why_not})" if fit.entry.why_not else "")
            for fit in skills.search(query, max(1, min(limit, 30)))
        ]
        rows += [
            f"{name}: retired; `reverie skills restore {name}` brings it back"
            for name in skills.retired_for(query)
        ]
        return "\n".join(rows) or f"No skill is for {query!r}."

    return Toolset(
        name="skills",
        tools=(make_tool(skill_view, untrusted=True), make_tool(skill_search, untrusted=True)),
    )
