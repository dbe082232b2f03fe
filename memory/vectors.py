"""Owns finding the nearest vectors: exactly over the cache, or in Chroma.

Chroma (embedded, or a server that several machines share) holds a vector for each chunk under the
digest of what was embedded. Up to :data:`EXACT_UP_TO` chunks the exact scan of the cached vectors is
faster than any index (0.5 ms at 10,000), so a local Chroma is asked only above that.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import numpy.typing as npt

from memory.corpus import Corpus
from memory.index import Index
from memory.nearness import Nearness, as_row

log = logging.getLogger(__name__)
EXACT_UP_TO = 50_000
_BATCH = 1_000
Found = tuple[npt.NDArray[np.int64], npt.NDArray[np.float32], npt.NDArray[np.float32]]
"""Rows of the corpus, nearest first; how near they are, in steps above unrelated; and the same without
regard to texts that are near to everything."""


class ChromaMissing(RuntimeError):
    """Chroma cannot be opened or reached; the message says why. Keyword search serves meanwhile."""


class ExactVectors:
    """All vectors of a corpus as one matrix."""

    def __init__(
        self, index: Index, corpus: Corpus, model: str, dimension: int, nearness: Nearness
    ) -> None:
        self.state = (corpus.generation, index.meta("vectors"))
        """What it was made from."""
        rows = index.rows(
            "SELECT c.id, v.vector FROM chunks c JOIN vectors.vectors v ON v.digest = c.digest"
            " WHERE v.model = ?",
            (model,),
        )
        held = [row for row in rows if len(row[1]) == dimension * 2]
        ids = np.array([row[0] for row in held], np.int64)
        there, self._rows = corpus.rows_of(ids)
        raw = b"".join(row[1] for row in held)
        matrix = np.frombuffer(raw, np.float16).reshape(len(held), dimension)
        self._matrix = matrix[there].astype(np.float32)
        self._nearness = nearness
        self._of_texts = (
            nearness.of_texts(self._matrix) if len(self._rows) else np.empty(0, np.float32)
        )

    def __len__(self) -> int:
        return len(self._rows)

    def nearest(self, vector: Sequence[float], count: int) -> Found:
        """Return at most ``count`` rows of the corpus and how near they are, nearest first."""
        question = as_row(vector)
        cosines = self._matrix @ question
        if not len(cosines):
            return self._rows, cosines, cosines
        near = cosines - self._of_texts
        best = np.argpartition(-near, count)[:count] if len(near) > count else np.arange(len(near))
        best = best[np.argsort(-near[best], kind="stable")]
        steps = self._nearness.steps(question, cosines[best], self._of_texts[best])
        return self._rows[best], steps, self._nearness.steps(question, cosines[best])


class ChromaVectors:
    """A Chroma collection: in ``folder``, or on the server at ``address``. Raises :class:`ChromaMissing`."""

    def __init__(self, folder: Path, model: str, *, address: str = "", token: str = "") -> None:
        try:
            import chromadb
            from chromadb.config import Settings
        except (
            Exception
        ) as error:  # old SQLite, broken wheels: chromadb raises RuntimeError and more
            raise ChromaMissing(f"chromadb cannot be imported ({error}).") from error
        settings = Settings(anonymized_telemetry=False)
        try:
            if address:
                parts = urlsplit(address)
                self._client: Any = chromadb.HttpClient(
                    host=parts.hostname or "localhost",
                    port=parts.port or (443 if parts.scheme == "https" else 8000),
                    ssl=parts.scheme == "https",
                    headers={"Authorization": f"Bearer {token}", "X-Chroma-Token": token}
                    if token
                    else None,
                    settings=settings,
                )
            else:
                folder.mkdir(mode=0o700, parents=True, exist_ok=True)
                self._client = chromadb.PersistentClient(path=str(folder), settings=settings)
            name = "reverie-" + hashlib.sha256(model.encode()).hexdigest()[:16]
            self._collection = self._client.get_or_create_collection(
                name,
                embedding_function=None,
                metadata={"embedder": model},
                configuration={"hnsw": {"space": "cosine"}},
            )
            self.known: set[bytes] = {bytes.fromhex(id) for id in self._all_ids()}
        except Exception as error:  # any of the client's, the server's and the network's errors
            where = address or str(folder)
            raise ChromaMissing(f"Chroma at {where} cannot be used ({error}).") from error
        self._model = model
        self.is_server = bool(address)
        self.state = ""
        """What of the index this process brought it to; another process's work shows here only after it
        was opened anew."""

    def _all_ids(self) -> list[str]:
        found: list[str] = []
        while page := self._collection.get(include=[], limit=50_000, offset=len(found))["ids"]:
            found += page
        return found

    def synchronise(self, index: Index) -> int:
        """Bring Chroma to what the index holds; return how many vectors changed. Vectors that only a
        shared server has are taken from it, so that a second machine embeds nothing again."""
        wanted = {bytes(row[0]) for row in index.rows("SELECT DISTINCT digest FROM chunks")}
        gone, missing = self.known - wanted, wanted - self.known
        for some in _batches([digest.hex() for digest in gone]):
            self._collection.delete(ids=some)
        self.known -= gone
        cached = index.rows(
            "SELECT DISTINCT v.digest, v.vector FROM vectors.vectors v JOIN chunks c ON c.digest = v.digest"
            " WHERE v.model = ?",
            (self._model,),
        )
        held = {bytes(row[0]): row[1] for row in cached}
        new = [digest for digest in missing if digest in held]
        for part in _batches(new):
            vectors = [
                np.frombuffer(held[digest], np.float16).astype(np.float32) for digest in part
            ]
            self._collection.upsert(ids=[digest.hex() for digest in part], embeddings=vectors)
        self.known |= set(new)
        if self.is_server:
            self._fetch(index, [digest for digest in wanted & self.known if digest not in held])
        self.state = state_of(index)
        if not self.is_server:
            index.set_meta("chroma", self.state)
        return len(new) + len(gone)

    def _fetch(self, index: Index, digests: Sequence[bytes]) -> None:
        for part in _batches([digest.hex() for digest in digests]):
            got = self._collection.get(ids=part, include=["embeddings"])
            vectors = [np.asarray(vector, np.float16).tobytes() for vector in got["embeddings"]]
            index.put_vectors(
                self._model, list(zip(map(bytes.fromhex, got["ids"]), vectors, strict=True))
            )

    def nearest(
        self, index: Index, corpus: Corpus, vector: Sequence[float], count: int, nearness: Nearness
    ) -> Found:
        """Return at most ``count`` rows of the corpus and how near they are, nearest first. Raises
        :class:`ChromaMissing`."""
        try:
            got = self._collection.query(
                query_embeddings=[list(vector)], n_results=count, include=["embeddings"]
            )
        except Exception as error:  # as above
            raise ChromaMissing(f"Chroma did not answer ({error}).") from error
        digests = [bytes.fromhex(id) for id in got["ids"][0]]
        if not digests:
            return np.empty(0, np.int64), np.empty(0, np.float32), np.empty(0, np.float32)
        matrix = np.asarray(got["embeddings"][0], np.float32)
        question = as_row(vector)
        cosines = matrix @ question
        steps = nearness.steps(question, cosines, nearness.of_texts(matrix))
        plain = nearness.steps(question, cosines)
        near = {d: (s, p) for d, s, p in zip(digests, steps, plain, strict=True)}
        marks = ",".join("?" * len(digests))
        found = index.rows(f"SELECT id, digest FROM chunks WHERE digest IN ({marks})", digests)
        there, rows = corpus.rows_of(np.array([row[0] for row in found], np.int64))
        values = np.array([near[bytes(row[1])] for row in found], np.float32).reshape(-1, 2)[there]
        best = np.argsort(-values[:, 0], kind="stable")
        return rows[best], values[best, 0], values[best, 1]


def state_of(index: Index) -> str:
    """Return what changes with the chunks and the vectors of an index."""
    return f"{index.generation} {index.meta('vectors')}"


def _batches(values: Sequence[Any]) -> list[Sequence[Any]]:
    return [values[i : i + _BATCH] for i in range(0, len(values), _BATCH)]
