"""Owns how near two meanings are, comparably across questions, texts and embedders.

The cosine alone is a bad judge: some texts are near to everything ("hubs"), some questions too, and
unrelated texts have 0.8 with e5 and 0.05 with MiniLM. So each cosine is seen against what the same
question and the same text have with sentences that have nothing to do with either. After cross-domain
similarity local scaling (Conneau et al., "Word Translation Without Parallel Data", 2018), with fixed probes
in place of the other corpus, so that two notes are judged like ten thousand.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Literal

import numpy as np
import numpy.typing as npt

from memory.embedders import Embedder
from memory.index import Index

Floats = npt.NDArray[np.float32]
_CLOSEST = 10
"""Probes whose mean cosine tells how near to everything something is."""
_PROBES = (
    "The ferry leaves the harbour at noon.",
    "She prefers sourdough bread.",
    "The printer on the second floor is out of toner.",
    "Our team decided to postpone the launch.",
    "He is allergic to cats.",
    "Interest rates rose by a quarter point.",
    "The hiking trail was closed after the storm.",
    "Please renew the library card.",
    "I like jazz.",
    "My brother works at a bank.",
    "The password is on the fridge.",
    "We watched a film about whales.",
    "Remember to water the plants.",
    "The train was two hours late.",
    "Her birthday is in June.",
    "The server runs on port 8080.",
    "They painted the kitchen green.",
    "I am learning to play chess.",
    "The doctor said to rest.",
    "Lunch was soup and salad.",
    "What time is it?",
    "Where did you buy that?",
    "How do I fix the tap?",
    "Who called yesterday?",
    "今天下午去超市买菜。",
    "我妹妹在北京工作。",
    "会议改到了星期三。",
    "他不喜欢吃辣。",
    "这本书很有意思。",
    "孩子明天要考试。",
    "车停在地下车库。",
    "什么时候去医院？",
)


class Nearness:
    """Turns cosines into steps above unrelated, for one embedder. Its probes are embedded once and kept
    with the vectors of the index."""

    def __init__(self, embedder: Embedder, index: Index) -> None:
        told, asked = _kept(embedder, index)
        self._told, self._asked = told, asked
        usual = float(self.of_questions(asked).mean())
        self._usual = usual
        self._step = max((1.0 - usual) / 4, 1e-3)

    def of_questions(self, vectors: Floats) -> Floats:
        """Return how near questions are to everything: one number a vector."""
        return _closest(np.atleast_2d(vectors) @ self._told.T)

    def of_texts(self, vectors: Floats) -> Floats:
        """Return how near texts are to everything: one number a vector."""
        return _closest(np.atleast_2d(vectors) @ self._asked.T)

    def steps(self, question: Floats, cosines: Floats, of_texts: Floats | None = None) -> Floats:
        """Return how far above unrelated some texts are, given their cosines with a question, and with
        ``of_texts`` how near each of them is to everything."""
        near = cosines - self.of_questions(question)[0]
        near = near - of_texts + self._usual if of_texts is not None else near
        result: Floats = (near / self._step).astype(np.float32)
        return result


def _closest(cosines: Floats) -> Floats:
    mean: Floats = np.sort(cosines, axis=1)[:, -_CLOSEST:].mean(axis=1)
    return mean


def _kept(embedder: Embedder, index: Index) -> tuple[Floats, Floats]:
    """Return the probes as texts and as questions; embed them where the index does not have them."""
    return kept_vectors(embedder, index, "told", _PROBES), kept_vectors(
        embedder, index, "asked", _PROBES
    )


def kept_vectors(
    embedder: Embedder, index: Index, side: Literal["told", "asked"], texts: Sequence[str]
) -> Floats:
    """Return the vectors of ``texts`` (a row each), embedded as documents (``told``) or as questions
    (``asked``): each once, then kept with the vectors of the index."""
    model = embedder.fingerprint
    keys = [_digest(side, text) for text in texts]
    held: dict[bytes, bytes] = {}
    for start in range(0, len(keys), 500):
        part = keys[start : start + 500]
        marks = ",".join("?" * len(part))
        sql = f"SELECT digest, vector FROM vectors.vectors WHERE model = ? AND digest IN ({marks})"
        held |= {bytes(row[0]): row[1] for row in index.rows(sql, (model, *part))}
    missing = [text for key, text in zip(keys, texts, strict=True) if key not in held]
    if missing:
        embedded = (
            embedder.embed_documents(missing)
            if side == "told"
            else map(embedder.embed_query, missing)
        )
        fresh = {
            _digest(side, text): np.asarray(vector, np.float16).tobytes()
            for text, vector in zip(missing, embedded, strict=True)
        }
        index.put_vectors(model, list(fresh.items()))
        held |= fresh
    return np.stack([np.frombuffer(held[key], np.float16) for key in keys]).astype(np.float32)


def likeness(embedder: Embedder, index: Index, said: str, phrases: Sequence[str]) -> list[float]:
    """Return how alike ``said`` is to each phrase: 1 for the same, 0 for what sentences that have nothing
    to do with it have in common with it. Both sides are embedded as questions, as both ask for something."""
    if not phrases:
        return []
    vector = as_row(embedder.embed_query(said))
    base = float(
        _closest(np.atleast_2d(vector @ kept_vectors(embedder, index, "asked", _PROBES).T))[0]
    )
    cosines = kept_vectors(embedder, index, "asked", phrases) @ vector
    return [float(value) for value in (cosines - base) / max(1e-3, 1.0 - base)]


def _digest(side: str, text: str) -> bytes:
    return hashlib.blake2b(f"probe {side}: {text}".encode(), digest_size=16).digest()


def as_row(vector: Sequence[float]) -> Floats:
    """Return a vector as an array."""
    return np.asarray(vector, np.float32)
