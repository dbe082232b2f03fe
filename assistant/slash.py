"""Owns the slash commands of the chat."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from datetime import timedelta
from typing import TYPE_CHECKING

from assistant.errors import UsageError
from memory.clean import one_line
from memory.entries import MemoryFile
from memory.notes import strip_source

if TYPE_CHECKING:
    from assistant.chat import Chat

Command = Callable[["Chat", str], None]


def run_slash(chat: Chat, line: str) -> bool:
    """Run ``/name rest``; False means that the chat shall end. Raises ``UsageError``."""
    name, _, rest = line[1:].partition(" ")
    if name in ("quit", "exit", "q"):
        return False
    found = COMMANDS.get(name)
    if found is None:
        near = difflib.get_close_matches(name, COMMANDS, n=1)
        hint = f"did you mean /{near[0]}?" if near else "/help shows them all."
        raise UsageError(f"There is no /{name}. Next step: {hint}")
    found[1](chat, rest.strip())
    return True


def _help(chat: Chat, _: str) -> None:
    for name, (text, _function) in COMMANDS.items():
        chat.renderer.say(f"/{name:<10} {text}")


def _new(chat: Chat, _: str) -> None:
    chat.conversation = chat.assistant.converse()
    chat.renderer.say("A new session. The last one stays in the archive (/sessions).")


def _sessions(chat: Chat, rest: str) -> None:
    store, zone = chat.assistant.store, chat.assistant.zone
    if store is None:
        raise UsageError("The archive cannot be opened. Next step: reverie doctor.")
    if rest:
        from assistant.tools.recall import format_hit
        from memory.session_search import search

        hits = search(store, rest)
        rows = [format_hit(hit, zone) for hit in hits] or [f"Nothing found for {rest!r}."]
    else:
        rows = [
            f"{s.updated.astimezone(zone):%Y-%m-%d %H:%M}  {s.id}  {s.title}"
            for s in store.recent(15)
        ] or ["There is no earlier session."]
    for row in rows:
        chat.renderer.say(row)


def _memory(chat: Chat, _: str) -> None:
    for place in chat.assistant.places.values():
        file = MemoryFile.read(place.path)
        percent = round(100 * file.size / place.limit)
        chat.renderer.say(
            f"{place.path.name} ({file.size} of {place.limit} characters, {percent} %)"
        )
        for entry in file.entries:
            chat.renderer.say(f"- {entry.text}")


def _notes(chat: Chat, _: str) -> None:
    today = chat.assistant.now().date()
    shown = False
    for day in (today - timedelta(days=1), today):
        for text in chat.assistant.notes.texts(day):
            shown = True
            chat.renderer.say(f"{day.isoformat()}  {one_line(strip_source(text), 200)}")
    if not shown:
        chat.renderer.say("There are no notes of today or yesterday.")


def _skills(chat: Chat, _: str) -> None:
    from assistant.commands.skills import rows_of

    skills = chat.assistant.skills
    for row in rows_of(skills.shelf.entries()):
        chat.renderer.say(row)
    for draft in skills.library.pending():
        chat.renderer.say(f"{draft.name} waits for you: {draft.why} (reverie skills pending)")


def _skill(chat: Chat, rest: str) -> None:
    name, _, task = rest.partition(" ")
    skills = chat.assistant.skills
    if not name:
        raise UsageError("/skill needs a name. Next step: /skills lists them.")
    skills.view(name)  # says why it cannot be used, before a model is asked
    chat.turn(f"${skills.shelf.find(name).name} {task.strip()}".strip())
    chat.tell_news()


def _usage(chat: Chat, _: str) -> None:
    for row in usage_rows(chat):
        chat.renderer.say(row)


def usage_rows(chat: Chat) -> list[str]:
    """Return the tokens of this session, and of the last 24 hours by source."""
    rows = []
    calls = sum(turn.usage.calls for turn in chat.conversation.turns)
    sent = sum(turn.usage.input for turn in chat.conversation.turns)
    got = sum(turn.usage.output for turn in chat.conversation.turns)
    rows.append(f"this session: {calls} model calls, {sent} tokens in, {got} out")
    if chat.assistant.store:
        since = chat.assistant.now() - timedelta(days=1)
        for source, usage in sorted(chat.assistant.store.usage(since).items()):
            rows.append(
                f"last 24 h, {source}: {usage.calls} model calls, {usage.input} tokens in "
                f"({usage.cached} from cache), {usage.output} out"
            )
    return rows


def _model(chat: Chat, rest: str) -> None:
    if not rest:
        chat.renderer.say(f"{chat.assistant.provider.name} (/model NAME changes it for this chat)")
        return
    chat.assistant.use_model(rest)
    chat.renderer.say(f"From now on: {chat.assistant.provider.name}")


def _undo(chat: Chat, _: str) -> None:
    turn = chat.conversation.undo()
    if turn is None:
        raise UsageError("There is no turn to take back in this session. Next step: /sessions.")
    chat.renderer.say(f"Taken back: {one_line(turn.messages[0].text, 80)}")
    if chat.assistant.hook:
        chat.assistant.hook.work_off()  # so that the notes of the turn are there to be undone
    for change in chat.assistant.history.of_turn(turn.id):
        chat.assistant.history.undo(change.id)
        chat.renderer.say(f"and its change: {change.what}")


def _why(chat: Chat, rest: str) -> None:
    from assistant.commands.memory import place, why

    if not rest:
        raise UsageError("/why needs a few words of the memory. Next step: /memory lists them.")
    why(place(), rest, as_json=False)


COMMANDS: dict[str, tuple[str, Command]] = {
    "help": ("what there is", _help),
    "new": ("start a new session", _new),
    "sessions": ("recent sessions; with words: search them", _sessions),
    "memory": ("what is kept in USER.md and MEMORY.md", _memory),
    "notes": ("the notes of today and yesterday", _notes),
    "skills": ("the skills there are", _skills),
    "skill": ("use a skill: /skill NAME what to do", _skill),
    "usage": ("tokens of this session and the last day", _usage),
    "model": ("the model; with a name: change it for this chat", _model),
    "undo": ("take the last turn back", _undo),
    "why": ("where a memory comes from", _why),
    "quit": ("leave", lambda chat, rest: None),
}
