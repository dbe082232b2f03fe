"""Owns what a turn did: its tool calls with how each went, and which of them were the work."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from memory.patterns import Pattern
from memory.transcript import Turn

KEEPING = frozenset(
    "memory memory_search memory_get session_search todo forget_everywhere skill_view skill_search schedule".split()
)
"""Tools by which the assistant keeps house: never part of the work."""
LOOKING = frozenset("read_file list_files search_files fetch_url".split())
_PEEKS = frozenset(
    "ls cat head tail pwd which whereis echo find grep rg wc date whoami env printenv stat file tree less du df ps uname"
    " hostname id type cd".split()
) | {"git status", "git log", "git show", "git diff"}
_READS = frozenset(
    "get list show describe status log logs diff view search info version ls ps whoami history top outdated".split()
)
"""Subcommands that change nothing, whatever the program."""
CHECKS = Pattern(
    r"\b(?:test|tests|pytest|check|verify|validate|status|lint|diff|curl|ping|health|ls|stat|wc|head|cat|file|list|show|describe|get|exists|compare|sha256sum|md5sum|ffprobe|identify|pdfinfo|jq)\b"
)
"""What looks at whether something is as it should be."""
_SENDS = Pattern(
    r"^(?:-X|-d|-o|-O|-T|-F|--(?:request|data\S*|output|remote-name|upload-file|form|json))"
)
MOST_SAID = 4_000
COMMON = frozenset(
    "ls mkdir mv cp rm cat cd echo touch chmod find grep sed awk sh bash test head tail python python3 git".split()
)
"""Programs that tell nothing of what a piece of work is."""
_OUTAGE = Pattern(
    r"time[d -]?\s?out|time limit|connection (?:refused|reset|aborted|closed)|could not resolve|name resolution"
    r"|network is unreachable|no route to host|temporar(?:y|ily)|service unavailable|bad gateway|gateway time"
    r"|too many requests|rate.?limit|\b(?:429|50[0234]|529)\b|server error|overloaded|no space left|disk full"
    r"|ECONN\w+|ETIMEDOUT|EAI_AGAIN|quota|maintenance|\b(?:is|was) down\b|宕机|超时|连接(?:失败|被拒)|网络(?:错误|不通)|暂时不可用",
    re.IGNORECASE,
)
_REFUSED = Pattern(r"^The user did not allow|^cancelled by the user")
_PROGRAM = Pattern(r"[A-Za-z][\w.+-]{0,40}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Around:
    """What a turn stands among: ``before`` it in its session, ``earlier`` in any, oldest first."""

    before: Sequence[Turn] = ()
    earlier: Sequence[Turn] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One tool call of the work and how it went."""

    tool: str
    arguments: Mapping[str, Any]
    result: str
    ok: bool
    turn: int

    @property
    def command(self) -> str:
        """The command line, '' for other tools."""
        return str(self.arguments.get("command", "")) if self.tool == "run_command" else ""

    @property
    def is_outage(self) -> bool:
        """Whether it failed for what passes: a service that was down, a network, a full disk."""
        return not self.ok and bool(_OUTAGE.search(self.result))

    @property
    def is_refused(self) -> bool:
        """Whether the user did not want it."""
        return not self.ok and bool(_REFUSED.search(self.result))

    @property
    def peeks(self) -> bool:
        """Whether it only has a look around: what lies where, what stands in a file."""
        if self.tool in LOOKING:
            return True
        programs = programs_of(self.command)
        return (
            self.tool == "run_command"
            and bool(programs)
            and all(p in _PEEKS or p.split()[0] in _PEEKS for p in programs)
        )

    @property
    def looks(self) -> bool:
        """Whether it changes nothing, as far as its command tells."""
        if self.peeks:
            return True
        parts = commands_in(self.command)
        return self.tool == "run_command" and bool(parts) and all(map(_only_reads, parts))

    @property
    def marks(self) -> frozenset[str]:
        """What it is recognised by: tool, programs, endings of files."""
        if self.command:
            return frozenset(programs_of(self.command))
        name = str(self.arguments.get("path", ""))
        ending = re.search(r"\.[a-z0-9]{1,6}$", name)
        return frozenset({f"{self.tool} {ending[0]}" if ending else self.tool})


