"""Recall over notes: 36 planted answers aged 0 to 720 days, and 100 Chinese questions over 400 notes.

Usage: python -m benchmarks.notes. The data are in tests/data/recall; the planted facts lie among
distractors that this file makes, six a day for two years, many with the words of the questions.
"""

from __future__ import annotations

import json
import random
import re
import sys
from datetime import UTC, date, timedelta
from pathlib import Path
from typing import Any

from assistant.config import Config, Environment
from assistant.home import Home
from assistant.recall import Recall
from benchmarks.measure import ROOT, Row, report, scratch
from benchmarks.recall import embed, embedder
from memory.search import Hit
from memory.tokens import STOP_WORDS

DATA = ROOT / "tests" / "data" / "recall"
TODAY = date(2026, 12, 1)
WHO = (
    "Mira",
    "the neighbour",
    "my boss",
    "the landlord",
    "Jonas",
    "my sister",
    "the plumber",
    "Ines",
)
TOPICS = (
    "garden ladder kettle ferry weather concert museum sweater podcast marathon orchestra festival lecture"
    " novel mushroom glacier harbour carnival theatre sunset telescope puzzle recipe curtain bakery market"
    " tram bridge"
    " violin dolphin comet castle picnic lantern parade poster balcony candle chestnut meadow"
).split()
NEAR = 0.05
"""The share of distractors with words of the questions: with it SQLite's FTS5 finds about what it found in
the reference that the bar comes from."""
DID = (
    "talked about {x} with {w}",
    "{w} asked about {x} and had to leave early",
    "read an article on {x}, not that good",
    "could not find the time for {x} today",
    "{w} sent a photo of {x}",
    "thought about {x} on the way to work",
    "{w} will call again about {x} on Friday",
)


def rows(name: str) -> list[dict[str, Any]]:
    """Return the objects of a data file."""
    return [json.loads(line) for line in (DATA / name).read_text(encoding="utf-8").splitlines()]


def searched(home: Home, meaning: bool) -> Recall:
    """Return the search over a home, all indexed; without ``meaning`` by words alone."""
    recall = Recall(
        home,
        Config.model_validate(
            {"timezone": "UTC", "memory": {"embedder": "auto" if meaning else "none"}}
        ),
        Environment({}),
        store=None,
        zone=UTC,
        today=lambda: TODAY,
    )
    recall.refresh(600)
    if meaning and (made := embedder()):
        embed(recall.index, made)
    return recall


def find(recall: Recall, question: str, limit: int) -> tuple[Hit, ...]:
    """Return the hits for a question."""
    return recall.search(question, None, limit).hits


def aged(folder: Path, meaning: bool) -> tuple[int, int]:
    """Return how many planted answers stand in the first six, and how many of their snippets show it."""
    rng = random.Random(7)
    home = Home(folder / f"aged-{meaning}")
    home.create()
    facts = rows("aged.jsonl")
    nouns = sorted({w for f in facts for w in re.findall(r"[a-z]{5,}", f["question"].lower())})
    days: dict[date, list[str]] = {}
    for back in range(721):
        day = TODAY - timedelta(days=back)
        for _ in range(6):
            known = nouns if rng.random() < NEAR else TOPICS
            topic = " and the ".join(rng.sample(known, 2))
            text = rng.choice(DID).format(x=f"the {topic}", w=rng.choice(WHO))
            days.setdefault(day, []).append(text)
    for number, fact in enumerate(facts):
        days[TODAY - timedelta(days=round(720 * number / (len(facts) - 1)))].insert(3, fact["fact"])
    for day, texts in days.items():
        home.note(day).write_text("# x\n\n" + "".join(f"- {text}\n" for text in texts))
    if not meaning:
        print(f"aged notes by SQLite's FTS5: {by_fts5(home, facts)} of 36")
    recall = searched(home, meaning)
    found = shown = 0
    for fact in facts:
        hits = find(recall, fact["question"], 6)
        right = [hit for hit in hits if fact["fact"][:30] in hit.text]
        found += bool(right)
        shown += any(fact["answer"].lower() in hit.snippet.lower() for hit in right)
        if not right:
            print(f"  missed ({'all' if meaning else 'words'}): {fact['question']}")
    recall.stop()
    return found, shown


def by_fts5(home: Home, facts: list[dict[str, Any]]) -> int:
    """Return how many planted answers FTS5 (porter, words joined by OR) has in its first six."""
    import sqlite3

    table = sqlite3.connect(":memory:")
    table.execute("CREATE VIRTUAL TABLE t USING fts5(body, tokenize='porter unicode61')")
    for path in home.notes.glob("*.md"):
        lines = [line[2:] for line in path.read_text().splitlines() if line.startswith("- ")]
        table.executemany("INSERT INTO t VALUES (?)", [(line,) for line in lines])
    found = 0
    for fact in facts:
        words = [w for w in re.findall(r"\w+", fact["question"].lower()) if w not in STOP_WORDS]
        match = " OR ".join(f'"{word}"' for word in words)
        got = table.execute("SELECT body FROM t WHERE t MATCH ? ORDER BY rank LIMIT 6", (match,))
        found += any(fact["fact"] == row[0] for row in got)
    return found


def chinese(folder: Path, meaning: bool) -> dict[str, float]:
    """Return recall@5 over all questions, and over those with and without words in common."""
    home = Home(folder / f"zh-{meaning}")
    folder.mkdir(exist_ok=True)
    home.create()
    days: dict[str, list[str]] = {}
    texts: dict[str, str] = {}
    for row in (data := rows("zh.jsonl")):
        if "id" in row:
            days.setdefault(row["date"], []).append(row["text"])
            texts[row["id"]] = row["text"]
    for day, held in days.items():
        home.note(date.fromisoformat(day)).write_text("".join(f"- {text}\n" for text in held))
    recall = searched(home, meaning)
    got: dict[str, list[bool]] = {"all": [], "shared": [], "apart": []}
    for row in data:
        if "question" in row:
            hits = find(recall, row["question"], 5)
            right = any(hit.text == texts[row["answer"]] for hit in hits)
            got["all"].append(right)
            got["shared" if row["shared"] else "apart"].append(right)
            if meaning and not right:
                print(f"  missed: {row['question']} ({texts[row['answer']]})")
    recall.stop()
    return {name: sum(values) / len(values) for name, values in got.items()}


def main() -> int:
    """Measure and report."""
    with scratch() as name:
        folder = Path(name)
        found, shown = aged(folder, True)
        by_words, _ = aged(folder, False)
        both, words = chinese(folder, True), chinese(folder, False)
    print(f"aged notes by words alone: {by_words} of 36")
    print(
        f"Chinese: with words in common {both['shared']:.2f}, without {both['apart']:.2f};"
        f" by words alone {words['shared']:.2f}, {words['apart']:.2f}"
    )
    return report(
        [
            Row(
                "notes aged 0 to 720 days: found in the first 6", found, 36, "of 36", at_most=False
            ),
            Row(
                "notes aged 0 to 720 days: answer in the snippet", shown, 36, "of 36", at_most=False
            ),
            Row("Chinese: recall@5", both["all"], 0.90, "", at_most=False),
            Row("Chinese: recall@5 by words alone", words["all"], 0.60, "", at_most=False),
        ]
    )


if __name__ == "__main__":
    sys.exit(main())
