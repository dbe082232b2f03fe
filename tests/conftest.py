"""Fixtures: a home of its own for each test, and no way to the network."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from assistant.app import Assistant
from assistant.config import Config, Environment
from assistant.events import Event, TurnEnded
from assistant.home import Home
from assistant.providers.scripted import Scripted
from memory.sessions import Session, SessionStore
from memory.transcript import Message, Turn, new_turn_id

ZONE = ZoneInfo("Europe/Berlin")


@pytest.fixture(autouse=True)
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """Any connection that leaves the machine fails the test that makes it."""
    connect = socket.socket.connect

    def guarded(self: socket.socket, address: Any) -> None:
        host = address[0] if isinstance(address, tuple) else "local"
        if host not in ("127.0.0.1", "::1", "localhost", "local"):
            raise AssertionError(f"a test tried to reach {address}")
        connect(self, address)

    monkeypatch.setattr(socket.socket, "connect", guarded)


@pytest.fixture(autouse=True)
def no_keys(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No key of the machine reaches a test, and no test reaches the user's home."""
    import os

    for name in list(os.environ):
        if name.endswith(("_API_KEY", "_BASE_URL")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("REVERIE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("HOME", str(tmp_path))


class Clock:
    """A clock that moves when it is told to."""

    def __init__(self, now: datetime) -> None:
        self.moment = now

    def __call__(self) -> datetime:
        return self.moment

    def advance(self, **parts: float) -> None:
        self.moment += timedelta(**parts)


@pytest.fixture
def clock() -> Clock:
    return Clock(datetime(2026, 11, 30, 8, 15, tzinfo=ZONE))


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "home")


@pytest.fixture
def make_assistant(tmp_path: Path, home: Home, clock: Clock) -> Iterator[Callable[..., Assistant]]:
    made: list[Assistant] = []
    work = tmp_path / "work"
    work.mkdir()

    def make(*replies: Any, **options: Any) -> Assistant:
        config = Config.model_validate(
            {"timezone": "Europe/Berlin", "project_context": False, **options.pop("config", {})}
        )
        provider = options.pop("provider", None) or (Scripted(replies) if replies else None)
        assistant = Assistant(
            options.pop("home", home),
            config,
            Environment(options.pop("environment", {})),
            cwd=options.pop("cwd", work),
            provider=provider,
            clock=options.pop("clock", clock),
            **options,
        )
        made.append(assistant)
        return assistant

    yield make
    for assistant in made:
        assistant.close()


def ask(conversation: Any, text: str) -> Turn:
    """Run a turn to its end and return it."""
    ended = [event for event in conversation.ask(text) if isinstance(event, TurnEnded)]
    assert len(ended) == 1
    turn: Turn = ended[0].turn
    return turn


def events_of(conversation: Any, text: str) -> list[Event]:
    return list(conversation.ask(text))


def add_session(
    store: SessionStore,
    *exchanges: tuple[str, str],
    at: datetime = datetime(2026, 11, 1, 9, tzinfo=UTC),
    source: str = "chat",
    status: Any = "done",
) -> str:
    """Store a session of question and answer pairs, a minute apart, and return its id."""
    session = Session.begin(source=source, cwd="", model="test", system_prompt="", now=at)
    store.adopt(session)
    for number, (question, answer) in enumerate(exchanges):
        moment = at + timedelta(minutes=number)
        store.finish(
            Turn(
                id=new_turn_id(moment),
                session=session.id,
                started=moment,
                ended=moment,
                status=status,
                messages=(
                    Message(role="user", text=question, created=moment),
                    Message(role="assistant", text=answer, created=moment),
                ),
            )
        )
    return session.id
