"""Owns regular expressions that are compiled at first use.

Large tables of them cost a tenth of a second of CPU to compile, and most commands never use them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any


class Pattern:
    """A regular expression with the methods of ``re.Pattern`` that are used here."""

    __slots__ = ("_compiled", "_flags", "pattern")

    def __init__(self, pattern: str, flags: int = 0) -> None:
        self.pattern = pattern
        self._flags = flags
        self._compiled: re.Pattern[str] | None = None

    @property
    def _ready(self) -> re.Pattern[str]:
        if self._compiled is None:
            self._compiled = re.compile(self.pattern, self._flags)
        return self._compiled

    def search(self, text: str) -> re.Match[str] | None:
        """See ``re.Pattern.search``."""
        return self._ready.search(text)

    def match(self, text: str) -> re.Match[str] | None:
        """See ``re.Pattern.match``."""
        return self._ready.match(text)

    def fullmatch(self, text: str) -> re.Match[str] | None:
        """See ``re.Pattern.fullmatch``."""
        return self._ready.fullmatch(text)

    def findall(self, text: str) -> list[Any]:
        """See ``re.Pattern.findall``."""
        return self._ready.findall(text)

    def finditer(self, text: str) -> Iterator[re.Match[str]]:
        """See ``re.Pattern.finditer``."""
        return self._ready.finditer(text)

    def sub(self, replacement: str | Callable[[re.Match[str]], str], text: str) -> str:
        """See ``re.Pattern.sub``."""
        return self._ready.sub(replacement, text)

    def split(self, text: str) -> list[str]:
        """See ``re.Pattern.split``."""
        return self._ready.split(text)
