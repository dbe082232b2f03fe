"""Owns where installed skills come from: a folder, a ZIP file, a git address; and their way through the
quarantine, the scanner and the user's word."""

from __future__ import annotations

import io
import json
import shutil
import stat
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from assistant.commands.skills import print_findings
from assistant.errors import UsageError
from assistant.skills import Skills
from skills_guard import Approval, Refused, vet
from skills_guard.policy import Trust
from skills_learning.folders import (
    LARGEST,
    MOST_BYTES,
    MOST_FILES,
    Unreadable,
    check_path,
    files_of,
)
from skills_learning.library import NotInstalled
from skills_learning.records import SKILL_FILE, Word, serious
from skills_learning.skill import NAME, BrokenSkill, parse, problems, slug

_RATIO = 200
"""Times that a file may grow when it is unpacked."""
_CLONE_S = 60


def install(skills: Skills, source: str, name: str, yes: bool, as_json: bool = False) -> int:
    """Install a skill; return 0, 1 where it waits for the user or was refused."""
    with _fetched(source) as folder:
        chosen = _choose(folder, name, source)
        files = _read(chosen)
    return _decide(
        skills, files, source if not name else f"{source}#{name}", chosen.name, yes, as_json
    )


def update(skills: Skills, name: str, yes: bool) -> int:
    """Install a skill again from where it came from."""
    known = skills.shelf.installed(name)
    if known is None or not known.source:
        raise UsageError(f"{name} was not installed from anywhere. Next step: reverie skills list.")
    source, _, part = known.source.partition("#")
    with _fetched(source) as folder:
        files = _read(_choose(folder, part or name, source))
    from skills_guard.policy import digest

    if digest(files) == known.digest:
        print(f"{name} is as it is there.")
        return 0
    return _decide(skills, files, known.source, name, yes, False)


def _decide(
    skills: Skills, files: dict[str, bytes], source: str, folder: str, yes: bool, as_json: bool
) -> int:
    try:
        skill = parse(files.get(SKILL_FILE, b""), folder)
    except BrokenSkill as error:
        raise UsageError(
            f"{error}. Nothing was installed. Next step: mend it at its source."
        ) from None
    name = skill.name if NAME.fullmatch(skill.name) else slug(skill.name)
    if not NAME.fullmatch(name or ""):
        raise UsageError(
            f"The name {skill.name!r} has no letters for a folder. Nothing was installed. Next step: give it "
            "a name of lower-case letters, digits and hyphens."
        )
    if name != skill.name:
        raise UsageError(
            f"The name {skill.name!r} cannot be a folder's. Nothing was installed. Next step: rename it to "
            f"{name!r}."
        )
    wrong = problems(skill, files, strict=False)
    trust: Trust = "trusted" if name in skills.trusted else "community"
    judged = vet(files, trust, name=name)
    if not as_json:
        count = f"{len(files)} file{'s' if len(files) > 1 else ''}"
        print(f"{name}: {judged.report.verdict} (trust {trust}), {count} from {source}")
        print_findings(judged.report.findings)
        for row in (*(f"not read: {r}" for r in judged.report.unread), *wrong):
            print(f"  {row}")
    word = None
    if isinstance(judged, Refused) and judged.decision == "ask" and (yes or _agreed(name)):
        judged = vet(files, trust, name=name, approval=Approval(digest=judged.digest))
        word = Word(digest=judged.digest, rules=serious(judged))
    try:
        if isinstance(judged, Refused):
            skills.library.quarantine(
                files, name=name, why=f"{judged.report.verdict}, from {source}", trust=trust,
                origin="installed", source=source, findings=judged.report.findings,
            )  # fmt: skip
            return _told(name, "blocked" if judged.decision == "block" else "waiting", as_json)
        skills.keep_hand_edits()
        entry = skills.library.install(judged, origin="installed", source=source, word=word)
    except NotInstalled as error:
        raise UsageError(f"{error} Next step: mend it at its source.") from None
    skills.library.journal.add(
        "installed", entry.name, f"from {source}", version=entry.record.version
    )
    skills.record(f"Skill installed: {entry.name}", [entry.name])
    return _told(entry.name, "installed", as_json, entry.why_not)


def _told(name: str, state: str, as_json: bool, why_not: str = "") -> int:
    if as_json:
        print(json.dumps({"name": name, "state": state, "why_not": why_not}, ensure_ascii=False))
    elif state == "installed":
        print(f"{name} is installed." + (f" It is not used here: {why_not}." if why_not else ""))
    else:
        print(
            f"{name} is {state}: it lies in skills/.quarantine. Next step: reverie skills pending."
        )
    return 0 if state == "installed" else 1


