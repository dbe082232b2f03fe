"""Owns what all commands share: help options, cleaned text, bounded numbers, near names."""

from __future__ import annotations

from typing import Any

import click

CONTEXT = {"help_option_names": ["-h", "--help"]}
LIMIT = click.IntRange(1, 1000)


class Text(click.ParamType[str]):
    """Text from the command line, cleaned: bytes that are no UTF-8 arrive as lone surrogates."""

    name = "text"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the cleaned text."""
        from memory.clean import clean

        return clean(value) if isinstance(value, str) else value


TEXT = Text()


class Group(click.Group):
    """A group that names the nearest command and shows our errors as one sentence."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command; an unknown one is an error that names the nearest."""
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            import difflib

            near = difflib.get_close_matches(args[0], self.list_commands(ctx), n=1)
            hint = f"Did you mean {near[0]}?" if near else f"See {ctx.command_path} --help."
            raise click.UsageError(f"There is no command {args[0]!r}. {hint}", ctx) from error


JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
