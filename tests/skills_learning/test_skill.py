"""The format: read leniently, written strictly, all problems named at once."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from skills_ref import validate

from skills_learning.skill import (
    SECTIONS,
    BrokenSkill,
    Skill,
    parse,
    problems,
    render,
    slug,
    with_own,
)

BODY = "# Title\n\n" + "\n\n".join(f"## {title}\n\n- Something.\n" for title in SECTIONS)


def skill(**changed: object) -> Skill:
    return Skill(
        **{"name": "a-skill", "description": "Does it. Use when asked.", "body": BODY, **changed}
    )  # type: ignore[arg-type]


def test_an_unquoted_colon_is_mended_and_said() -> None:
    raw = b"---\nname: x\ndescription: Shape output for a reader: lead with the action\nallowed-tools: Read\n---\nHi"
    read = parse(raw)
    assert read.description == "Shape output for a reader: lead with the action"
    assert read.allowed_tools == "Read"
    assert read.repairs == ("line 3: the value of description needed quotes",)


def test_front_matter_that_stays_broken_is_refused_with_its_place() -> None:
    with pytest.raises(BrokenSkill, match="line 4, column 1"):
        parse(b"---\nname: x\nallowed-tools: [Read\n---\nHi")


@pytest.mark.parametrize(
    ("raw", "why"),
    [
        (b"x" * 5_000_000, "5,000,000 bytes"),
        (b"\x7fELF\0\0", "no text"),
        ("---\nname: caf\xe9\n---\n".encode("latin-1"), "not UTF-8"),
        (b"---\n- a\n- b\n---\nHi", "no map"),
        (b"---\nname: x\nno end", "no end"),
    ],
)
def test_what_cannot_be_a_skill_is_a_sentence(raw: bytes, why: str) -> None:
    with pytest.raises(BrokenSkill, match=why):
        parse(raw)


def test_bom_crlf_extra_keys_and_late_end_are_read() -> None:
    padding = "\r\n".join(f"x-{n}: {'y' * 100}" for n in range(30))
    raw = (
        f"\ufeff---\r\nname: crlf\r\ndescription: Fine.\r\n{padding}\r\n---\r\n# Body\r\n".encode()
    )
    read = parse(raw)
    assert (read.name, read.description, read.body) == ("crlf", "Fine.", "# Body\n")


def test_rules_of_dashes_without_front_matter_are_body() -> None:
    read = parse(b"# Notes\n\nSome text.\n\n---\n\nmore\n\n---\n", "notes")
    assert (read.name, read.description) == ("notes", "Some text.")
    assert "no front matter" in read.repairs[0]


@pytest.mark.parametrize(
    "name", ["Bad_Name", "-x", "a--b", "x" * 65, "技能-审查", "café", "../x", ""]
)
def test_names_that_are_never_written(name: str) -> None:
    assert problems(skill(name=name))


@pytest.mark.parametrize("name", ["技能-审查", "café", "мой-навык", "Bad_Name"])
def test_names_of_others_are_read(name: str) -> None:
    read = parse(f"---\nname: {name}\ndescription: d\n---\nText".encode())
    assert read.name == name
    assert problems(read, strict=False) == []


def test_all_problems_are_named_at_once() -> None:
    found = problems(skill(name="A", description="", body="## Procedure\n\nRun scripts/run.py.\n"))
    assert len(found) == 6
    assert any("scripts/run.py" in problem for problem in found)
    assert problems(skill(body=BODY + "See scripts/run.py."), ["SKILL.md", "scripts/run.py"]) == []


def test_needs_are_read_from_ours_and_from_others() -> None:
    ours = skill(metadata={"reverie": {"requires": {"bins": ["ffmpeg"]}, "fallback-for": ["web"]}})
    assert (ours.needs.bins, ours.needs.fallback_for) == (("ffmpeg",), ("web",))
    raw = b'---\nname: x\ndescription: d\nmetadata: {"openclaw": {"requires": {"env": ["KEY"]}, "os": ["linux"]}}\n---\nx'
    theirs = parse(raw).needs
    assert (theirs.env, theirs.platforms) == (("KEY",), ("linux",))


@given(
    st.text(
        st.characters(codec="utf-8", exclude_categories=("Cc", "Cs")), min_size=1, max_size=200
    ),
    st.dictionaries(
        st.sampled_from(["title", "note", "why"]), st.text("aб字 :#'\"-\n", max_size=30)
    ),
)
def test_what_is_written_is_read_back_and_valid(description: str, own: dict[str, str]) -> None:
    if not description.strip():
        return
    written = with_own(skill(description=" ".join(description.split())), version=2, **own)
    read = parse(render(written).encode())
    assert (read.name, read.description, read.version) == ("a-skill", written.description, 2)
    assert read.repairs == ()


def test_what_is_written_passes_the_public_validator(tmp_path: Path) -> None:
    folder = tmp_path / "a-skill"
    folder.mkdir()
    own = with_own(
        skill(description="Use: when “it” is #1."), version=3, origin=["abc"], first={"calls": 5}
    )
    (folder / "SKILL.md").write_text(render(own))
    assert validate(folder) == []


@pytest.mark.parametrize("path", sorted((Path(__file__).parents[2] / "home" / "skills").iterdir()))
def test_the_shipped_skills_are_valid(path: Path) -> None:
    assert validate(path) == []
    assert problems(parse((path / "SKILL.md").read_bytes())) == []


def test_slugs_are_plain() -> None:
    assert slug("Überweisung an die Café-Bar!") == "uberweisung-an-die-cafe-bar"
    assert slug("把视频转成") == ""
