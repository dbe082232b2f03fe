"""Recall on LoCoMo through the product's own indexing and search.

``LocomoAdapter`` is what ``../shared/bench/locomo/locomo_retrieval.py`` scores. As a command:

    python -m benchmarks.recall             the bars on the development conversations, and the ablation
    python -m benchmarks.recall --fit       learns the weights of memory/ranking.py anew and prints them
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from datetime import date, datetime
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from benchmarks.measure import ROOT, Row, report
from memory import ranking
from memory.chunks import message_chunks
from memory.embedders import Embedder, make_embedder
from memory.index import Index
from memory.search import HybridSearch

SCRIPT = ROOT.parent / "shared" / "bench" / "locomo" / "locomo_retrieval.py"
_CACHE = Path(tempfile.gettempdir()) / "reverie-recall-vectors"
_shared: list[Embedder | None] = []


def embedder() -> Embedder | None:
    """Return the default embedder, loaded once for all conversations."""
    if not _shared:
        _shared.append(make_embedder("auto"))
    return _shared[0]


class LocomoAdapter:
    """The product's index and search over the turns of one conversation."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="reverie-recall-")
        self._made = embedder()

    def index(self, docs: Sequence[dict[str, str]]) -> None:
        """Index turns: ``{"id", "text", "session", "date", "speaker"}``."""
        self._ids = [doc["id"] for doc in docs]
        index = Index(Path(self._folder.name))
        sessions: dict[str, list[Any]] = {}
        for number, doc in enumerate(docs):
            sessions.setdefault(doc["session"], []).extend(
                message_chunks(
                    doc["text"],
                    message=number,
                    day=datetime.fromisoformat(doc["date"]).date(),
                    speaker=doc["speaker"],
                    trust="user",
                )
            )
        index.remove(index.stamps())
        for session, chunks in sessions.items():
            index.put(f"session:{session}", "sessions", "", chunks)
        if self._made is not None:
            embed(index, self._made)
        last = max(
            (datetime.fromisoformat(doc["date"]).date() for doc in docs), default=date.today()
        )
        self.hybrid = HybridSearch(index, lambda: self._made, lambda: last)

    def search(self, query: str, k: int) -> list[str]:
        """Return the ids of at most ``k`` turns, best first."""
        hits = self.hybrid.search(query, limit=k, floor=False).hits
        return list(dict.fromkeys(self._ids[hit.first] for hit in hits))

    def close(self) -> None:
        """Remove the index."""
        self.hybrid.index.close()
        self._folder.cleanup()


def embed(index: Index, made: Embedder) -> None:
    """Embed all chunks, through a cache beside the machine's temporary files: a minute a conversation."""
    import hashlib

    kept = _CACHE / hashlib.sha256(made.fingerprint.encode()).hexdigest()[:16]
    kept.mkdir(parents=True, exist_ok=True)
    while batch := index.unembedded(made.fingerprint, 256):
        rows = []
        for digest, text in batch:
            path = kept / digest.hex()
            if not path.exists():
                vector = np.asarray(made.embed_documents([text])[0], np.float16)
                path.write_bytes(vector.tobytes())
            rows.append((digest, path.read_bytes()))
        index.put_vectors(made.fingerprint, rows)


def script() -> ModuleType:
    """Return the scoring script as a module."""
    spec = importlib.util.spec_from_file_location("locomo_retrieval", SCRIPT)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


# -- measuring without the script's own loop: each conversation is indexed once ------------------


class Bench:
    """The development conversations, indexed once; scores any way to rank them."""

    def __init__(self) -> None:
        import json

        self._script = script()
        data = json.loads(Path(self._script.DATA).read_text())
        self.talks = []
        for talk in data["conversations"]:
            docs = self._script.turn_docs(talk)
            adapter = LocomoAdapter()
            adapter.index(docs)
            self.talks.append((talk, docs, adapter))

    def questions(self, talk: dict[str, Any]) -> Iterator[tuple[str, set[str]]]:
        """Yield the answerable questions and the turns that answer them."""
        for asked in talk["questions"]:
            gold = asked.get("gold_audited") or asked["gold"]
            if gold and asked["category"] != 5:
                yield asked["question"], set(gold)

    def signals(self, position: int) -> list[tuple[dict[str, Any], set[str]]]:
        """Return the signals of each question of a conversation, and the turns that answer it."""
        talk, _, adapter = self.talks[position]
        rows = []
        for question, gold in self.questions(talk):
            rows.append((adapter.hybrid.signals(question), gold))
        return rows

    def order(self, position: int) -> list[str]:
        """Return the id of the turn of each row of the corpus."""
        _, docs, adapter = self.talks[position]
        texts = adapter.hybrid.index.rows(
            "SELECT first FROM chunks c ORDER BY c.document, c.position"
        )
        return [docs[row[0]]["id"] for row in texts]

    def measure(
        self, held: Sequence[Any], rank: Callable[[int, dict[str, Any]], Any]
    ) -> dict[str, float]:
        """Return the mean metrics over all conversations, given each one's signals and a ranking."""
        turns, sessions = [], []
        for position, (talk, _, _) in enumerate(self.talks):
            ids = self.order(position)
            session_of = {doc["id"]: str(doc["session"]) for doc in talk["docs"]}
            for rows, gold in held[position]:
                total = rank(position, rows)
                best = [ids[i] for i in np.argsort(-total, kind="stable")[:50]]
                turns.append(self._script.score(best[:10], gold))
                found = [session_of[id] for id in best]
                sessions.append(self._script.score(found, {session_of[id] for id in gold}))
        mean = {name: float(np.mean([row[name] for row in turns])) for name in turns[0]}
        for name in ("recall@5", "recall@10"):
            mean[f"rollup {name}"] = float(np.mean([row[name] for row in sessions]))
        return mean


