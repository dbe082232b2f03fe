"""How fast search is, warm and cold, and what building and keeping the index costs.

Usage: python -m benchmarks.search [--large]   (--large adds 100,000 chunks: some minutes)

The chunks of the timed homes get random vectors, because what is timed does not depend on them; the
questions are embedded for real.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import time
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import numpy as np

from assistant.config import Config, Environment
from assistant.home import Home
from assistant.recall import Recall
from benchmarks.measure import (
    Row,
    cpu_of,
    home_environment,
    percentile,
    report,
    run,
    scratch,
    seconds_of,
)
from memory.index import Index

WORDS = (
    "harbour ferry ticket oolong kettle ladder invoice printer toner garden fence neighbour violin lesson"
    " dentist passport tyre bicycle saddle recipe cardamom server port backup router landlord lease kitchen"
    " lamp curtain allergy walnut sister Graz Linz meeting budget launch contract parcel courier library"
).split()
QUESTIONS = (
    "Which port does the backup server use?",
    "When is the dentist appointment?",
    "What did my sister say about the violin lesson?",
    "Where did I put the passport?",
    "How much was the courier?",
    "invoice INV-4711",
    "what did we decide about the kitchen lamp last spring?",
    "我妹妹住在哪里？",
)


def sentence(rng: random.Random) -> str:
    """Return a note of some twelve words."""
    return (
        " ".join(rng.choice(WORDS) for _ in range(rng.randint(6, 18))) + f" {rng.randint(1, 9999)}."
    )


def fill(home: Home, notes: int, per_day: int, rng: random.Random) -> None:
    """Write daily notes, ``notes`` in all."""
    home.create()
    start = date(2026, 11, 30)
    for day in range(notes // per_day):
        path = home.note(start - timedelta(days=day))
        path.write_text("# x\n\n" + "".join(f"- {sentence(rng)}\n" for _ in range(per_day)))


def recall(home: Home) -> Recall:
    """Return the search over a home, without sessions."""
    return Recall(
        home,
        Config(timezone="UTC"),
        Environment({}),
        store=None,
        zone=UTC,
        today=lambda: date(2026, 12, 1),
    )


def random_vectors(index: Index, model: str) -> None:
    """Give every chunk a random vector."""
    rng = np.random.default_rng(1)
    while batch := index.unembedded(model, 5_000):
        table = rng.standard_normal((len(batch), 384)).astype(np.float32)
        table /= np.linalg.norm(table, axis=1, keepdims=True)
        index.put_vectors(
            model,
            [(d, v.astype(np.float16).tobytes()) for (d, _), v in zip(batch, table, strict=True)],
        )


def timed(home: Home, size: int, p50: float | None, p95: float) -> list[Row]:
    """Time warm searches over a home."""
    there = recall(home)
    there.refresh(600)
    embedder = there.embedder()
    assert embedder is not None
    random_vectors(there.index, embedder.fingerprint)
    there.hybrid.warm()
    for question in QUESTIONS:
        there.search(question)
    times = []
    for round in range(12):
        for question in QUESTIONS:
            asked = f"{question} {round}"  # a question asked before costs no embedding
            times.append(1000 * seconds_of(lambda q=asked: there.search(q)))
    there.stop()
    rows = [Row(f"warm search, {size:,} chunks: p95", percentile(times, 0.95), p95, "ms")]
    middle = percentile(times, 0.5)
    if p50 is not None:
        rows.insert(0, Row(f"warm search, {size:,} chunks: p50", middle, p50, "ms"))
    else:
        print(f"warm search, {size:,} chunks: p50 {middle:.1f} ms")
    return rows


def cold(home: Home) -> list[Row]:
    """Measure a search as a process of its own."""
    search = [sys.executable, "-m", "assistant.cli", "memory", "search", "which port is it?"]
    cpu, memory = run(search, home_environment(str(home.root.parent)), times=3)
    return [
        Row("cold reverie memory search, 10,000 chunks: CPU", cpu, 2, "s"),
        Row("cold reverie memory search, 10,000 chunks: memory", memory, 300, "MB"),
    ]


def building(folder: Path) -> list[Row]:
    """Measure the index over 501 notes of 1.6 MB: words, vectors, a second run, one changed note."""
    rng = random.Random(3)
    home = Home(folder / "notes" / "home")
    home.root.parent.mkdir()
    home.create()
    for number in range(501):
        path = home.note(date(2026, 11, 30) - timedelta(days=number))
        text = "".join(f"- {sentence(rng)}\n" for _ in range(39))
        path.write_text("# x\n\n" + text)
    size = sum(path.stat().st_size for path in home.notes.glob("*.md"))
    there = recall(home)
    words = cpu_of(lambda: there.refresh(600))
    found = there.search("invoice printer")
    assert found.hits
    embedder = there.embedder()
    assert embedder is not None
    batch = there.index.unembedded(embedder.fingerprint, 64)
    tokens = sum(embedder._model.token_count(text) for _, text in batch)  # type: ignore[attr-defined]
    vectors = cpu_of(lambda: embedder.embed_documents([text for _, text in batch]))
    random_vectors(there.index, embedder.fingerprint)
    again = seconds_of(lambda: recall(home).refresh(600))
    path = home.note(date(2026, 11, 30))
    path.write_text(path.read_text() + "- the zither is in the attic\n")
    os.utime(path, (time.time(), time.time()))
    there.hybrid.warm()
    time.sleep(0.6)  # past the half second for which what was looked at counts as unchanged
    start = time.perf_counter()
    hits = there.search("where is the zither").hits
    changed = time.perf_counter() - start
    assert hits and "zither" in hits[0].text
    missing, _ = there.index.count_unembedded(embedder.fingerprint)
    there.stop()
    return [
        Row(f"501 notes ({size / 1e6:.1f} MB), answering by words: CPU", words, 3, "s"),
        Row("vectors: CPU a token", 1000 * vectors / tokens, 1.5, "ms"),
        Row("a second run over unchanged notes", again, 1, "s"),
        Row("one changed note: searchable after", changed + 0.5, 1, "s"),
        Row("one changed note: chunks to embed", missing, 1, "chunks"),
    ]


def main() -> int:
    """Measure and report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--large", action="store_true")
    large = parser.parse_args().large
    rows: list[Row] = []
    with scratch() as folder:
        home = Home(Path(folder) / "ten" / "home")
        home.root.parent.mkdir()
        fill(home, 10_000, 10, random.Random(1))
        rows += timed(home, 10_000, 10, 25)
        rows += cold(home)
        rows += building(Path(folder))
        if large:
            home = Home(Path(folder) / "hundred" / "home")
            home.root.parent.mkdir()
            fill(home, 100_000, 100, random.Random(2))
            rows += timed(home, 100_000, None, 60)
    print(f"({datetime.now(UTC):%Y-%m-%d %H:%M})")
    return report(rows)


if __name__ == "__main__":
    sys.exit(main())
