"""Owns the embedded default: no language model, and it says so.

It understands plain requests in English and Chinese, turns them into the tool calls that a model
would make, and answers from their results, quoting where each came from. So everything works, and
is tested, without a key and without a network.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date

from assistant.providers.base import Delta, Reply, Request
from assistant.providers.offline_words import INTENTS, SAY, Language
from memory.clean import one_line
from memory.entries import same_key
from memory.facts import facts, is_statement
from memory.recall_words import overlap, words
from memory.tokens import CJK
from memory.transcript import Message, ToolCall, Usage

MOST_SHOWN = 6
UNDERSTOOD_LENGTH = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class _Talk:
    """What an intent may look at: the request, the user's words, the results so far."""

    text: str
    language: Language
    tools: frozenset[str]
    results: tuple[Message, ...]
    recalled: tuple[tuple[str, str], ...]
    """Notes that travel with the message: day and text."""
    now: str
    skills: tuple[str, ...]
    """Names of skills that may fit, or that the user called."""

    def say(self, key: str, **values: object) -> str:
        """Return a sentence in the user's language."""
        return SAY[key][self.language].format(**values)

    @property
    def notes(self) -> list[tuple[str, str]]:
        """Text and shown text of the recalled notes."""
        return [(text, f"{text} ({self.say('note', day=day)})") for day, text in self.recalled]

    def result(self, position: int) -> Message:
        """Return the result of the call at ``position``."""
        return self.results[position]


Step = str | list[tuple[str, dict[str, object]]]
"""An answer, or the calls to make next: (tool, arguments)."""
Handler = Callable[[_Talk, re.Match[str]], Step]


class Offline:
    """See :class:`assistant.providers.base.Provider`."""

    name = "offline"

    def stream(self, request: Request) -> Iterator[Delta | Reply]:
        """Answer from rules and tool results."""
        talk = _talk_of(request)
        step = _answer(talk)
        first = not any(message.role == "assistant" for message in request.messages)
        if isinstance(step, str):
            text = f"{talk.say('introduction')}\n\n{step}" if first or talk.results else step
            if talk.results and _answered_before(request):
                text = step
            for line in text.splitlines(keepends=True):
                yield Delta(text=line)
            yield Reply(text=text, usage=Usage(calls=1))
            return
        calls = tuple(
            ToolCall(
                id=f"offline_{len(request.messages)}_{position}",
                name=name,
                arguments=json.dumps(arguments, ensure_ascii=False),
            )
            for position, (name, arguments) in enumerate(step)
        )
        yield Reply(text="", tool_calls=calls, stop="tool_calls", usage=Usage(calls=1))


def _answered_before(request: Request) -> bool:
    return any(message.role == "assistant" and message.text for message in request.messages)


def _talk_of(request: Request) -> _Talk:
    asked = max(i for i, message in enumerate(request.messages) if message.role == "user")
    message = request.messages[asked]
    contexts = [m.context for m in request.messages if m.role == "user" and m.context]
    recalled = [
        (found["day"], found["text"])
        for context in contexts
        for found in _RECALLED.finditer(context)
    ]
    now = re.search(r"^now: (.+)$", message.context, re.MULTILINE)
    return _Talk(
        text=message.text.strip()[:UNDERSTOOD_LENGTH],
        language="zh" if CJK.search(message.text) else "en",
        tools=frozenset(tool.name for tool in request.tools),
        results=tuple(m for m in request.messages[asked + 1 :] if m.role == "tool"),
        recalled=tuple(recalled),
        now=now[1] if now else "",
        skills=_skills_beside(message.context),
    )


def _skills_beside(context: str) -> tuple[str, ...]:
    called = re.findall(r'^<skill name="([^"]+)">', context, re.MULTILINE)
    fits = re.search(r"^skills that may fit [^:]*: (.+)$", context, re.MULTILINE)
    return (*called, *(fits[1].split(", ") if fits else ()))


def _answer(talk: _Talk) -> Step:
    for intent, pattern in INTENTS:
        tool, handler = _HANDLERS[intent]
        match = pattern.search(talk.text) if not tool or tool in talk.tools else None
        if match:
            return handler(talk, match)
    if talk.text.startswith("$") and talk.skills and "skill_view" in talk.tools:
        if not talk.results:
            return [("skill_view", {"name": talk.skills[0]})]
        return f"{talk.say('skill_called')}\n\n{talk.result(0).text}"
    if facts(talk.text, date.today()):
        return talk.say("noted", text=one_line(talk.text, 200))
    if is_statement(talk.text):
        return talk.say("heard")
    if "memory" in talk.tools and "session_search" in talk.tools and words(talk.text):
        return _recall(talk, talk.text)
    return talk.say("unknown")


# -- memory ---------------------------------------------------------------------------------


