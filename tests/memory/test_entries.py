"""Memory files: entries change, everything else keeps its bytes."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.entries import (
    MemoryFile,
    MemoryRefused,
    Operation,
    OverCapacity,
    apply,
    change,
    normal_text,
    same_key,
)

BY_HAND = (
    "\ufeff# About me\r\n\r\nSome prose with *stars*.\r\n\r\n| a | b |\r\n|---|---|\r\n| 1 | 2 |\r\n\r\n"
    "```sh\r\n- not an entry\r\n```\r\n\r\n<!-- - nor this\r\n- or this -->\r\n\r\n"
    "- likes tea\r\n  in the morning\r\n- lives in Graz\r\n\r\n---\r\n\r\n## Later\r\n\r\n* speaks 中文 🙂\r\n"
)


def test_what_a_person_wrote_is_no_entry_and_stays() -> None:
    file = MemoryFile(raw=BY_HAND)
    texts = [entry.text for entry in file.entries]
    assert texts == ["likes tea\nin the morning", "lives in Graz", "speaks 中文 🙂"]
    changed = file.replace(file.entries[1], "lives in Linz")
    assert changed.raw == BY_HAND.replace("lives in Graz", "lives in Linz")
    assert file.remove(file.entries[1]).raw == BY_HAND.replace("- lives in Graz\r\n", "")
    assert file.add("has a dog").raw == BY_HAND + "- has a dog\r\n"


def test_bytes_that_are_no_text_survive(tmp_path: Path) -> None:
    path = tmp_path / "MEMORY.md"
    path.write_bytes(b"# x\n\xff\xfe\xb4\n- one\n")
    change(path, [Operation(action="add", text="two")], 2200, tmp_path / "lock")
    assert path.read_bytes() == b"# x\n\xff\xfe\xb4\n- one\n- two\n"


def test_replacing_one_of_28_leaves_27_byte_for_byte(tmp_path: Path) -> None:
    path = tmp_path / "MEMORY.md"
    lines = [f"- entry number {n} has some text of its own, {n * 37}" for n in range(28)]
    path.write_text("\n".join(lines) + "\n")
    wish = Operation(action="replace", old_text="number 13 has", text="thirteen is new")
    change(path, [wish], 2200, tmp_path / "lock")
    now = path.read_text().splitlines()
    assert now[13] == "- thirteen is new"
    assert now[:13] + now[14:] == lines[:13] + lines[14:]


def test_old_text_must_name_exactly_one_entry() -> None:
    file = MemoryFile(raw="- tea\n- tea with milk\n- green tea\n")
    assert file.find("tea").text == "tea"  # an exact entry wins over longer ones
    assert file.find("MILK").text == "tea with milk"
    with pytest.raises(MemoryRefused, match="names 2 entries"):
        MemoryFile(raw="- red tea\n- green tea\n").find("tea")
    with pytest.raises(MemoryRefused, match="No entry contains"):
        file.find("coffee")
    with pytest.raises(MemoryRefused, match="empty"):
        file.find("  ")


def test_known_facts_are_not_stored_twice() -> None:
    file = MemoryFile(raw="- I love Chinese food.\n")
    for again in ("I love Chinese food", "i  LOVE chinese food!", "- I love Chinese food"):
        after, lines = apply(file, [Operation(action="add", text=again.removeprefix("- "))], 2200)
        assert (after, lines) == (file, ["already known: I love Chinese food."])
    after, _ = apply(file, [Operation(action="add", text="I love Chinese films")], 2200)
    assert len(after.entries) == 2


def test_symbols_tell_things_apart() -> None:
    assert same_key("C") != same_key("C++")
    assert same_key("5 degrees") != same_key("-5 degrees")
    assert same_key("我喜欢茶。") == same_key("我喜欢茶")


def test_a_batch_counts_its_final_size_and_happens_whole_or_not() -> None:
    file = MemoryFile(raw="- " + "a" * 90 + "\n")
    grow_then_shrink = [
        Operation(action="add", text="b" * 60),
        Operation(action="remove", old_text="aaa"),
    ]
    after, lines = apply(file, grow_then_shrink, 100)
    assert after.raw == "- " + "b" * 60 + "\n"
    assert len(lines) == 2
    with pytest.raises(MemoryRefused):
        apply(file, [*grow_then_shrink, Operation(action="remove", old_text="zzz")], 100)


def test_over_capacity_says_what_is_free_and_what_is_there() -> None:
    file = MemoryFile(raw="- likes tea\n")
    with pytest.raises(OverCapacity, match="likes tea") as caught:
        apply(file, [Operation(action="add", text="x" * 100)], 100)
    assert caught.value.free == 88
    assert "88 are free" in str(caught.value)


def test_a_file_over_its_limit_may_shrink() -> None:
    file = MemoryFile(raw="".join(f"- entry {n} {'x' * 50}\n" for n in range(10)))
    after, _ = apply(file, [Operation(action="remove", old_text="entry 3")], 100)
    assert len(after.entries) == 9


TEXTS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=60)


@given(TEXTS, TEXTS)
def test_an_added_text_comes_back_as_one_entry(before: str, text: str) -> None:
    wanted = normal_text(text)
    start = MemoryFile(raw=f"# Title\n\n{before if '<!--' not in before else ''}\n\n")
    if not wanted or start.known(wanted) or "```" in before or "~~~" in before:
        return
    after = start.add(wanted)
    assert len(after.entries) == len(start.entries) + 1
    added = next(entry for entry in after.entries if entry.text == wanted.strip())
    assert after.remove(added).raw.rstrip("\r\n") == start.raw.rstrip("\r\n")


@given(st.binary(max_size=200))
def test_any_bytes_round_trip(raw: bytes) -> None:
    file = MemoryFile(raw=raw.decode("utf-8", "surrogateescape"))
    assert file.to_bytes() == raw
    for entry in file.entries:
        assert 0 <= entry.start < entry.end <= len(file.raw)


def test_text_with_structure_stays_one_entry() -> None:
    for text in (
        "law text\n§\nsecond part",
        "a\n- b\n- c",
        "# heading\n\ntext",
        "x\n```\ncode\n```",
    ):
        file = MemoryFile().add("first").add(text).add("last")
        assert [entry.text for entry in file.entries][1] == normal_text(text)
        assert len(file.entries) == 3
