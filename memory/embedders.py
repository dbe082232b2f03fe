"""Owns what an embedder is, and the adapter to sentence-transformers (an extra).

Vectors are unit length, so that the dot product is the cosine. Query and document sides are apart
because many models want other prompts for each.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any, Protocol


class EmbedderMissing(RuntimeError):
    """The package or the model of an embedder is not there; the message says how to get it."""


class Embedder(Protocol):
    """Turns texts into vectors."""

    name: str
    """Which model, as it is configured."""
    dimension: int
    """Length of each vector."""

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
