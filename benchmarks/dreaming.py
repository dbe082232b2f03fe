"""Dreaming: three labelled months, night by night, by the deterministic engine alone.

Usage: python -m benchmarks.dreaming [MONTH.jsonl ...] [--show] [--words]. The format of a month is in the
README of tests/data/months. Each night is dreamt with the real embedder (without it: --words); then the
memory files are compared with the gold, and what is not in them is asked of memory_search by its own words.
exit 1 below a bar.
"""

from __future__ import annotations

import json
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from datetime import time as clock
from functools import cache
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np

from benchmarks.measure import ROOT, Row, report, scratch
from dreaming.candidates import Vectors
from dreaming.dream import Dreamer, Home, Report
from dreaming.nights import digests
from memory.embedders import Embedder, make_embedder
from memory.entries import MemoryFile, same_key
from memory.index import Index
from memory.notes import NoteBook, short_id
from memory.search import HybridSearch
from memory.sessions import Session, SessionStore
from memory.sources import Sources, embed_missing
from memory.transcript import Message, Turn, new_turn_id

MONTHS = ROOT / "tests" / "data" / "months"
ZONE = ZoneInfo("Europe/Berlin")
WORDS_ONLY = "--words" in sys.argv
BAD = ("junk", "untrusted", "event")


@dataclass
class Month:
    """A labelled month: its items in order, and the gold."""

    name: str
    items: list[dict[str, Any]]
    known: list[dict[str, Any]]
    gone: list[dict[str, Any]]

    @classmethod
    def read(cls, path: Path) -> Month:
        """Read the month at ``path`` and the gold beside it."""
        lines = path.read_text(encoding="utf-8").splitlines()
        gold = json.loads(path.with_suffix(".gold.json").read_text(encoding="utf-8"))
        return cls(
            path.stem,
            [json.loads(row) for row in lines if row.strip()],
            gold["known"],
            gold["gone"],
        )

    @property
    def days(self) -> list[date]:
        """The days that have items."""
        return sorted({date.fromisoformat(item["day"]) for item in self.items})


@cache
def embedder() -> Embedder | None:
    """The default embedder, loaded once."""
    return None if WORDS_ONLY else make_embedder("auto")


@cache
def _vector(text: str) -> tuple[float, ...]:
    held = embedder()
    assert held is not None
    return tuple(held.embed_documents([text])[0])


def embed(texts: Sequence[str]) -> Vectors:
    """Return vectors, each text embedded once, as the index of a home keeps them."""
    return np.array([_vector(text) for text in texts], np.float32)


@dataclass
class Place:
    """A home in which a month is lived through."""

    root: Path
    month: Month
    now: datetime = field(init=False)

    def __post_init__(self) -> None:
        (self.root / "memory").mkdir(parents=True)
        self.store = SessionStore(self.root / "state.db")
        self.notes = NoteBook(self.root / "memory", self.root / ".lock")
        self.now = datetime.combine(self.month.days[0], clock(8), ZONE)
        self.dreamer = Dreamer(
            home=Home(
                root=self.root,
                user=self.root / "USER.md",
                memory=self.root / "MEMORY.md",
                archive=self.root / "memory" / "archive.md",
                diary=self.root / "DREAMS.md",
                lock=self.root / ".lock",
                user_limit=1375,
                memory_limit=2200,
            ),
            notes=self.notes,
            store=self.store,
            zone=ZONE,
            now=lambda: self.now,
            embed=embed if embedder() else None,
        )

    def live(self, day: date) -> None:
        """Write what a day brings: notes as the hook writes them, bullets as they stand, chats."""
        rows = [f"# {day.isoformat()}\n"]
        session: Session | None = None
        for item in (i for i in self.month.items if i["day"] == day.isoformat()):
            at = datetime.combine(day, clock.fromisoformat(item.get("at") or "12:00"), ZONE)
            if "note" in item:
                text = " ".join(item["note"].split())
                if item.get("who"):
                    turn = short_id(new_turn_id(at))
                    text += (
                        f" ({item.get('kind') or 'fact'}, {item['who']}, {at:%H:%M}, turn {turn})"
                    )
                rows.append(f"- {text}")
                continue
            if session is None:
                session = Session.begin(source="chat", cwd="", model="m", system_prompt="", now=at)
                self.store.adopt(session)
            messages = [Message(role="user", text=item["said"], created=at)]
            if item.get("tool"):
                messages.append(
                    Message(
                        role="tool",
                        text=item["tool"],
                        created=at,
                        tool_name="fetch_url",
                        call_id="c",
                    )
                )
            messages.append(Message(role="assistant", text=item.get("reply") or "ok", created=at))
            turn_id = new_turn_id(at)
            self.store.finish(
                Turn(
                    id=turn_id,
                    session=session.id,
                    started=at,
                    messages=tuple(messages),
                    status="done",
                )
            )
        self.notes.path(day).write_text("\n".join(rows) + "\n", encoding="utf-8")

    def dream(self, day: date) -> Report:
        """Dream the night after a day."""
        self.now = datetime.combine(day + timedelta(days=1), clock(3), ZONE)
        found = self.dreamer.dream(day)
        self.dreamer.close()
        return found

    @property
    def lines(self) -> list[str]:
        """The memory lines as they stand."""
        home = self.dreamer.home
        return [e.text for p in (home.user, home.memory) for e in MemoryFile.read(p).entries]

    def first_in_recall(self, any_of: Sequence[Sequence[str]], today: date) -> bool:
        """Whether memory_search, asked by the words of a fact, has the fact first."""
        index = Index(self.root / "index")
        sources = Sources(self.root, store=self.store, zone=ZONE)
        sources.update(index)
        if held := embedder():
            embed_missing(index, held)
        search = HybridSearch(index, embedder, lambda: today)
        for words in any_of:
            hits = search.search(" ".join(words), None, 1).hits
            if hits and holds(hits[0].text, any_of):
                return True
        return False


