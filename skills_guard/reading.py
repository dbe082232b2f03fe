"""Owns reading a skill: every byte of its folder and of archives in it, or a word on what was not read.

No ignore file counts, links are not followed out of the folder, and nothing but regular files is opened.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import posixpath
import stat
import tarfile
import time
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from skills_guard.decoding import kind_of

MOST_FILES = 2_000
LARGEST = 8_000_000
"""Bytes of one file."""
MOST_BYTES = 48_000_000
"""Bytes of a skill, archives unpacked."""
DEEPEST = 3
"""Archives within archives."""
_RATIO = 200
"""Times that a member may grow when it is unpacked."""


@dataclass(slots=True)
class Loaded:
    """What was read: contents by path (``a.zip!member`` inside archives), oddities of the structure as
    (rule, path, detail), and what was not read."""

    files: dict[str, bytes] = field(default_factory=dict)
    oddities: list[tuple[str, str, str]] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)
    size: int = 0

    def add(self, name: str, raw: bytes, depth: int = 0) -> None:
        """Take a file in, and what is in it where it is an archive."""
        if len(self.files) >= MOST_FILES or self.size + len(raw) > MOST_BYTES:
            self.skip(name, "the skill is too large")
            return
        self.size += len(raw)
        self.files[name] = raw
        if (kind := kind_of(raw)) in ("zip", "tar", "gzip", "bzip2", "xz", "closed archive"):
            unpack(self, name, raw, kind, depth)

    def skip(self, name: str, why: str) -> None:
        """Note that something was not read."""
        if len(self.unread) < 50:
            self.unread.append(f"{name}: {why}")

    def odd(self, rule: str, name: str, detail: str = "") -> None:
        """Note something odd about the structure."""
        if len(self.oddities) < 200:
            self.oddities.append((rule, name, detail))


def shown(name: str) -> str:
    """Return a file's name as it can be printed: control characters and broken bytes escaped."""
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in name)


def read_folder(root: Path, deadline: float = float("inf")) -> Loaded:
    """Return all that a folder (or a single file) holds. Raises nothing: what fails is ``unread``."""
    loaded = Loaded()
    if not root.is_dir():
        _take(loaded, str(root), root.name, str(root.parent))
        return loaded
    base = os.path.realpath(root)
    seen = 0
    for where, folders, names in os.walk(
        root, onerror=lambda e: loaded.skip(shown(str(e.filename)), "cannot be listed")
    ):
        inside = sorted(folders)
        folders[:] = [name for name in inside if not os.path.islink(os.path.join(where, name))]
        for name in [*sorted(set(inside) - set(folders)), *sorted(names)]:
            seen += 1
            if seen > MOST_FILES or time.monotonic() > deadline:
                loaded.skip(
                    shown(os.path.relpath(where, root)),
                    "too many files" if seen > MOST_FILES else "out of time",
                )
                return loaded
            path = os.path.join(where, name)
            _take(loaded, path, os.path.relpath(path, root).replace(os.sep, "/"), base)
    return loaded


def _take(loaded: Loaded, path: str, name: str, base: str) -> None:
    name = shown(name) if name.isprintable() else _odd_name(loaded, name)
    try:
        status = os.lstat(path)
        if stat.S_ISLNK(status.st_mode):
            _link(loaded, path, name, base)
            return
        if not stat.S_ISREG(status.st_mode):
            loaded.odd("special-file", name)
            loaded.skip(name, "is no regular file")
            return
        if status.st_size > LARGEST:
            loaded.skip(name, f"has {status.st_size:,} bytes, more than are read")
            return
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | getattr(os, "O_NOFOLLOW", 0))
        with os.fdopen(descriptor, "rb") as file:
            raw = file.read(LARGEST + 1)
    except OSError as error:
        loaded.skip(name, f"cannot be read ({error.strerror})")
        return
    loaded.add(name, raw[:LARGEST])


def _odd_name(loaded: Loaded, name: str) -> str:
    loaded.odd("odd-name", shown(name))
    return shown(name)


def _link(loaded: Loaded, path: str, name: str, base: str) -> None:
    """Judge a link by where it leads; the file behind it is read by its own name, if it is inside."""
    try:
        target = os.path.realpath(path, strict=True)
    except OSError:
        target = os.path.normpath(os.path.join(os.path.dirname(path), os.readlink(path)))
        if _is_inside(target, base):
            loaded.odd("broken-link", name)
            return
    if not _is_inside(target, base):
        loaded.odd("link-leaves-folder", name, os.readlink(path))


