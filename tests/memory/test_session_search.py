"""session_search finds what people type, in any language, and reports what it cannot do."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memory.errors import StorageError
from memory.session_search import Scope, around, search
from memory.sessions import SessionStore
from tests.conftest import add_session


@pytest.fixture
def store(tmp_path: Path) -> SessionStore:
    store = SessionStore(tmp_path / "state.db")
    yield store
    store.close()


TYPED = [
    ("see #123 for the crash", "#123"),
    ("edit src/main.py first", "src/main.py"),
    ("I don't know", "don't"),
    ("it grew by 50% in May", "50%"),
    ("exactly 61.2% of them", "61.2%"),
    ("write to alice@example.com", "alice@example.com"),
    ("is it ok? yes", "ok?"),
    ("it costs $5 a day", "$5"),
    ("the pair a,b is sorted", "a,b"),
    ("rewrite it in C++ one day", "C++"),
    ("the box [x] is ticked", "[x]"),
    ("either a|b matches", "a|b"),
    ("look into ~/x for it", "~/x"),
    ("run scripts/deploy.sh now", "scripts/deploy.sh"),
    ("https://example.com/path?q=1 has it", "https://example.com/path?q=1"),
    ("the invoice INV-2931 is paid", "INV-2931"),
    ("call camelCaseName there", "camelCaseName"),
    ("snake_case_name here", "snake_case_name"),
    ("we use docker networking at home", '"docker networking"'),
    ("the chat-send button", '"chat-send"'),
    ("docker is fine", '"docker'),
    ("今天玩成语接龙游戏", "成语接龙"),
    ("今日は成語しりとりをした", "しりとり"),
    ("오늘 끝말잇기를 했다", "끝말잇기"),
    ("我用微信读书", "微信"),
    ("家里有一只猫和一只狗", "猫"),
    ("喜欢🎉这个表情", "🎉"),
    ("ran the deployments twice", "deployment"),
    ("they were running late", "run"),
    ("naïve café", "naive cafe"),
    ("مرحبا بالعالم", "بالعالم"),
    ("שלום עולם", "עולם"),
    ("emoji joiner 👩‍👩‍👧 family", "👩‍👩‍👧"),
]


@pytest.mark.parametrize(("text", "query"), TYPED)
def test_finds_what_people_type(store: SessionStore, text: str, query: str) -> None:
    for filler in ("the plan c of page b", "a b c d e x ok 5 50 61", "nothing of that kind"):
        add_session(store, (filler, "fine"))
    add_session(store, (text, "fine"))
    hits = search(store, query)
    assert hits, f"{query!r} did not find {text!r}"
    assert hits[0].snippet == text


def test_every_query_of_symbols_is_an_answer_and_no_error(store: SessionStore) -> None:
    add_session(store, ("hello world", "hi"))
    for query in (
        '"',
        '""',
        "*",
        "AND",
        "NOT",
        "OR a",
        "a NEAR b",
        "^",
        "body:hello",
        "(",
        "-",
        "'",
    ):
        search(store, query)


@settings(
    max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)
@given(text=st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=60))
def test_any_text_can_be_searched_for(store: SessionStore, text: str) -> None:
    search(store, text)


@settings(
    max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)
@given(
    words=st.lists(
        st.text(st.characters(categories=["Ll", "Lo", "Nd"]), min_size=2, max_size=9),
        min_size=1,
        max_size=5,
    )
)
def test_a_stored_text_is_found_by_each_of_its_words(store: SessionStore, words: list[str]) -> None:
    session = add_session(store, (" ".join(words), "ok"))
    for word in words:
        assert any(hit.session == session for hit in search(store, word, limit=500))


def test_chinese_words_without_spaces_rank_by_overlap(store: SessionStore) -> None:
    for text in ("我喜欢微信读书", "书架在客厅", "阅读偏好是历史"):
        add_session(store, (text, "好"))
    both = add_session(store, ("微信读书的书架里有阅读偏好", "好"))
    hits = search(store, "微信读书 书架 阅读偏好")
    assert hits[0].session == both
    assert len({hit.session for hit in hits}) == 4


def test_an_old_hit_is_found_among_newer_ones(store: SessionStore) -> None:
    old = add_session(
        store, ("my passport number ends with 4411", "noted"), at=datetime(2023, 1, 1, tzinfo=UTC)
    )
    for day in range(60):
        at = datetime(2026, 9, 1, tzinfo=UTC) + timedelta(days=day)
        add_session(store, (f"the number of day {day}", "my answer"), at=at)
    assert search(store, "passport number")[0].session == old


def test_jobs_do_not_bury_chats(store: SessionStore) -> None:
    for number in range(80):
        add_session(store, (f"backup report {number}", "backup done"), source="job")
    chats = {add_session(store, (f"is the backup {word}?", "yes")) for word in ("a", "b", "c")}
    assert {hit.session for hit in search(store, "backup", limit=3)} <= chats
    only = search(store, "backup", Scope(sources=("job",)), limit=5)
    assert {hit.source for hit in only} == {"job"}


def test_dates_narrow_the_search(store: SessionStore) -> None:
    for day in (3, 10, 17, 24):
        add_session(
            store, (f"we decided on plan {day}", "ok"), at=datetime(2026, 11, day, tzinfo=UTC)
        )
    scope = Scope(since=datetime(2026, 11, 9, tzinfo=UTC), until=datetime(2026, 11, 18, tzinfo=UTC))
    found = {hit.snippet for hit in search(store, "decided plan", scope)}
    assert found == {"we decided on plan 10", "we decided on plan 17"}


def test_undone_and_deleted_words_are_not_found(store: SessionStore) -> None:
    undone = add_session(store, ("the secret zebra", "ok"))
    store.undo_last(undone)
    deleted = add_session(store, ("the other zebra", "ok"))
    store.delete(deleted)
    assert search(store, "zebra") == []
    assert b"other zebra" not in store.path.read_bytes()


def test_snippets_show_the_match_in_a_long_text(store: SessionStore) -> None:
    add_session(store, ("filler " * 2000 + "the albatross lands " + "filler " * 2000, "ok"))
    hit = search(store, "albatross")[0]
    assert "albatross" in hit.snippet
    assert len(hit.snippet) <= 300


def test_surroundings_of_a_hit(store: SessionStore) -> None:
    add_session(store, ("one", "1"), ("two", "2"), ("three", "3"))
    hit = search(store, "two")[0]
    assert [m.text for m in around(store, hit.message_id, reach=1)] == ["1", "two", "2"]
    assert around(store, 999_999) == []


def test_a_damaged_archive_is_an_error_and_not_an_empty_result(tmp_path: Path) -> None:
    store = SessionStore(tmp_path / "state.db")
    for number in range(300):
        add_session(store, (f"hello {number} " + "x" * 500, "hi"))
    store.query("PRAGMA wal_checkpoint(TRUNCATE)")
    store.close()
    raw = store.path.read_bytes()
    store.path.write_bytes(raw[: len(raw) * 6 // 10])
    with pytest.raises(StorageError, match="Next step"):
        search(SessionStore(tmp_path / "state.db"), "hello")