def fit(bench: Bench, held: Sequence[Any], names: Sequence[str], without: int | None) -> Any:
    """Return the weights that make the answers most likely under a softmax over all chunks, learned on
    all conversations but ``without``."""
    samples = []
    for position, rows in enumerate(held):
        if position == without:
            continue
        at = {id: i for i, id in enumerate(bench.order(position))}
        for row, gold in rows:
            size = len(next(iter(row.values())))
            zero = np.zeros(size, np.float32)
            table = np.stack([row.get(name, zero) for name in names], 1).astype(np.float64)
            samples.append((table, [at[id] for id in gold if id in at]))
    weights, moment, speed = np.zeros(len(names)), np.zeros(len(names)), np.zeros(len(names))
    for step in range(1, 301):  # Adam, full batch: the loss is convex
        slope = 2e-3 * weights
        for table, gold in samples:
            logits = table @ weights
            chance = np.exp(logits - logits.max())
            slope += (chance / chance.sum() @ table - table[gold].mean(0)) / len(samples)
        moment = 0.9 * moment + 0.1 * slope
        speed = 0.99 * speed + 0.01 * slope**2
        rate = 0.15 if step < 200 else 0.03
        weights -= rate * (moment / (1 - 0.9**step)) / (np.sqrt(speed / (1 - 0.99**step)) + 1e-9)
    return weights


def weighted(
    names: Sequence[str], weights: Sequence[float]
) -> Callable[[int, dict[str, Any]], Any]:
    """Return a ranking by the weighted sum of signals."""

    def rank(_: int, rows: dict[str, Any]) -> Any:
        return sum(w * rows[n] for n, w in zip(names, weights, strict=True) if n in rows)

    return rank


def show(name: str, got: dict[str, float]) -> None:
    """Print one line of the ablation."""
    print(
        f"{name:<34} {got['recall@5']:.3f} {got['recall@10']:.3f} {got['ndcg@10']:.3f}"
        f"  {got['rollup recall@5']:.3f} {got['rollup recall@10']:.3f}",
        flush=True,
    )


def learn(bench: Bench) -> None:
    """Learn the weights with each conversation held out in turn, then on all; print both."""
    names = [
        name for name in ranking.WEIGHTS if name not in ("exact", "recency", "source", "characters")
    ]
    held = [bench.signals(position) for position in range(len(bench.talks))]
    each = [fit(bench, held, names, position) for position in range(len(held))]
    show(
        "held out, one at a time",
        bench.measure(held, lambda at, rows: weighted(names, each[at])(at, rows)),
    )
    for name, weight in zip(names, fit(bench, held, names, None), strict=True):
        print(f'    "{name}": {weight:.2f},')


def ablation(bench: Bench) -> dict[str, float]:
    """Print what is lost without each signal, the weights left as they are."""
    held = [bench.signals(position) for position in range(len(bench.talks))]
    names = list(ranking.WEIGHTS)
    full = bench.measure(held, weighted(names, list(ranking.WEIGHTS.values())))
    print(f"{'':<34} {'r@5':>5} {'r@10':>5} {'ndcg':>5}  {'ses@5':>5} {'s@10':>5}")
    show("all signals", full)
    for name in names:
        kept = {n: 0.0 if n == name else w for n, w in ranking.WEIGHTS.items()}
        show(f"  without {name}", bench.measure(held, weighted(names, list(kept.values()))))
    words = {n: 0.0 if n.startswith("meaning") else w for n, w in ranking.WEIGHTS.items()}
    show("  without meaning at all", bench.measure(held, weighted(names, list(words.values()))))
    show("words alone (BM25)", bench.measure(held, weighted(["words"], [1.0])))
    show("meaning alone", bench.measure(held, weighted(["meaning"], [1.0])))
    return full


def main() -> int:
    """Measure or learn."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fit", action="store_true")
    wanted = parser.parse_args()
    bench = Bench()
    if wanted.fit:
        learn(bench)
        return 0
    got = ablation(bench)
    bars = (
        ("recall@5", 0.74),
        ("recall@10", 0.82),
        ("ndcg@10", 0.66),
        ("rollup recall@5", 0.90),
        ("rollup recall@10", 0.95),
    )
    return report([Row(f"LoCoMo dev: {n}", got[n], bar, "", at_most=False) for n, bar in bars])


if __name__ == "__main__":
    sys.exit(main())
