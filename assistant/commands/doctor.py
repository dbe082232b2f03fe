"""Owns ``reverie doctor``: checks what a user can get wrong, says what to do, changes nothing."""

from __future__ import annotations

import json
import shutil
import sqlite3
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import Literal

from assistant.config import (
    Config,
    Environment,
    find_home,
    load_config,
    load_environment,
    local_zone,
)
from assistant.errors import ConfigError, ProviderError, UsageError
from assistant.home import Home

Level = Literal["ok", "warn", "fail"]
PACKAGES = ("assistant", "memory", "skills_learning", "dreaming", "skills_guard", "cron")
OLDEST_SQLITE = (3, 35)


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """What was checked, how it stands, and what to do about it ('' when all is well)."""

    name: str
    level: Level
    text: str
    next_step: str = ""


def run(as_json: bool) -> int:
    """Print every check; return 1 when one fails, else 0."""
    checks = list(examine())
    if as_json:
        print(json.dumps({"checks": [asdict(check) for check in checks]}, ensure_ascii=False))
    else:
        marks = {"ok": "✓", "warn": "!", "fail": "✗"}
        for check in checks:
            print(f"{marks[check.level]} {check.name}: {check.text}")
            if check.next_step:
                print(f"    Next step: {check.next_step}")
    return 1 if any(check.level == "fail" for check in checks) else 0


def examine() -> Iterator[Check]:
    """Yield the checks, in the order in which things depend on each other."""
    home = find_home()
    yield _python()
    yield _sqlite()
    yield _packages()
    yield from _home(home)
    if not home.root.is_dir():
        return
    try:
        config, environment = load_config(home.config), load_environment(home)
    except ConfigError as error:
        what, _, step = str(error).partition(" Next step: ")
        yield Check(name="settings", level="fail", text=what, next_step=step)
        return
    yield Check(name="settings", level="ok", text=f"{home.config} (time zone {local_zone(config)})")
    yield from _secrets(home)
    yield from _database(home)
    yield from _memory_files(home, config)
    yield _skills(home, config, environment)
    yield from _search(home, config, environment)
    yield from _model(config, environment)


def _python() -> Check:
    return Check(name="python", level="ok", text=f"{sys.version.split()[0]} at {sys.executable}")


def _sqlite() -> Check:
    version = sqlite3.sqlite_version
    options = {row[0] for row in sqlite3.connect(":memory:").execute("PRAGMA compile_options")}
    if sqlite3.sqlite_version_info < OLDEST_SQLITE or "ENABLE_FTS5" not in options:
        return Check(
            name="sqlite",
            level="fail",
            text=f"{version}, full-text search {'ENABLE_FTS5' in options}",
            next_step="use a Python whose SQLite is 3.35 or newer with FTS5 (python.org, uv, conda)",
        )
    return Check(name="sqlite", level="ok", text=f"{version} with full-text search")


def _packages() -> Check:
    """Other distributions may install a top-level ``memory`` or ``home``; pip overwrites silently."""
    from importlib.metadata import packages_distributions

    owners = packages_distributions()
    shared = {name: set(owners.get(name, [])) - {"reverie-assistant"} for name in PACKAGES}
    strangers = {name: sorted(found) for name, found in shared.items() if found}
    if strangers:
        shown = "; ".join(f"{name} by {', '.join(found)}" for name, found in strangers.items())
        return Check(
            name="packages",
            level="fail",
            text=f"other distributions own packages of ours: {shown}",
            next_step="install Reverie by itself: pipx install reverie-assistant, or uv tool install",
        )
    return Check(name="packages", level="ok", text="no other distribution owns a package of ours")


def _home(home: Home) -> Iterator[Check]:
    if not home.root.is_dir():
        yield Check(
            name="home", level="warn", text=f"{home.root} is not there yet", next_step="run reverie"
        )
        return
    loose = home.root.stat().st_mode & 0o077
    free = shutil.disk_usage(home.root).free
    if loose:
        yield Check(
            name="home",
            level="warn",
            text=f"{home.root} can be read by others (mode {home.root.stat().st_mode & 0o777:o})",
            next_step=f"chmod 700 {home.root}",
        )
    elif free < 50_000_000:
        yield Check(
            name="home",
            level="warn",
            text=f"{free // 1_000_000} MB are free at {home.root}",
            next_step="free some space; with none left the chat goes on unsaved",
        )
    else:
        yield Check(name="home", level="ok", text=f"{home.root}, {free // 1_000_000} MB free")


def _secrets(home: Home) -> Iterator[Check]:
    if not home.env.exists():
        return
    mode = home.env.stat().st_mode & 0o777
    if mode & 0o077:
        yield Check(
            name="secrets",
            level="fail",
            text=f"{home.env} can be read by others (mode {mode:o})",
            next_step=f"chmod 600 {home.env}",
        )
    else:
        yield Check(name="secrets", level="ok", text=f"{home.env} is yours alone")


