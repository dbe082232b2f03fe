"""Owns the error tree. What a user should read is one of these; all else is a bug and shows itself.

ReverieError              a message for the user that ends with the next step
├── UsageError            the command line or a slash command was used wrongly (exit code 2)
│   └── ConfigError       config.yaml or .env says something that is not possible
└── ProviderError         the model could not answer; ``fault`` says what kind of failure
"""

from __future__ import annotations

from enum import StrEnum


class ReverieError(Exception):
    """The base of everything that is shown to the user as a sentence."""


class UsageError(ReverieError):
    """Wrong use; the process ends with exit code 2."""


class ConfigError(UsageError):
    """The configuration cannot be used; names the file and the line."""


class Fault(StrEnum):
    """What went wrong with a provider; ``assistant.recovery`` knows the way out of each."""

    RATE_LIMIT = "rate_limit"
    QUOTA = "quota"
    OVERLOADED = "overloaded"
    SERVER = "server"
    TIMEOUT = "timeout"
    CONNECTION = "connection"
    OVERFLOW = "overflow"
    AUTH = "auth"
    MODEL = "model"
    PARAMETER = "parameter"
    TOOLS = "tools"
    HISTORY = "history"
    FILTERED = "filtered"
    EMPTY = "empty"
    CUT = "cut"
    OTHER = "other"


class ProviderError(ReverieError):
    """A model call that failed. ``retry_after`` is in seconds, where the server said so."""

    def __init__(self, fault: Fault, message: str, *, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.fault = fault
        self.retry_after = retry_after