def holds(line: str, any_of: Sequence[Sequence[str]]) -> bool:
    """Whether a line holds all words of one of the alternatives."""
    low = line.casefold()
    return any(all(word.casefold() in low for word in words) for words in any_of)


def labels(month: Month) -> dict[str, str]:
    """Return the label of each item by its key, a harmful one only where no other item says the same."""
    found: dict[str, str] = {}
    for item in month.items:
        for key in digests(item.get("note") or item["said"])[:1]:
            label = item["gold"]
            if key not in found or found[key].startswith(BAD):
                found[key] = label
    return found


def judged(decision: Any, known: Mapping[str, str], month: Month) -> str:
    """Return the label of a promoted line: that of the sources it was made of, the best of them."""
    names = []
    for source in decision.candidate.sources:
        for key in digests(source.text)[:1]:
            if key in known:
                names.append(known[key])
                continue
            inside = [
                i["gold"]
                for i in month.items
                if "said" in i and same_key(source.text) in same_key(i["said"])
            ]
            names += inside[:1]
    good = [n for n in names if not n.startswith(BAD)]
    return (good or names or ["unknown"])[0]


def score(month: Month, show: bool) -> list[Row]:
    """Live through a month and return its rows."""
    known = labels(month)
    promoted: Counter[str] = Counter()
    bad: list[str] = []
    with scratch() as name_of_folder:
        folder = Path(name_of_folder)
        place = Place(folder / "home", month)
        spent = time.process_time()
        for day in month.days:
            place.live(day)
            for decision in place.dream(day).taken:
                label = judged(decision, known, month).split(":")[0]
                promoted[label] += 1
                if label in (*BAD, "unknown"):
                    bad.append(f"{label}: {decision.text}")
        spent = time.process_time() - spent
        lines = place.lines
        facts = {row["id"]: row["any"] for row in month.known}
        held = {
            name for name, any_of in facts.items() if any(holds(line, any_of) for line in lines)
        }
        today = month.days[-1] + timedelta(days=1)
        found = {
            n
            for n, any_of in facts.items()
            if n not in held and place.first_in_recall(any_of, today)
        }
        old = [(row["id"], line) for row in month.gone for line in lines if holds(line, row["any"])]
        if show:
            for name in facts:
                if name not in held:
                    print(f"  {'recall' if name in found else 'MISSED'}: {name} {facts[name]}")
            for text in bad:
                print(f"  bad: {text}")
            for name, line in old:
                print(f"  contradiction: {name}: {line}")
            print("\n".join(f"    {line}" for line in lines))
        total = sum(promoted.values())
        junk = sum(n for label, n in promoted.items() if label in (*BAD, "unknown"))
        again = {path.name: path.read_bytes() for path in folder.glob("home/*.md")}
        place.dream(month.days[-1])
        same = again == {path.name: path.read_bytes() for path in folder.glob("home/*.md")}
    holiday = at_once(month)
    name = month.name
    return [
        _more(
            f"{name}: known, in memory or first in recall",
            (len(held) + len(found)) / len(facts),
            0.9,
        ),
        _more(f"{name}: of these in the memory files", len(held) / len(facts), 0.0),
        _more(f"{name}: promoted lines", total, 1),
        _less(f"{name}: junk among them", junk / max(total, 1), 0.03),
        _less(f"{name}: contradictions left", len(old), 0),
        _less(f"{name}: from untrusted text", promoted["untrusted"], 0),
        _more(f"{name}: the last night again changes nothing", int(same), 1),
        _less(
            f"{name}: facts that differ when dreamt in one sitting", len(holiday ^ set(lines)), 0
        ),
        _less(f"{name}: CPU of the month", spent, 10.0 * len(month.days) / 28, "s"),
    ]


def _more(what: str, figure: float, bar: float) -> Row:
    return Row(what, figure, bar, "", at_most=False)


def _less(what: str, figure: float, bar: float, unit: str = "") -> Row:
    return Row(what, figure, bar, unit)


def at_once(month: Month) -> set[str]:
    """Return the memory lines after a month that was dreamt in one sitting."""
    with scratch() as name_of_folder:
        folder = Path(name_of_folder)
        place = Place(folder / "home", month)
        for day in month.days:
            place.live(day)
        while days := place.dreamer.owed(month.days[-1])[:14]:
            for day in days:
                place.dream(day)
        return set(place.lines)


def main() -> int:
    """Score the months."""
    paths = [Path(a) for a in sys.argv[1:] if not a.startswith("--")] or sorted(
        MONTHS.glob("*.jsonl")
    )
    rows = [row for path in paths for row in score(Month.read(path), "--show" in sys.argv)]
    return report(rows)


if __name__ == "__main__":
    sys.exit(main())