def commands_in(command: str) -> list[list[str]]:
    """Return the commands of a command line as words, without variables set for them and ``sudo``."""
    found: list[list[str]] = []
    for part in re.split(r"&&|\|\||[;|\n]", command):
        try:
            words = shlex.split(part, comments=True)
        except ValueError:
            words = part.split()
        while words and (re.fullmatch(r"\w+=.*", words[0]) or words[0] in _BEFORE):
            words = words[2:] if words[0] == "cd" else words[1:]
        if words:
            found.append(words)
    return found


_BEFORE = ("sudo", "env", "time", "nohup", "cd", "exec")


def programs_of(command: str) -> list[str]:
    """Return the programs of a command line, each with its subcommand where it has one."""
    found: list[str] = []
    for words in commands_in(command):
        program = words[0].rsplit("/", 1)[-1]
        if not _PROGRAM.fullmatch(program):
            continue
        if program in ("python", "python3") and words[1:2] == ["-m"] and len(words) > 2:
            found.append(words[2])
        else:
            found.append(f"{program} {_subcommand(words)}".strip())
    return list(dict.fromkeys(found))


def _subcommand(words: Sequence[str]) -> str:
    """Return what a program is told to do, behind options for all of it: ``git -C folder log``."""
    most = 6 if words[0] in _WITH_OPTIONS else 2
    for word in words[1:most]:
        if re.fullmatch(r"[a-z][a-z-]{1,20}", word):
            return word
    return ""


_WITH_OPTIONS = frozenset(
    "git docker kubectl npm pnpm yarn gh aws az gcloud helm systemctl cargo terraform".split()
)


def _only_reads(words: Sequence[str]) -> bool:
    program = words[0].rsplit("/", 1)[-1]
    if ">" in words or any(word.startswith(">") for word in words):
        return False
    if program in _PEEKS or f"{program} {_subcommand(words)}" in _PEEKS:
        return True
    if program == "curl":
        return not any(_SENDS.match(word) for word in words[1:])
    if program in ("psql", "mysql", "sqlite3", "duckdb"):
        said = " ".join(words[1:]).lower()
        return "select" in said and not re.search(
            r"\b(?:insert|update|delete|create|drop|alter|copy)\b", said
        )
    return _subcommand(words) in _READS or any(word in _READS for word in words[1:3])


def steps_of(turns: Sequence[Turn]) -> list[Step]:
    """Return the steps of the work in ``turns``, in their order; housekeeping is left out."""
    found: list[Step] = []
    for turn in turns:
        results = {m.call_id: m for m in turn.messages if m.role == "tool"}
        for message in turn.messages:
            for call in message.tool_calls:
                result = results.get(call.id)
                if call.name in KEEPING or result is None:
                    continue
                try:
                    arguments = json.loads(call.arguments)
                except ValueError:
                    arguments = None
                if isinstance(arguments, dict):
                    found.append(
                        Step(
                            tool=call.name,
                            arguments=arguments,
                            result=result.text,
                            ok=not result.error,
                            turn=turn.id,
                        )
                    )
    return found


def marks_of(steps: Sequence[Step]) -> frozenset[str]:
    """Return what the work is recognised by: the marks of the steps that ended well."""
    return frozenset().union(*(step.marks for step in steps if step.ok and not step.looks))


def said_in(turn: Turn) -> str:
    """Return what the user said in a turn, the beginning of it: what comes later was pasted."""
    return next((m.text for m in turn.messages if m.role == "user"), "")[:MOST_SAID]


def viewed_in(turn: Turn) -> list[str]:
    """Return the names of the skills that were loaded in a turn, by the assistant or by hand."""
    failed = {m.call_id for m in turn.messages if m.role == "tool" and m.error}
    names: list[str] = []
    for message in turn.messages:
        names += re.findall(r'^<skill name="([^"\n]+)">', message.context, re.MULTILINE)
        for call in message.tool_calls:
            if call.name == "skill_view" and call.id not in failed:
                try:
                    arguments = json.loads(call.arguments)
                except ValueError:
                    continue
                if isinstance(arguments, dict) and not arguments.get("path"):
                    names.append(str(arguments.get("name", "")))
    return list(dict.fromkeys(name for name in names if name))
