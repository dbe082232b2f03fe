"""Owns the format of a skill: reading SKILL.md leniently, writing it strictly, naming what is wrong.

The format is Agent Skills (agentskills.io): a folder whose name is the skill's, with a SKILL.md of YAML
front matter and Markdown. What is ours alone stands under ``metadata.reverie``.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
SECTIONS = ("When to Use", "Procedure", "Pitfalls", "Verification")
FIELDS = ("name", "description", "license", "compatibility", "metadata", "allowed-tools")
LARGEST = 1_000_000
"""Bytes of a SKILL.md."""
LONGEST_NAME, LONGEST_DESCRIPTION = 64, 1_024
_OTHERS = ("reverie", "openclaw", "clawdbot", "moltbot", "hermes")
"""Under whose names in ``metadata`` the needs of a skill are looked for."""
_FENCE = re.compile(r"^(?:---)[ \t]*$", re.MULTILINE)
_KEY = re.compile(r"^(?P<key>[A-Za-z][\w-]*):[ \t]+(?P<value>\S.*)$")
_FILE = re.compile(
    r"(?<![\w/.:~$}<-])(?P<path>(?:\./)?(?:scripts|references|assets)/[\w./-]*[\w-])(?![\w/*<])"
)


class BrokenSkill(ValueError):
    """A SKILL.md that cannot be read; the message is a sentence for people."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Needs:
    """What a skill cannot do without here. Empty lists need nothing; ``fallback_for`` are tools in whose
    absence alone it is of use."""

    platforms: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    bins: tuple[str, ...] = ()
    env: tuple[str, ...] = ()
    fallback_for: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Skill:
    """A skill as its SKILL.md tells it. ``repairs`` are what had to be mended to read it."""

    name: str
    description: str
    body: str
    license: str = ""
    compatibility: str = ""
    allowed_tools: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    repairs: tuple[str, ...] = ()

    @property
    def own(self) -> Mapping[str, Any]:
        """What stands under ``metadata.reverie``."""
        own = self.metadata.get("reverie")
        return own if isinstance(own, dict) else {}

    @property
    def version(self) -> int:
        """The version that Reverie counts, 1 where none is written."""
        try:
            return max(1, int(self.own.get("version", 1)))
        except (TypeError, ValueError):
            return 1

    @property
    def needs(self) -> Needs:
        """What it needs, as it says itself or as it was written for another assistant."""
        return _needs(self.metadata)

    def section(self, title: str) -> str:
        """Return the text under a heading, '' where there is none."""
        found = re.search(
            rf"^#{{1,3}}[ \t]+{re.escape(title)}[ \t]*$\n(.*?)(?=^#{{1,2}}[ \t]|\Z)",
            self.body,
            re.MULTILINE | re.DOTALL | re.IGNORECASE,
        )
        return found[1].strip() if found else ""

    @property
    def title(self) -> str:
        """The first heading, else the name."""
        found = re.search(r"^#[ \t]+(.+)$", self.body, re.MULTILINE)
        return found[1].strip() if found else self.name


def parse(raw: bytes, folder: str = "") -> Skill:
    """Return the skill in a SKILL.md. Raises :class:`BrokenSkill` for what cannot be one.

    Lenient: a BOM, CRLF, extra keys, a value that lacks its quotes. A front matter that stays unreadable
    is refused rather than dropped: with it a restriction of tools would be lost.
    """
    text = _decoded(raw)
    front, body = _split(text)
    if front is None:
        told = next((p for p in body.split("\n\n") if p.strip() and not p.startswith("#")), "")
        return Skill(
            name=folder,
            description=" ".join(told.split())[:300],
            body=body,
            repairs=("has no front matter: named after its folder",),
        )
    values, repairs = _loaded(front)
    name = _text(values.get("name")) or folder
    metadata = values.get("metadata")
    if metadata is not None and not isinstance(metadata, dict):
        repairs = (*repairs, "metadata is no map and was left out")
        metadata = None
    if "platforms" in values:  # where other assistants write it
        metadata = {**(metadata or {}), "platforms": values["platforms"]}
    return Skill(
        name=unicodedata.normalize("NFC", name),
        description=" ".join(_text(values.get("description")).split()),
        body=body,
        license=_text(values.get("license")),
        compatibility=_text(values.get("compatibility")),
        allowed_tools=_listed(values.get("allowed-tools")),
        metadata=metadata or {},
        repairs=repairs,
    )