def _remember(talk: _Talk, match: re.Match[str]) -> Step:
    fact = match["what"].strip().rstrip("。")
    about_user = re.search(r"\b(?:i|i'm|i’m|i've|my|me|mine|we|our)\b|我|咱", fact, re.IGNORECASE)
    if re.match(r"to \w+", fact):
        fact = f"To do: {fact[3:]}"
    fact = fact[0].upper() + fact[1:]
    if not talk.results:
        target = "user" if about_user else "memory"
        return [("memory", {"action": "add", "target": target, "text": fact})]
    result = talk.result(0)
    first = result.text.split("\n")[0]
    if result.error:
        return talk.say("not_stored", why=result.text)
    if first.startswith("already known"):
        return talk.say("known", text=first.partition(": ")[2])
    if first.startswith("replaced"):
        old, _, new = first.partition(": ")[2].partition(" -> ")
        return talk.say("replaced", new=new, old=old)
    file = "USER.md" if "USER.md" in result.text else "MEMORY.md"
    return talk.say("stored", text=first.partition(": ")[2], file=file)


def _forget(talk: _Talk, match: re.Match[str]) -> Step:
    what = match["what"].strip().rstrip(".。!！")
    if not talk.results:
        return _LIST_BOTH
    if len(talk.results) == 2:
        found = [
            (overlap(what, entry), target, entry)
            for target, result in zip(("user", "memory"), talk.results, strict=True)
            for entry in _entries(result)
        ]
        best = max(found, default=(0.0, "", ""))
        fact = best[2] if best[0] >= 0.5 else what
        if "forget_everywhere" in talk.tools:
            return [("forget_everywhere", {"text": fact})]
        return talk.say("nothing_to_forget", what=what)
    result = talk.result(2)
    if not result.error:
        gone = result.text.startswith("Gone")
        return talk.say("forgotten_everywhere" if gone else "nothing_to_forget", what=what)
    # Nobody could be asked: what stands in memory goes, and the rest is said.
    if len(talk.results) == 3:
        for target, listing in zip(("user", "memory"), talk.results, strict=False):
            for entry in _entries(listing):
                if overlap(what, entry) >= 0.5:
                    return [("memory", {"action": "remove", "target": target, "old_text": entry})]
        return talk.say("not_forgotten", why=result.text)
    removed = talk.result(3)
    if removed.error:
        return talk.say("not_forgotten", why=removed.text)
    return talk.say("forgotten", text=removed.text.split("\n")[0].partition(": ")[2])


_LIST_BOTH: Step = [
    ("memory", {"action": "list", "target": "user"}),
    ("memory", {"action": "list", "target": "memory"}),
]


def _entries(result: Message) -> list[str]:
    """Return the entries of a ``memory`` listing; continuation lines belong to their bullet."""
    if result.error:
        return []
    return [part.strip() for part in result.text.split("\n- ")[1:]]


def _about_me(talk: _Talk, _: re.Match[str]) -> Step:
    if not talk.results:
        return _LIST_BOTH
    rows = [f"- {entry} (USER.md)" for entry in _entries(talk.result(0))]
    rows += [f"- {entry} (MEMORY.md)" for entry in _entries(talk.result(1))]
    known = {same_key(entry) for result in talk.results for entry in _entries(result)}
    rows += [f"- {shown}" for text, shown in talk.notes if same_key(text) not in known]
    if not rows:
        return talk.say("know_nothing")
    return "\n".join([talk.say("know"), *dict.fromkeys(rows)])


def _about(talk: _Talk, match: re.Match[str]) -> Step:
    return _recall(talk, match["what"])


def _recall(talk: _Talk, question: str) -> Step:
    """Look in memory, recalled notes and past conversations, and quote what fits best."""
    if "memory_search" in talk.tools:
        return _found(talk, question)
    if not talk.results:
        search = ("session_search", {"query": " ".join(words(question)) or question, "limit": 12})
        return [*_LIST_BOTH, search]
    facts = [
        *((entry, f"{entry} (USER.md)") for entry in _entries(talk.result(0))),
        *((entry, f"{entry} (MEMORY.md)") for entry in _entries(talk.result(1))),
        *talk.notes,
    ]
    facts += _said(talk.result(2))
    if talk.result(2).error and len(facts) == 0:
        return talk.result(2).text
    best: dict[str, tuple[float, str]] = {}
    for text, shown in facts:  # the first source of a fact is the strongest one
        fit = overlap(question, text)
        if fit >= 0.3:
            best.setdefault(same_key(text), (fit, shown))
    if not best:
        return talk.say("found_nothing", what=one_line(question, 100))
    ranked = sorted(best.values(), key=lambda item: -item[0])[:MOST_SHOWN]
    return "\n".join([talk.say("found"), *(f"- {shown}" for _, shown in ranked)])


def _found(talk: _Talk, question: str, heading: str = "found", sources: Sequence[str] = ()) -> Step:
    """Search and quote what the user said or keeps; questions only echo what is asked now."""
    if not talk.results:
        only = {"sources": list(sources)} if sources else {}
        return [("memory_search", {"query": question, "limit": 12, **only})]
    if talk.result(0).error:
        return talk.result(0).text
    rows: dict[str, str] = {}
    for line in talk.result(0).text.splitlines():
        hit = _FOUND.match(line)
        echo = hit is None or hit["text"].rstrip("… ").endswith(("?", "？"))
        if hit and not echo and "Reverie" not in hit["where"]:
            rows.setdefault(same_key(hit["text"]), f"- {hit['text']} ({hit['where']})")
    if not rows:
        return talk.say("found_nothing", what=one_line(question, 100))
    return "\n".join([talk.say(heading), *list(rows.values())[:MOST_SHOWN]])