def _database(home: Home) -> Iterator[Check]:
    if not home.database.exists():
        yield Check(name="database", level="ok", text="not there yet; the first chat makes it")
        return
    problems = _attempt(lambda: _database_problems(home))
    mode = home.database.stat().st_mode & 0o777
    if problems:
        yield Check(
            name="database",
            level="fail",
            text=f"{home.database}: {'; '.join(problems)}",
            next_step="start reverie: it moves the damaged file aside and saves what can be read",
        )
    elif mode & 0o077:
        yield Check(
            name="database",
            level="warn",
            text=f"{home.database} can be read by others (mode {mode:o})",
            next_step=f"chmod 600 {home.database}",
        )
    else:
        size = home.database.stat().st_size / 1e6
        yield Check(name="database", level="ok", text=f"{home.database}, {size:.1f} MB, healthy")


def _database_problems(home: Home) -> list[str]:
    """Look without changing: read-only, so no migration and no repair happens here."""
    from memory.tokens import search_text

    full = shutil.disk_usage(home.root).free < 100_000
    mode = "mode=ro&immutable=1" if full else "mode=ro"
    connection = sqlite3.connect(f"file:{home.database}?{mode}", uri=True, timeout=2)
    try:
        connection.create_function("search_text", 1, search_text, deterministic=True)
        rows = [str(row[0]) for row in connection.execute("PRAGMA quick_check(3)")]
        connection.execute("SELECT count(*) FROM messages_fts WHERE messages_fts MATCH 'a'")
        return [row for row in rows if row != "ok"]
    finally:
        connection.close()


def _attempt(look: Callable[[], list[str]]) -> list[str]:
    try:
        return look()
    except (sqlite3.DatabaseError, OSError) as error:
        return [str(error)]


def _memory_files(home: Home, config: Config) -> Iterator[Check]:
    from memory.entries import MemoryFile

    limits = ((home.user, config.memory.user_limit), (home.memory, config.memory.memory_limit))
    for path, limit in limits:
        try:
            file = MemoryFile.read(path)
        except OSError as error:
            yield Check(
                name=path.name,
                level="fail",
                text=f"cannot be read: {error.strerror}",
                next_step=f"chmod 600 {path}",
            )
            continue
        headings: dict[str, int] = defaultdict(int)
        for line in file.raw.splitlines():
            if line.startswith("#"):
                headings[line.strip()] += 1
        twice = [heading for heading, count in headings.items() if count > 1]
        text = f"{len(file.entries)} entries, {file.size} of {limit} characters"
        if file.size > limit:
            yield Check(
                name=path.name,
                level="warn",
                text=text,
                next_step=f"shorten {path}; until then nothing new is added to it",
            )
        elif twice:
            yield Check(
                name=path.name,
                level="warn",
                text=f"{text}; heading twice: {', '.join(twice)}",
                next_step=f"merge the sections in {path}: one may be out of date",
            )
        else:
            yield Check(name=path.name, level="ok", text=text)


def _skills(home: Home, config: Config, environment: Environment) -> Check:
    """Whether all skills can be used; what cannot run on this machine is no fault."""
    from pathlib import Path

    from assistant.skills import shelf_of

    entries = shelf_of(home, config, environment, Path.cwd()).entries(seconds=5.0, keep=False)
    wrong = [e for e in entries if e.record.decision != "allow"]
    text = f"{len(entries)} skills"
    if not wrong:
        return Check(name="skills", level="ok", text=text)
    shown = "; ".join(f"{e.name}: {e.why_not}" for e in wrong[:3])
    return Check(
        name="skills",
        level="warn",
        text=f"{text}, {len(wrong)} not used: {shown}",
        next_step="reverie skills check names all, reverie skills pending asks you",
    )


def _search(home: Home, config: Config, environment: Environment) -> Iterator[Check]:
    """Whether search has its embedder, its index and Chroma; nothing is built."""
    from datetime import datetime

    from assistant.recall import Recall
    from memory.errors import StorageError

    zone = local_zone(config)
    recall = Recall(
        home, config, environment, store=None, zone=zone, today=lambda: datetime.now(zone).date()
    )
    try:
        problem = recall.problem()
        state = recall.status() if (home.root / "index").exists() else {}
    except (StorageError, OSError) as error:
        yield Check(
            name="search", level="warn", text=str(error), next_step="reverie memory index --rebuild"
        )
        return
    finally:
        recall.stop()
    text = (
        f"{state['embedded']} of {state['chunks']} chunks have vectors ({state['embedder']})"
        if state
        else "no index yet: the first search builds it"
    )
    if left_out := state.get("left_out"):
        text += f"; not indexed: {', '.join(left_out[:3])}" + (" ..." if len(left_out) > 3 else "")
    if problem:
        yield Check(
            name="search",
            level="warn",
            text=f"{text}; {problem}",
            next_step="search goes on with what there is; reverie memory index tries again",
        )
    else:
        yield Check(name="search", level="ok", text=text)


def _model(config: Config, environment: Environment) -> Iterator[Check]:
    from assistant.app import make_provider
    from assistant.providers.base import complete

    if config.model == "offline":
        yield Check(
            name="model",
            level="ok",
            text="offline: plain requests only",
            next_step="reverie setup connects a language model",
        )
        return
    try:
        provider = make_provider(config, environment)
        if not config.model.startswith("scripted:"):
            complete(provider, "Answer with one word: ready", max_tokens=256)
    except (UsageError, ProviderError) as error:
        what, _, step = str(error).partition(" Next step: ")
        yield Check(name="model", level="fail", text=what, next_step=step.rstrip("."))
        return
    yield Check(name="model", level="ok", text=f"{config.model} answers")