def _decoded(raw: bytes) -> str:
    if len(raw) > LARGEST:
        raise BrokenSkill(f"SKILL.md has {len(raw):,} bytes; more than {LARGEST:,} are not read")
    if b"\0" in raw[:8_000]:
        raise BrokenSkill("SKILL.md is no text")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise BrokenSkill(f"SKILL.md is not UTF-8 (byte {error.start})") from None
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _split(text: str) -> tuple[str | None, str]:
    """Return front matter and body; a rule of dashes further down is no front matter."""
    start = text.lstrip("\n")
    if not re.match(r"---[ \t]*\n", start):
        return None, text
    marks = list(_FENCE.finditer(start))
    if len(marks) < 2:
        raise BrokenSkill("SKILL.md: the front matter has no end; put --- on a line of its own")
    return start[marks[0].end() + 1 : marks[1].start()], start[marks[1].end() :].lstrip("\n")


def _loaded(front: str) -> tuple[dict[str, Any], tuple[str, ...]]:
    import yaml

    repairs: list[str] = []
    try:
        values = _load(front)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        mended, repairs = _quoted(front)
        try:
            values = _load(mended) if repairs else None
        except (yaml.YAMLError, ValueError, RecursionError):
            values = None
        if values is None:
            mark = getattr(error, "problem_mark", None)
            where = f", line {mark.line + 2}, column {mark.column + 1}" if mark else ""
            why = getattr(error, "problem", None) or "it is no YAML"
            raise BrokenSkill(f"SKILL.md{where}: the front matter cannot be read ({why})") from None
    if values is None:
        values = {}
    if not isinstance(values, dict):
        raise BrokenSkill("SKILL.md: the front matter is no map of `key: value` lines")
    return {str(key): value for key, value in values.items()}, tuple(repairs)


def _load(front: str) -> Any:
    from frontmatter.default_handlers import YAMLHandler

    return YAMLHandler().load(front)


def _quoted(front: str) -> tuple[str, list[str]]:
    """Put values in quotes that YAML takes for something else: `a reader: lead with the action`."""
    lines, repairs = [], []
    for number, line in enumerate(front.split("\n"), 2):
        found = _KEY.match(line)
        if (
            found
            and found["value"][0] not in "\"'|>[{"
            and re.search(r":(?:\s|$)|\s#|^[@`%&*!]", found["value"])
        ):
            inner = found["value"].rstrip().replace("'", "''")
            line = f"{found['key']}: '{inner}'"
            repairs.append(f"line {number}: the value of {found['key']} needed quotes")
        lines.append(line)
    return "\n".join(lines), repairs


def _text(value: Any) -> str:
    return "" if value is None else str(value).strip()


def _listed(value: Any) -> str:
    return " ".join(map(str, value)) if isinstance(value, list) else _text(value)


def _strings(value: Any) -> tuple[str, ...]:
    if isinstance(value, str):
        return tuple(part for part in re.split(r"[,\s]+", value) if part)
    return tuple(str(item) for item in value) if isinstance(value, list | tuple) else ()


def _needs(metadata: Mapping[str, Any]) -> Needs:
    for key in _OTHERS:
        own = metadata.get(key)
        if isinstance(own, dict):
            break
    else:
        own = {}
    inner = own.get("requires")
    requires: dict[str, Any] = inner if isinstance(inner, dict) else {}
    return Needs(
        platforms=_strings(own.get("platforms") or own.get("os") or metadata.get("platforms")),
        tools=_strings(requires.get("tools")),
        bins=_strings(requires.get("bins")),
        env=_strings(requires.get("env")),
        fallback_for=_strings(own.get("fallback-for") or own.get("fallback_for_tools")),
    )


