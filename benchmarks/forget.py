"""Forgetting in a home of 100,000 messages and three years of notes: seconds, and bytes that remain."""

from __future__ import annotations

import random
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

from assistant.forget import forget, holding
from assistant.history import History
from assistant.home import Home
from benchmarks.archive import fill
from benchmarks.measure import Row, report, scratch, seconds_of
from memory import db
from memory.forgotten import Needle
from memory.notes import Note, NoteBook
from memory.sessions import SessionStore

FACT = "allergic to Brazil nuts"


def main() -> int:
    """Build the home, forget, and look at every byte."""
    rng = random.Random(5)
    with scratch() as folder:
        home = Home(Path(folder) / "home")
        home.create()
        store = SessionStore(home.database)
        fill(store, rng)
        with db.transaction(store.connection()) as connection:
            for id in rng.sample(range(1, 100_001), 60):
                connection.execute(
                    "UPDATE messages SET text = text || '. I am ' || ? || '.' WHERE id = ?",
                    (FACT, id),
                )
        book, history = NoteBook(home.notes, home.lock), History(home.root, home.lock)
        start = datetime(2023, 12, 1, 9, tzinfo=UTC)
        history.keep_hand_edits()
        for day in range(3 * 365):
            when = start + timedelta(days=day)
            texts = [
                f"I met visitor {day} in room {day % 40}",
                f"the parcel {day} weighs {day % 9} kg",
            ]
            if day % 90 == 0:
                texts.append(f"I am {FACT}, said doctor {day}")
            book.add(Note(kind="fact", text=t, who="you", turn=day + 1, when=when) for t in texts)
            history.record(f"Notes: {texts[-1]}", [book.path(when.date())], turn=day + 1)
        before = len(list(holding(home.root, Needle(FACT))))
        seconds = seconds_of(lambda: forget(home, store, history, FACT, datetime.now(UTC)))
        after = len(list(holding(home.root, Needle(FACT))))
        kept = len(history.changes(5_000))
        store.close()
    print(f"{before} files held it before; {kept} changes are left in the history")
    return report(
        [
            Row("forget: seconds", seconds, 30, "s"),
            Row("forget: files that still hold it", after, 0, "files"),
        ]
    )


if __name__ == "__main__":
    sys.exit(main())
