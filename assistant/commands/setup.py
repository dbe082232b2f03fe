"""Owns ``reverie setup``: find a model, try it once, write the choice."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from assistant.app import make_provider
from assistant.config import Config, Environment, find_home, load_config, load_environment
from assistant.errors import ProviderError, UsageError
from assistant.home import Home
from assistant.providers.base import complete
from memory.atomic import write_atomic
from memory.clean import one_line


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """One way to a model. ``model`` ends with ':' where the name is still to be asked for."""

    title: str
    model: str
    base_url: str | None = None
    key_env: str | None = None


HOSTED = (
    Choice(title="Anthropic", model="anthropic:", key_env="ANTHROPIC_API_KEY"),
    Choice(title="OpenAI", model="openai:", key_env="OPENAI_API_KEY"),
    Choice(
        title="OpenRouter",
        model="openai:",
        base_url="https://openrouter.ai/api/v1",
        key_env="OPENROUTER_API_KEY",
    ),
    Choice(
        title="DeepSeek",
        model="openai:",
        base_url="https://api.deepseek.com",
        key_env="DEEPSEEK_API_KEY",
    ),
)
LOCAL = (("Ollama", 11434), ("LM Studio", 1234), ("llama.cpp", 8080))
PROBE_S = 0.7


def found(environment: Environment) -> list[Choice]:
    """Return what is there: keys that are set, local servers that answer, and offline."""
    choices = [c for c in HOSTED if c.key_env and environment.get(c.key_env)]
    for title, port in LOCAL:
        base_url = f"http://127.0.0.1:{port}/v1"
        for name in models_at(base_url, "none")[:10]:
            choices.append(Choice(title=title, model=f"openai:{name}", base_url=base_url))
    return [*choices, Choice(title="No model", model="offline")]


def models_at(base_url: str, key: str) -> list[str]:
    """Return the names of the models that a compatible server lists; none when it does not answer."""
    import httpx2

    try:
        answer = httpx2.get(
            f"{base_url}/models",
            timeout=PROBE_S,
            headers={"Authorization": f"Bearer {key}"},
            trust_env=False,
        )
        rows = answer.json().get("data") or []
        return [str(row["id"]) for row in rows if isinstance(row, dict) and "id" in row]
    except (httpx2.HTTPError, ValueError, AttributeError):
        return []


def run(model: str | None, base_url: str | None, key_env: str | None) -> None:
    """Choose, try, write."""
    home = find_home()
    if home.create():
        print(f"Your home is {home.root}.")
    environment = load_environment(home)
    config = load_config(home.config)
    if model is None:
        if not sys.stdin.isatty():
            listed = "; ".join(describe(choice) for choice in found(environment))
            raise UsageError(
                f"Found here: {listed}. Next step: choose one with reverie setup --model NAME "
                "[--base-url URL] [--key-env VARIABLE]."
            )
        choice = _ask(found(environment))
    else:
        choice = Choice(title="", model=model, base_url=base_url, key_env=key_env)
    choice, environment = _complete(choice, home, environment)
    chosen = Config.model_validate(
        {
            **dict(config),
            "model": choice.model,
            "base_url": choice.base_url,
            "api_key_env": choice.key_env,
        }
    )
    _try(chosen, environment)
    write(
        home.config,
        {"model": choice.model, "base_url": choice.base_url, "api_key_env": choice.key_env},
    )
    print(f"Written to {home.config}: model {choice.model}. Next step: reverie")


def describe(choice: Choice) -> str:
    """Return a choice in a few words."""
    name = choice.model.partition(":")[2] or (choice.key_env or "plain requests, no key")
    return f"{choice.title} ({name})"


def _ask(choices: Sequence[Choice]) -> Choice:
    print("This is what I found:")
    for number, choice in enumerate(choices, 1):
        print(f"  {number}. {describe(choice)}")
    print(f"  {len(choices) + 1}. Another provider: I have a key")
    picked: int = click.prompt("Which one", type=click.IntRange(1, len(choices) + 1), default=1)
    if picked <= len(choices):
        return choices[picked - 1]
    for number, choice in enumerate(HOSTED, 1):
        print(f"  {number}. {choice.title}")
    number = click.prompt("Whose key", type=click.IntRange(1, len(HOSTED)), default=1)
    return HOSTED[number - 1]


def _complete(choice: Choice, home: Home, environment: Environment) -> tuple[Choice, Environment]:
    """Ask for what a choice still lacks: a key, which goes to ``.env``, and a model's name."""
    if choice.key_env and not environment.get(choice.key_env) and sys.stdin.isatty():
        key = click.prompt(f"{choice.key_env} (not shown)", hide_input=True).strip()
        store_secret(home.env, choice.key_env, key)
        environment = load_environment(home)
        print(f"Kept in {home.env}, readable by you alone.")
    if choice.model.endswith(":"):
        names = models_at(choice.base_url or "", environment.get(choice.key_env or "") or "")
        if names:
            print("Models there: " + ", ".join(names[:20]) + (" ..." if len(names) > 20 else ""))
        name = click.prompt("Name of the model").strip()
        choice = Choice(
            title=choice.title,
            model=choice.model + name,
            base_url=choice.base_url,
            key_env=choice.key_env,
        )
    return choice, environment


def _try(config: Config, environment: Environment) -> None:
    """Make one real request. Raises ``UsageError``: nothing is written for a model that fails."""
    provider = make_provider(config, environment)
    if config.model == "offline":
        return
    print(f"Trying {config.model} ...", flush=True)
    try:
        answer = complete(provider, "Answer with one word: ready", max_tokens=256)
    except ProviderError as error:
        raise UsageError(f"{error} Nothing was written.") from error
    print(f"It answers: {one_line(answer, 60)}")


def write(path: Path, values: dict[str, str | None]) -> None:
    """Set top-level keys of ``config.yaml``; every other line stays as the user wrote it."""
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    for key, value in values.items():
        line = f"{key}: {json.dumps(value, ensure_ascii=False)}" if value is not None else ""
        pattern = re.compile(rf"^{key}:.*$\n?", re.MULTILINE)
        if place := pattern.search(text):
            start, end = place.span()
            text = text[:start] + (f"{line}\n" if line else "") + text[end:]
        elif line:
            text += ("" if not text or text.endswith("\n") else "\n") + f"{line}\n"
    write_atomic(path, text.encode("utf-8"))


def store_secret(path: Path, name: str, value: str) -> None:
    """Set one line of ``.env``; the file is readable by its owner alone."""
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    rows = [row for row in text.splitlines() if not row.startswith(f"{name}=")]
    write_atomic(path, ("\n".join([*rows, f"{name}={value}"]) + "\n").encode("utf-8"))
    os.chmod(path, 0o600)  # noqa: PTH101 - the file may have been there with wider rights
