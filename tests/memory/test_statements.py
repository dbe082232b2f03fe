"""The same said again, a newer truth, or two things side by side."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from pathlib import Path

import pytest

from memory.consolidation import keeps_all
from memory.entries import MemoryFile, Operation, apply
from memory.limits import bring_within, relieve
from memory.lock import locked
from memory.statements import at_odds, relation

DAY = date(2026, 12, 1)


@pytest.mark.parametrize(
    ("old", "new", "kind"),
    [
        ("I love Chinese food", "I hate Chinese food", "supersedes"),
        ("I love Chinese food", "I don't like Chinese food anymore", "supersedes"),
        ("I love Chinese food", "Chinese food is my favourite", "same"),
        ("I love Chinese food", "I really enjoy Chinese food!", "same"),
        ("I love Chinese food", "I love Chinese films", "apart"),
        ("I love Chinese food", "my sister hates Chinese food", "apart"),
        ("I live in Graz", "I live in Linz now", "supersedes"),
        ("I live in Graz", "We moved to Linz", "supersedes"),
        ("My sister lives in Graz", "I live in Linz", "apart"),
        ("call me Ada", "call me Lady Ada", "supersedes"),
        ("answer me in English", "please reply in German", "supersedes"),
        ("My shoe size is 42", "My shoe size is 43", "apart"),
        ("I eat meat", "I don't eat meat", "supersedes"),
        ("The server runs on port 8080", "The server runs on port 8443", "apart"),
        (
            "I live in Berlin with my wife Anna and two kids",
            "The meeting was moved to Friday",
            "apart",
        ),
        ("Call me Max", "The cat is called Milo", "apart"),
        ("My work email is a@example.com", "My private email is b@example.com", "apart"),
        ("My birthday is on 5 May", "Anna's birthday is on 6 May", "apart"),
        ("I live in Munich", "I used to live in Berlin", "apart"),
        ("I live in Munich", "I would like to live in Lisbon", "apart"),
        ("I prefer tabs over spaces", "I prefer spaces over tabs", "apart"),
        ("I like tea but not coffee", "I like coffee but not tea", "apart"),
        ("Anna owes Ben 50 euros", "Ben owes Anna 50 euros", "apart"),
        ("I like C", "I hate C++", "apart"),
        ("C is my favourite language", "C++ is my favourite language", "apart"),
        ("我住在北京", "小王住在上海", "apart"),
        ("我喜欢茶不喜欢咖啡", "我喜欢咖啡不喜欢茶", "apart"),
        ("我喜欢中国菜", "我讨厌中国菜", "supersedes"),
        ("我喜欢中国菜", "我不喜欢中国菜", "supersedes"),
        ("我喜欢中国菜", "我很喜欢中国菜", "same"),
        ("我住在格拉茨", "我搬到林茨了", "supersedes"),
        ("我妹妹住在格拉茨", "我住在林茨", "apart"),
    ],
)
def test_relations(old: str, new: str, kind: str) -> None:
    assert relation(old, new) == kind


def add(file: MemoryFile, text: str) -> MemoryFile:
    return apply(file, [Operation(action="add", text=text)], 10_000, DAY)[0]


def test_the_newest_statement_wins_with_its_date() -> None:
    file = add(add(MemoryFile(), "I love Chinese food"), "I hate Chinese food")
    assert [entry.text for entry in file.entries] == ["I hate Chinese food (since 2026-12-01)"]
    back = add(file, "I love Chinese food")
    assert [entry.text for entry in back.entries] == ["I love Chinese food (since 2026-12-01)"]


def test_nine_paraphrases_are_one() -> None:
    file = MemoryFile()
    for text in (
        "I love Chinese food",
        "I like Chinese food",
        "I really like Chinese food",
        "Chinese food is my favourite food",
        "My favourite food is Chinese food",
        "I'm a fan of Chinese food",
        "I enjoy Chinese food very much",
        "I so love Chinese food!",
        "Remember: I am fond of Chinese food",
    ):
        file = add(file, text)
    assert len(file.entries) == 1
    assert len(add(file, "I hate Chinese food").entries) == 1


def test_said_twice_is_still_one() -> None:
    file = add(add(MemoryFile(), "my sister is vegetarian"), "My sister is vegetarian.")
    assert len(file.entries) == 1


def test_relief_in_order() -> None:
    raw = (
        "# Mine\n\nprose stays\n\n"
        "- I love Chinese food\n- Chinese food is my favourite\n- I live in Graz\n- I live in Linz\n"
        "- the dentist appointment is on 2026-11-03\n- likes jazz\n- has a dog called Rex\n"
    )
    file = MemoryFile(raw=raw)
    after, gone = relieve(file, len(raw), DAY)
    assert (after, gone) == (file, [])
    after, gone = relieve(file, len(raw) - 10, DAY)
    assert [g.text for g in gone] == ["I love Chinese food"]
    after, gone = relieve(file, len(raw) - 30, DAY)
    assert [g.text for g in gone] == ["I love Chinese food", "I live in Graz"]
    after, gone = relieve(file, len(raw) - 50, DAY)
    assert gone[-1].text.startswith("the dentist") and "passed" in gone[-1].reason
    after, gone = relieve(file, 60, DAY)
    assert after.size <= 60 and "prose stays" in after.raw and "Rex" in after.raw


def test_a_file_sixty_times_over_its_limit_is_brought_within_it_in_one_pass(tmp_path: Path) -> None:
    path, archive = tmp_path / "MEMORY.md", tmp_path / "memory" / "archive.md"
    lines = [f"- fact {n}: the box {n * 7} holds item {n} of kind {n % 13}" for n in range(2700)]
    path.write_text("# M\n\n" + "\n".join(lines) + "\n")
    assert path.stat().st_size > 60 * 2200
    gone = bring_within(path, 2200, archive, tmp_path / "lock", DAY)
    assert path.stat().st_size <= 2200
    kept = path.read_text() + archive.read_text()
    assert all(line[2:] in kept for line in lines)
    assert len(gone) + len(MemoryFile.read(path).entries) == 2700
    assert bring_within(path, 2200, archive, tmp_path / "lock", DAY) == []


OLD = ["Ada lives in Graz", "the server is on port 8443", "never call before 9"]


@pytest.mark.parametrize(
    ("new", "fits"),
    [
        (["Ada lives in Graz; server on port 8443; never call before 9"], True),
        (["Ada lives in Graz; server on port 8443", "never call before 9"], True),
        (["Lives in Graz; server on port 8443; never call before 9"], False),  # who?
        (["Ada lives in Graz; never call before 9"], False),  # the number
        (["Ada lives in Graz; server on port 8443; call before 9"], False),  # the negation
        (["Ada never lives in Graz; server on port 8443; call before 9"], False),  # moved
        (["Ada lives in Graz, Austria; server port 8443; never call before 9"], False),  # invented
        ([], False),
    ],
)
def test_a_consolidation_must_keep_everything(new: list[str], fits: bool) -> None:
    assert keeps_all(OLD, new) is fits


def test_a_chinese_consolidation_keeps_the_names() -> None:
    old = ["我妹妹王芳住在格拉茨", "我不吃香菜"]
    assert keeps_all(old, ["妹妹王芳住在格拉茨；不吃香菜"])
    assert not keeps_all(old, ["妹妹住在格拉茨；不吃香菜"])
    assert not keeps_all(old, ["妹妹王芳住在格拉茨；吃香菜"])


def test_a_consolidation_comes_before_what_is_old_leaves() -> None:
    raw = "".join(f"- note about thing {n} in a long sentence\n" for n in range(10))
    file = MemoryFile(raw=raw)
    short = ["note about long sentence thing " + " ".join(map(str, range(10)))]
    after, gone = relieve(file, 200, DAY, short)
    assert [entry.text for entry in after.entries] == short
    assert len(gone) == 10
    after, _ = relieve(file, 200, DAY, ["things"])
    assert 0 < len(after.entries) < 10


def test_a_model_shortens_without_the_lock_and_a_change_meanwhile_stays(tmp_path: Path) -> None:
    path, archive, lock = tmp_path / "MEMORY.md", tmp_path / "archive.md", tmp_path / "lock"
    path.write_text("".join(f"- note about thing {n} in a long sentence\n" for n in range(10)))

    def propose(entries: Sequence[str], limit: int) -> Sequence[str]:
        with locked(lock):  # would wait for ever if the caller held it
            path.write_text(path.read_text() + "- written meanwhile: 77\n")
        return ["note about long sentence thing " + " ".join(map(str, range(10)))]

    bring_within(path, 200, archive, lock, DAY, propose)
    assert path.stat().st_size <= 200
    kept = path.read_text() + archive.read_text()
    assert "written meanwhile: 77" in kept and all(f"thing {n} " in kept for n in range(10))


@pytest.mark.parametrize(
    ("old", "new", "doubtful"),
    [
        ("I love spicy Chinese food", "I hate Chinese food", True),
        ("I love Chinese food", "I hate Chinese food", False),  # clear: the newest wins
        ("I love Chinese food", "I hate Chinese films", False),
        ("my sister lives in Graz", "my sister lives in Linz", True),
        ("my sister lives in Graz", "my brother lives in Linz", False),
        ("my locker number is 12", "my locker number is 15", True),
        ("I like tea", "I have two cats", False),
        ("我妹妹住在北京", "我妹妹住在上海", True),
        ("我喜欢辣的四川菜", "我讨厌四川菜", True),
        ("我妹妹住在北京", "我弟弟住在上海", False),
    ],
)
def test_what_may_contradict(old: str, new: str, doubtful: bool) -> None:
    assert at_odds(old, new) is doubtful
