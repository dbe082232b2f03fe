"""Owns explicit memories and open doubts: what the user asked to remember is stored in that turn, also
where the model did not, and two memories that may contradict each other are asked about once."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date, timedelta
from typing import TYPE_CHECKING

from assistant.tools.memory import WRITTEN
from memory import entries
from memory.clean import one_line
from memory.doubts import Asked, Doubt, Memory, doubts
from memory.entries import MemoryFile, MemoryRefused, Operation
from memory.errors import StorageError
from memory.facts import wish
from memory.lock import Locked
from memory.notes import MERGED_DAYS, strip_source
from memory.transcript import Message, Turn

if TYPE_CHECKING:
    from assistant.app import Assistant
    from assistant.tools.memory import Target

_ANY_SIZE = 1_000_000
"""The user's own wish is stored whatever the size; the post-turn hook then makes room."""
_SINCE = re.compile(r"\((?:since )?(\d{4}-\d\d-\d\d)\)\s*$")


def keep_wish(app: Assistant, turn: Turn) -> str:
    """Store what the user asked to remember in so many words, if the turn did not; return a line
    that quotes it, or says why not; empty where nothing was asked."""
    if turn.status != "done" or any(map(_was_stored, turn.messages)):
        return ""
    wished = wish(turn.messages[0].text, turn.started.astimezone(app.zone).date())
    if wished is None or any(m.tool_name == "forget_everywhere" for m in turn.messages):
        return ""
    text = app.redact(wished.text)
    if text != wished.text:
        return "Not stored in memory: it holds a secret."
    target: Target = "user" if wished.about_user else "memory"
    place = app.places[target]
    try:
        app.keep_hand_edit(place.path)
        before, after, done = entries.change(
            place.path,
            [Operation(action="add", text=text)],
            _ANY_SIZE,
            app.home.lock,
            app.now().date(),
        )
    except (MemoryRefused, Locked, OSError) as error:
        return f"Not stored in {place.path.name}: {error}"
    if before.raw != after.raw:
        app.memory_was_changed(target, done)
    return f"{place.path.name}, {one_line(done[0], 200)}"


def _was_stored(message: Message) -> bool:
    """Whether a message is the answer of the memory tool to something that it wrote."""
    return (
        message.tool_name == "memory"
        and not message.error
        and any(line.startswith(WRITTEN) for line in message.text.splitlines())
    )


def open_doubt(app: Assistant) -> Doubt | None:
    """Return two memories that may contradict each other and that were never asked about; from now
    on they count as asked about. None where there are none."""
    if app.store is None:
        return None
    asked = Asked(app.store)
    try:
        doubt = asked.first_new(doubts(list(_memories(app))))
        if doubt:
            asked.note(doubt, app.now())
    except StorageError:
        return None  # an archive that cannot be read is told elsewhere; a question can wait
    return doubt


def question(app: Assistant, doubt: Doubt) -> str:
    """Return the doubt as a question, with the dates."""
    sides = [f"“{m.text}” ({m.day or _since(app, m.text)})" for m in (doubt.old, doubt.new)]
    return f"Two memories may contradict each other: {' / '.join(sides)}. Which of them holds?"


def _memories(app: Assistant) -> Iterator[Memory]:
    """Yield what is known, oldest first: the memory files, then the notes of the last weeks."""
    known = set()
    for place in app.places.values():
        for entry in MemoryFile.read(place.path).entries:
            since = _SINCE.search(entry.text)
            text = _SINCE.sub("", entry.text).strip()
            known.add(text.casefold())
            yield Memory(text=text, day=date.fromisoformat(since[1]) if since else None)
    today = app.now().date()
    for back in range(MERGED_DAYS, -1, -1):
        day = today - timedelta(days=back)
        for text in map(strip_source, app.notes.texts(day)):
            if text.casefold() not in known:
                yield Memory(text=text, day=day)


def _since(app: Assistant, text: str) -> str:
    """Return the day on which a memory was first written, by the history."""
    for change, _, sign, _ in app.history.lines(text.split("\n")[0]):
        if sign == "+":
            return change.when.astimezone(app.zone).date().isoformat()
    return "no date known"
