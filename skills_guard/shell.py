"""Owns how a shell would read commands: continued lines joined, quotes, ``${IFS}`` and simple variables
resolved. It is no shell: what cannot be resolved by looking stays as it is."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

Line = tuple[int, str]
_CONTINUED = re.compile(r"(?:\\|\||&&|`)\s*$")
_CONTINUING = re.compile(r"^\s*(?:\||&&|\|\|)(?!\s*:?-)")
_PROMPT = re.compile(
    r"^\s*(?:\$|%|>|PS[^>]{0,40}>|\w{1,20}@[\w.-]{1,40}[:~\w/ -]{0,40}[$#])\s+(?=\S)"
)
_COMMENT = re.compile(r"(?:^|\s)#(?!!).*$")
_IFS = re.compile(r"\$\{?IFS\}?(?:\$\d)?|\$\{IFS[^}]{0,20}\}")
_EMPTY = re.compile(
    r"(?<=\w)(?:\"\"|'')(?=\w)|(?<=[\w/.])\\(?=[A-Za-z])|(?<![\w\\])\\(?=[A-Za-z]{2,}\b)"
)
_SPLIT = re.compile(r"(?<=\w)(['\"])([A-Za-z]{1,6})\1(?=\w)|\b(['\"])([A-Za-z])\3(?=\w)")
_ASSIGN = re.compile(
    r"(?:^|[;&|(]\s*|\bexport\s+|\blocal\s+|\bdeclare\s+(?:-\w+\s+)?|\breadonly\s+|\bset\s+|\s)"
    r"(\$?[A-Za-z_]\w{0,40})\s?=\s?(?:\"([^\"\n]{1,600})\"|'([^'\n]{1,600})'|([^\s;&|\"'()<>`]{1,300}))"
)
_PERCENT = re.compile(r"%([A-Za-z_]\w{0,40})%|!([A-Za-z_]\w{0,40})!")
_USE = re.compile(r"\$\{([A-Za-z_]\w{0,40})(?:[:#%/,^@][^}]{0,60})?\}|\$([A-Za-z_]\w{0,40})")
_KEY = re.compile(
    r"(?:(?<=\s)-i|--identity|--cert|--(?:ssh-|private-)?key(?:-file)?|--pem|--cacert|IdentityFile|--env-file"
    r"|--kubeconfig)[ =]\s*\S+"
)
_LONGEST = 8_000
_UNSAFE = frozenset(("PATH", "IFS", "PS1", "HOME", "USER"))


def resolved(lines: Sequence[Line]) -> Iterator[Line]:
    """Yield whole commands with the number of their first line, and a block's variables filled in."""
    known: dict[str, str] = {}
    for number, command in _whole(lines):
        text = _KEY.sub("-i KEY", _IFS.sub(" ", _PROMPT.sub("", command)))
        text = _SPLIT.sub(lambda m: m[2] or m[4], _EMPTY.sub("", text))
        text = _filled(text, known)
        _learn(text, known)
        yield number, _filled(text, known)


def _whole(lines: Sequence[Line]) -> Iterator[Line]:
    held, first = "", 0
    for at, (number, raw) in enumerate(lines):
        text = raw if held or "'" in raw or '"' in raw else _COMMENT.sub("", raw)
        if not text.strip():
            if held and not raw.strip():
                yield first, held
                held = ""
            continue
        first = first if held else number
        goes_on = bool(_CONTINUED.search(text))
        part = re.sub(r"\\\s*$|`\s*$", "", text) if goes_on else text
        held = f"{held} {part.strip()}" if held else part
        following = lines[at + 1][1] if at + 1 < len(lines) else ""
        if (goes_on or _CONTINUING.match(following)) and len(held) < _LONGEST:
            continue
        yield first, held
        held = ""
    if held:
        yield first, held


_LOOP = re.compile(r"\bfor\s+([A-Za-z_]\w{0,40})\s+in\s+([^;\n]{1,400})")


def _learn(text: str, known: dict[str, str]) -> None:
    for loop in _LOOP.finditer(text):
        known[loop[1]] = loop[2].strip()
    for match in _ASSIGN.finditer(text):
        name = match[1].lstrip("$")
        value = next((v for v in match.groups()[1:] if v), "")
        if name not in _UNSAFE and len(known) < 200 and f"${name}" not in value:
            known[name] = value


def _filled(text: str, known: dict[str, str]) -> str:
    if not known or ("$" not in text and "%" not in text):
        return text

    def value(match: re.Match[str]) -> str:
        return known.get(match[1] or match[2], match[0])

    return _PERCENT.sub(value, _USE.sub(value, text))[:_LONGEST]