def _is_inside(path: str, base: str) -> bool:
    return path == base or path.startswith(base + os.sep)


# -- archives -------------------------------------------------------------------------------


def unpack(loaded: Loaded, name: str, raw: bytes, kind: str, depth: int) -> None:
    """Take in the members of an archive, bounded in depth, growth and size."""
    if depth >= DEEPEST or kind == "closed archive":
        loaded.skip(name, "an archive that is not looked into")
        return
    try:
        if kind == "zip":
            _unzip(loaded, name, raw, depth)
        elif kind == "tar":
            _untar(loaded, name, raw, depth)
        else:
            _inflate(loaded, name, raw, kind, depth)
    except (zipfile.BadZipFile, tarfile.TarError, lzma.LZMAError, zlib.error, EOFError, OSError, ValueError,
            NotImplementedError, RuntimeError) as error:  # fmt: skip
        loaded.skip(name, f"a damaged or closed archive ({type(error).__name__})")


def _unzip(loaded: Loaded, name: str, raw: bytes, depth: int) -> None:
    with zipfile.ZipFile(io.BytesIO(raw)) as archive:
        members = archive.infolist()
        for member in members[:MOST_FILES]:
            path = f"{name}!{shown(member.filename)}"
            _judge_name(loaded, path, member.filename)
            if stat.S_ISLNK(member.external_attr >> 16):
                _judge_link(
                    loaded,
                    path,
                    member.filename,
                    archive.read(member)[:500].decode("utf-8", "replace"),
                )
            elif member.flag_bits & 1:
                loaded.odd("locked-archive", path)
                loaded.skip(path, "is locked with a password")
            elif not member.is_dir():
                _grow(loaded, path, member.file_size, member.compress_size)
                with archive.open(member) as file:
                    loaded.add(path, file.read(LARGEST), depth + 1)
        if len(members) > MOST_FILES:
            loaded.skip(name, "too many members")


def _untar(loaded: Loaded, name: str, raw: bytes, depth: int) -> None:
    with tarfile.open(fileobj=io.BytesIO(raw)) as archive:
        for count, member in enumerate(archive):
            path = f"{name}!{shown(member.name)}"
            if count > MOST_FILES:
                loaded.skip(name, "too many members")
                return
            _judge_name(loaded, path, member.name)
            if member.islnk() or member.issym():
                _judge_link(loaded, path, member.name, member.linkname)
            elif member.isfile() and (file := archive.extractfile(member)):
                loaded.add(path, file.read(LARGEST), depth + 1)
            elif not member.isdir():
                loaded.odd("special-file", path)


def _inflate(loaded: Loaded, name: str, raw: bytes, kind: str, depth: int) -> None:
    packed = io.BytesIO(raw)
    opened: io.BufferedIOBase = gzip.GzipFile(fileobj=packed)
    if kind == "bzip2":
        opened = bz2.BZ2File(packed)
    elif kind == "xz":
        opened = lzma.LZMAFile(packed)  # noqa: SIM115 - closed below
    with opened as file:
        inner = file.read(LARGEST + 1)
    _grow(loaded, name, len(inner), len(raw))
    inside = posixpath.basename(name).removesuffix(".gz").removesuffix(".tgz")
    loaded.add(f"{name}!{inside}", inner[:LARGEST], depth + 1)


def _grow(loaded: Loaded, path: str, size: int, packed: int) -> None:
    if size > LARGEST or (size > 1_000_000 and size > _RATIO * max(packed, 1)):
        loaded.odd("archive-bomb", path)
        loaded.skip(path, "grows too much when it is unpacked")


def _judge_name(loaded: Loaded, path: str, name: str) -> None:
    flat = posixpath.normpath(name.replace("\\", "/"))
    if flat.startswith(("/", "../")) or flat == ".." or (len(flat) > 1 and flat[1] == ":"):
        loaded.odd("zip-slip", path, name)


def _judge_link(loaded: Loaded, path: str, name: str, target: str) -> None:
    flat = posixpath.normpath(posixpath.join(posixpath.dirname(name), target.replace("\\", "/")))
    if flat.startswith(("/", "../")) or flat == "..":
        loaded.odd("link-leaves-folder", path, target)


def each_text(loaded: Loaded) -> Iterator[tuple[str, bytes]]:
    """Yield the files in order, SKILL.md first: what matters most is read before time runs out."""
    yield from sorted(
        loaded.files.items(), key=lambda item: (not item[0].endswith("SKILL.md"), item[0])
    )