def render(skill: Skill) -> str:
    """Return a SKILL.md: what :func:`parse` reads back, and the public validator accepts."""
    import yaml

    values: dict[str, Any] = {"name": skill.name, "description": skill.description}
    for key, value in (
        ("license", skill.license),
        ("compatibility", skill.compatibility),
        ("allowed-tools", skill.allowed_tools),
        ("metadata", dict(skill.metadata)),
    ):
        if value:
            values[key] = value
    front = yaml.safe_dump(values, allow_unicode=True, sort_keys=False, width=10_000)
    return f"---\n{front}---\n\n{skill.body.strip()}\n"


def problems(
    skill: Skill, files: Collection[str] = ("SKILL.md",), *, strict: bool = True
) -> list[str]:
    """Return all that is wrong with a skill, each as a sentence; empty means valid.

    ``strict`` is for skills that Reverie writes: they have the four sections. ``files`` are the paths in
    its folder: a script that is spoken of must be there.
    """
    found = name_problems(skill.name) if strict else _tolerated(skill.name)
    if not skill.description:
        found.append("it has no description")
    elif len(skill.description) > LONGEST_DESCRIPTION:
        found.append(
            f"the description has {len(skill.description)} characters; {LONGEST_DESCRIPTION} are the most"
        )
    if len(skill.compatibility) > 500:
        found.append(f"compatibility has {len(skill.compatibility)} characters; 500 are the most")
    if not skill.body.strip():
        found.append("it has no text behind the front matter")
    if strict:
        found += [
            f"the section `{title}` is missing or empty"
            for title in SECTIONS
            if not skill.section(title)
        ]
    found += [
        f"it speaks of {path}, which is not in its folder" for path in missing_files(skill, files)
    ]
    return found


def name_problems(name: str) -> list[str]:
    """Return what is wrong with a name that we would write."""
    if len(name) > LONGEST_NAME:
        return [f"the name has {len(name)} characters; {LONGEST_NAME} are the most"]
    if not NAME.fullmatch(name):
        return [f"the name {name!r} is not of lower-case letters, digits and single hyphens"]
    return []


def _tolerated(name: str) -> list[str]:
    """Return what is wrong with a name written by others: letters of any script are a name."""
    plain = unicodedata.normalize("NFKC", name)
    if plain and len(plain) <= LONGEST_NAME and all(c.isalnum() or c in "-_ ." for c in plain):
        return []
    return [f"the name {name!r} cannot be a skill's"]


def missing_files(skill: Skill, files: Collection[str]) -> list[str]:
    """Return the files of its own folder that a skill speaks of and that are not there. What stands under
    ``metadata.reverie.uses`` are files of the project that it is for."""
    used = skill.own.get("uses")
    files = [*files, *(map(str, used) if isinstance(used, list) else ())]
    there = {name for path in files for name in (path, *_parents(path))}
    spoken = (m["path"].removeprefix("./").rstrip(".") for m in _FILE.finditer(skill.body))
    return [path for path in dict.fromkeys(spoken) if path.rstrip("/") not in there]


def _parents(path: str) -> list[str]:
    parts = path.split("/")[:-1]
    return ["/".join(parts[: n + 1]) for n in range(len(parts))]


def with_own(skill: Skill, **values: Any) -> Skill:
    """Return the skill with values set under ``metadata.reverie``."""
    return replace(skill, metadata={**skill.metadata, "reverie": {**skill.own, **values}})


def slug(text: str, longest: int = 48) -> str:
    """Return a name made of the ASCII words of ``text``, '' where it has none."""
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode().lower()
    name = "-".join(re.findall(r"[a-z0-9]+", plain))[:longest]
    return name.strip("-")
