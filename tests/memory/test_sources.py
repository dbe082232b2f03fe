"""What is searched: bad files, links, pipes and damage never keep the rest from being found."""

from __future__ import annotations

import os
import sqlite3
from datetime import UTC, date
from pathlib import Path

import pytest

from memory import sources, terms
from memory.chunks import section_chunks, tokens
from memory.index import Index
from memory.search import HybridSearch
from memory.sources import Sources, embed_missing


class Place:
    """A home with one good note, and a folder of the user's."""

    def __init__(self, root: Path) -> None:
        self.root = root / "home"
        self.folder = root / "folder"
        (self.root / "memory").mkdir(parents=True)
        self.folder.mkdir()
        (self.root / "memory" / "2026-11-30.md").write_text("- the heron nests by the mill\n")
        self.index = Index(self.root / "index")
        self.sources = Sources(self.root, [self.folder], store=None, zone=UTC)
        self.hybrid = HybridSearch(self.index, lambda: None, lambda: date(2026, 12, 1))

    def ask(self, question: str) -> list[str]:
        self.sources.update(self.index)
        return [hit.text for hit in self.hybrid.search(question).hits]

    def is_settled(self) -> bool:
        """Whether the heron is found, and nothing is left to do."""
        return self.ask("heron") == ["the heron nests by the mill"] and not self.sources.is_behind(
            self.index
        )


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_a_skill_with_an_impossible_date(place: Place) -> None:
    (place.root / "skills" / "bad").mkdir(parents=True)
    bad = place.root / "skills" / "bad" / "SKILL.md"
    bad.write_text("---\nname: bad\nwhen: 2026-99-99\ndescription: feeds owls\n---\nowls\n")
    assert place.is_settled()


def test_names_that_are_no_text(place: Place) -> None:
    Path(os.fsdecode(os.fsencode(str(place.folder)) + b"/caf\xe9.md")).write_text("a kettle\n")
    (place.folder / "two\nlines.md").write_text("a samovar\n")
    assert place.is_settled()
    assert place.ask("kettle") == ["a kettle"] and place.ask("samovar") == ["a samovar"]
    names = place.index.stamps()
    assert all(name.isprintable() for name in names) and len(names) == 3


def test_a_pipe_is_not_waited_for(place: Place) -> None:
    os.mkfifo(place.folder / "pipe.md")
    os.mkfifo(place.root / "DREAMS.md")
    assert place.is_settled()
    with pytest.raises(sources.LeftOut):
        sources._read(str(place.folder / "pipe.md"))


def test_links_lead_nowhere_else(place: Place, tmp_path: Path) -> None:
    (tmp_path / "secret.md").write_text("the secret is a cormorant\n")
    (place.folder / ".env").write_text("cormorant=1\n")
    (place.folder / "out.md").symlink_to(tmp_path / "secret.md")
    (place.folder / "hidden.md").symlink_to(place.folder / ".env")
    (place.folder / "gone.md").symlink_to(place.folder / "nothing.md")
    (place.folder / "loop.md").symlink_to(place.folder / "loop.md")
    (place.folder / "real.txt").write_text("a pelican\n")
    (place.folder / "inside.md").symlink_to(place.folder / "real.txt")
    assert place.is_settled()
    assert place.ask("cormorant") == []
    assert place.ask("pelican") == ["a pelican"]


def test_too_large_or_closed_is_left_out_and_named(place: Place) -> None:
    growing = place.folder / "growing.md"
    growing.write_text("a pelican\n")
    assert place.ask("pelican") == ["a pelican"]
    growing.write_bytes(b"a pelican\n" + b"x " * (sources.LARGEST // 2))
    assert place.is_settled()
    assert place.ask("pelican") == []
    assert "larger than 5 MB" in place.index.left_out()[0]
    growing.write_text("a stork\n")
    assert place.ask("stork") == ["a stork"] and place.index.left_out() == []


def test_damaged_vectors_are_made_anew(place: Place) -> None:
    from tests.memory.test_search import Blind

    place.ask("heron")
    embed_missing(place.index, Blind())
    place.index.close()
    for path in place.index.folder.glob("vectors.db*"):
        path.write_bytes(b"\x5a" * 8192)
    assert place.is_settled()
    assert embed_missing(place.index, Blind()) == 1
    place.index.heal()
    assert place.is_settled()
    assert place.index.count_unembedded("blind")[0] == 0  # sound vectors are kept


def test_headings(place: Place) -> None:
    path = place.folder / "plan.md"
    path.write_text("# Garden\n\n## Walnut\n\nprune in June\n\n## Empty bed\n")
    assert place.ask("walnut")[0] == "prune in June"
    assert place.ask("empty bed")[0] == "Empty bed"
    path.write_text("# Garden\n\n## Quince\n\nprune in June\n")
    assert place.ask("quince") == ["prune in June"] and place.ask("walnut") == []


def test_words_that_were_deleted_stay_nowhere(place: Place) -> None:
    path = place.folder / "plan.md"
    path.write_text("the password of the shed is flamingo\n")
    assert place.ask("flamingo")
    path.write_text("nothing\n")
    place.ask("nothing")
    place.index.prune()
    raw = sqlite3.connect(place.index.path)
    assert raw.execute("SELECT * FROM vocabulary WHERE term = 'flamingo'").fetchall() == []
    path.write_text("an ostrich and a flamingo\n")
    assert place.ask("flamingo") == place.ask("ostrich") == ["an ostrich and a flamingo"]
    assert place.is_settled()


def test_endless_words_are_cut() -> None:
    blob = "QUJD" * 20_000
    chunks = section_chunks(f"before\n{blob}\nafter\n")
    assert max(len(chunk.text) for chunk in chunks) <= 4_000 and len(chunks) > 10
    assert tokens(blob) > 1_000
    assert max(map(len, terms.terms(blob + " word"))) <= terms.LONGEST_TERM


def test_a_question_of_any_length(place: Place) -> None:
    assert place.ask("heron " + " ".join(f"word{i}" for i in range(50_000)))