_FOUND = re.compile(r"^\[(?P<where>[^\]]*)\] (?P<text>.+)$")
_RECALLED = re.compile(r"^- (?P<day>\d{4}-\d\d-\d\d): (?P<text>.+)$", re.MULTILINE)
_HIT = re.compile(
    r"^\[(?P<when>[\d-]+ [\d:]+), (?P<who>\w+), session (?P<session>\S+?)(?: “[^”]*”)?,"
    r" message \d+\] (?P<text>.*)$"
)


def _said(result: Message) -> list[tuple[str, str]]:
    """Return what the user said in past conversations, with its source; no questions (they only
    echo what is asked now), and no answers of ours (they are about what the user said)."""
    hits = [_HIT.match(line) for line in result.text.splitlines()]
    return [
        (hit["text"], f"{hit['text']} ({hit['when']}, {hit['who']}, {hit['session']})")
        for hit in hits
        if hit and hit["who"] == "you" and not hit["text"].rstrip("… ").endswith(("?", "？"))
    ]


def _search(talk: _Talk, match: re.Match[str]) -> Step:
    what = match["what"].strip().rstrip("?？。.")
    return _found(talk, what, "said", ("sessions", "notes"))


def _recent(talk: _Talk, _: re.Match[str]) -> Step:
    if not talk.results:
        return [("session_search", {"query": "", "limit": 8})]
    return f"{talk.say('sessions')}\n{talk.result(0).text}"


# -- the other tools ------------------------------------------------------------------------


def _calls(tool: str, **arguments: str) -> Handler:
    """Return a handler that makes one call, its arguments taken from groups of the match."""

    def handler(talk: _Talk, match: re.Match[str]) -> Step:
        if not talk.results:
            given = {key: match[group].strip() for key, group in arguments.items() if match[group]}
            return [(tool, dict(given))]
        result = talk.result(0)
        return talk.say("failed", why=result.text) if result.error else result.text

    return handler


def _todo_add(talk: _Talk, match: re.Match[str]) -> Step:
    if not talk.results:
        return [("todo", {})]
    if len(talk.results) == 1:
        marks = {"[ ]": "pending", "[>]": "in_progress", "[x]": "done"}
        items = [
            {"text": line[4:], "status": marks[line[:3]]}
            for line in talk.result(0).text.splitlines()
            if line[:3] in marks
        ]
        return [("todo", {"items": [*items, {"text": match["what"].strip()}]})]
    return talk.result(1).text


def _time(talk: _Talk, _: re.Match[str]) -> Step:
    return talk.say("time", now=talk.now) if talk.now else talk.say("unknown")


def _sentence(key: str) -> Handler:
    return lambda talk, _: talk.say(key)


def _skills(talk: _Talk, _: re.Match[str]) -> Step:
    if not talk.results:
        return [("skill_search", {"query": "*", "limit": 30})]
    return talk.result(0).text


def _skill(talk: _Talk, match: re.Match[str]) -> Step:
    if not talk.results:
        return [("skill_view", {"name": match["what"].lower()})]
    result = talk.result(0)
    return talk.say("failed", why=result.text) if result.error else result.text


def _skill_for(talk: _Talk, match: re.Match[str]) -> Step:
    """Show the skill that fits, else look in memory and conversations."""
    if talk.skills and not talk.results:
        return [("skill_view", {"name": talk.skills[0]})]
    if talk.skills:
        result = talk.result(0)
        return talk.say("failed", why=result.text) if result.error else result.text
    return _recall(talk, match["what"])


_HANDLERS: dict[str, tuple[str, Handler]] = {
    "help": ("", _sentence("help")),
    "hello": ("", _sentence("hello")),
    "thanks": ("", _sentence("welcome")),
    "time": ("", _time),
    "remember": ("memory", _remember),
    "forget": ("memory", _forget),
    "about_me": ("memory", _about_me),
    "search": ("memory_search", _search),
    "recent": ("session_search", _recent),
    "about": ("session_search", _about),
    "skills": ("skill_search", _skills),
    "skill": ("skill_view", _skill),
    "skill_for": ("skill_view", _skill_for),
    "todo_add": ("todo", _todo_add),
    "todo_show": ("todo", _calls("todo")),
    "read_file": ("read_file", _calls("read_file", path="what")),
    "list_files": ("list_files", _calls("list_files", path="what")),
    "search_files": ("search_files", _calls("search_files", query="what")),
    "fetch_url": ("fetch_url", _calls("fetch_url", url="what")),
    "run_command": ("run_command", _calls("run_command", command="what")),
}
"""For each intent: the tool that it needs, and what carries it out."""