def _agreed(name: str) -> bool:
    if not sys.stdin.isatty():
        return False
    return input(f"Install {name} all the same? [y]es, [n]o: ").strip().lower() in (
        "y",
        "yes",
        "是",
    )


def _choose(folder: Path, name: str, source: str) -> Path:
    """Return the folder of the skill in what was fetched. Raises ``UsageError``."""
    if (folder / SKILL_FILE).is_file() and (not name or folder.name == name):
        return folder
    found = sorted(
        path.parent
        for path in folder.rglob(SKILL_FILE)
        if not any(
            part.startswith(".") and part not in (".agents", ".claude")
            for part in path.relative_to(folder).parts
        )
    )
    if name:
        found = [path for path in found if path.name == name] or (
            [folder] if (folder / SKILL_FILE).is_file() else []
        )
    if len(found) == 1:
        return found[0]
    if not found:
        raise UsageError(
            f"There is no SKILL.md in {source}. Nothing was installed. Next step: name a folder with one."
        )
    names = ", ".join(path.name for path in found[:20])
    raise UsageError(
        f"{source} holds {len(found)} skills: {names}. Next step: choose one with --name."
    )


def _read(folder: Path) -> dict[str, bytes]:
    try:
        files = files_of(folder)
    except Unreadable as error:
        raise UsageError(f"{folder.name}: {error}. Nothing was installed.") from None
    return {path: content for path, content in files.items() if not path.startswith(".git/")}


@contextmanager
def _fetched(source: str) -> Iterator[Path]:
    """Yield a folder that holds what is at ``source``; what was unpacked or cloned goes afterwards."""
    path = Path(source).expanduser()
    if path.is_dir() and not (source.startswith(("http:", "https:", "git@", "ssh:", "file:"))):
        yield path.resolve()
        return
    with tempfile.TemporaryDirectory(prefix="reverie-skill-") as name:
        target = Path(name)
        if path.is_file():
            _unzip(path, target)
            inside = list(target.iterdir())
            yield inside[0] if len(inside) == 1 and inside[0].is_dir() else target
        elif source.startswith(("https://", "http://", "ssh://", "git@", "file://", "git://")):
            _clone(source, target / "skill")
            yield target / "skill"
        else:
            raise UsageError(
                f"{source} is no folder, ZIP file or git address. Next step: check the path."
            )


def _unzip(path: Path, target: Path) -> None:
    """Unpack a ZIP file: each name checked, sizes bounded, links refused. Raises ``UsageError``."""
    try:
        raw = path.read_bytes() if path.stat().st_size <= MOST_BYTES else b""
        with zipfile.ZipFile(io.BytesIO(raw)) as archive:
            members = [m for m in archive.infolist() if not m.is_dir()]
            if len(members) > MOST_FILES or sum(m.file_size for m in members) > MOST_BYTES:
                raise Unreadable("it is too large")
            for member in members:
                _check_member(member)
                content = b""
                with archive.open(member) as file:
                    content = file.read(LARGEST + 1)
                if len(content) > LARGEST or len(content) > member.file_size:
                    raise Unreadable(f"{member.filename} is larger than it says")
                place = target / member.filename
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_bytes(content)
    except (
        zipfile.BadZipFile,
        Unreadable,
        NotImplementedError,
        RuntimeError,
        OSError,
        EOFError,
    ) as error:
        shutil.rmtree(target, ignore_errors=True)
        raise UsageError(f"{path.name} was not unpacked: {error}. Nothing was installed.") from None


def _check_member(member: zipfile.ZipInfo) -> None:
    check_path(member.filename)
    if stat.S_ISLNK(member.external_attr >> 16):
        raise Unreadable(f"{member.filename} is a link")
    if member.file_size > 1_000_000 and member.file_size > _RATIO * max(member.compress_size, 1):
        raise Unreadable(f"{member.filename} grows too much when it is unpacked")


def _clone(source: str, target: Path) -> None:
    """Clone with dulwich: no hook, filter or helper program of git's runs. Raises ``UsageError``."""
    import socket

    from dulwich import porcelain

    before = socket.getdefaulttimeout()
    socket.setdefaulttimeout(_CLONE_S)
    try:
        address = source.removeprefix("file://")
        porcelain.clone(
            address, str(target), depth=1, errstream=io.BytesIO(), checkout=True
        ).close()
    except Exception as error:  # noqa: BLE001 - whatever the library or the network raises is one sentence
        raise UsageError(
            f"{source} could not be cloned: {error}. Nothing was installed. Next step: check the address."
        ) from None
    finally:
        socket.setdefaulttimeout(before)
    shutil.rmtree(target / ".git", ignore_errors=True)
