"""Owns the file tools: reading, writing and searching inside the allowed folders."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from assistant.home import Home
from assistant.prompt import PROJECT_FILES
from assistant.tools.registry import ToolError, Toolset, make_tool
from memory.atomic import write_atomic

LINES_AT_ONCE = 800
REGEX_S = 0.5
"""Seconds for one line; Python's own ``re`` can neither be bounded nor interrupted."""
READ_LIMIT = 20_000_000
SKIPPED = {".git", "node_modules", ".venv", "__pycache__", ".mypy_cache", ".hypothesis"}
SECRET_PLACES = {".ssh", ".gnupg", ".aws", ".kube", ".netrc", ".pgpass", ".git-credentials"}
INSTRUCTIONS = {
    name.lower() for name in (*PROJECT_FILES, "SOUL.md", "USER.md", "MEMORY.md", "SKILL.md")
}
STARTUP_FILES = {
    ".bashrc",
    ".bash_profile",
    ".profile",
    ".zshrc",
    ".zprofile",
    ".zshenv",
    ".bash_logout",
    ".gitconfig",
    ".npmrc",
    ".pypirc",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Fence:
    """Which paths the file tools may touch."""

    home: Home
    roots: Sequence[Path]

    def resolve(self, name: str, *, writing: bool = False) -> Path:
        """Return the real path behind ``name``, links followed. Raises ``ToolError`` if refused."""
        if "\0" in name or not name.strip():
            raise ToolError("The path is empty or holds a NUL. Give a plain path.")
        given = Path(name).expanduser()
        path = (given if given.is_absolute() else self.roots[0] / given).resolve()
        allowed = [*self.roots, self.home.outputs]
        if not any(path == root or root in path.parents for root in allowed):
            shown = ", ".join(str(root) for root in self.roots)
            raise ToolError(
                f"{path} is outside the folders that may be used ({shown}). "
                "Use a path inside them; the user can add one under tools.roots in config.yaml."
            )
        self._refuse_private(path)
        if writing:
            self._refuse_writing(path)
        return path

    def _refuse_private(self, path: Path) -> None:
        if path.name == ".env" or path.name.startswith(".env.") or SECRET_PLACES & set(path.parts):
            raise ToolError(f"{path} holds secrets; no tool opens it. Ask the user instead.")
        root = self.home.root.resolve()
        if root in path.parents and self.home.outputs.resolve() not in path.parents:
            raise ToolError(
                f"{path.relative_to(root)} is in the assistant's home, which has one way in: the "
                "memory tool (for MEMORY.md and USER.md), the search tools, or the user's editor."
            )

    def _refuse_writing(self, path: Path) -> None:
        if path.name.lower() in INSTRUCTIONS or _is_in_skill(path):
            raise ToolError(
                f"{path.name} tells assistants what to do or know; no tool writes it. "
                "Use the memory tool for facts, or show the user the text to put there."
            )
        if path.name in STARTUP_FILES or ".git" in path.parts:
            raise ToolError(
                f"{path} runs code at the user's next login or commit; no tool writes it. "
                "Show the user the change instead."
            )

    def shown(self, path: Path) -> str:
        """Return a path as the model should name it: relative to the first root where it can be."""
        try:
            return str(path.relative_to(self.roots[0])) or "."
        except ValueError:
            return str(path)


def _is_in_skill(path: Path) -> bool:
    """Whether a path lies in a skill of any assistant, however deep."""
    pairs = zip(path.parts, path.parts[1:], strict=False)
    return "skills" in path.parts[-3:-1] or any(
        first in (".agents", ".claude", ".codex") and second == "skills" for first, second in pairs
    )


def toolset(fence: Fence) -> Toolset:
    """Return the file tools behind a fence."""

    def read_file(
        path: Annotated[str, "file, relative to the working folder"],
        start: Annotated[int, "first line, from 1"] = 1,
        lines: Annotated[int, "how many lines"] = LINES_AT_ONCE,
    ) -> str:
        """Read a text file, or a part of it."""
        target = fence.resolve(path)
        text = _read_text(target)
        rows = text.splitlines()
        first = max(start, 1)
        part = rows[first - 1 : first - 1 + max(lines, 1)]
        if not part:
            return f"{fence.shown(target)} has {len(rows)} lines; none at {first}."
        last = first + len(part) - 1
        head = "" if len(part) == len(rows) else f"[lines {first} to {last} of {len(rows)}]\n"
        return head + "\n".join(part)

    def write_file(
        path: Annotated[str, "file; its folders are made"], content: Annotated[str, "all of it"]
    ) -> str:
        """Write a whole text file, replacing what is there."""
        target = fence.resolve(path, writing=True)
        existed = target.exists()
        _write(target, content.encode("utf-8"))
        done = "replaced" if existed else "written"
        return f"{fence.shown(target)} {done}: {len(content.splitlines())} lines."

    def edit_file(
        path: str,
        old_text: Annotated[str, "exact text, in the file once"],
        new_text: str,
        every: Annotated[bool, "replace every occurrence"] = False,
    ) -> str:
        """Replace a text inside a file."""
        target = fence.resolve(path, writing=True)
        raw = _read_bytes(target)
        try:
            text = raw.decode("utf-8")
        except UnicodeDecodeError:
            raise ToolError(f"{path} is no UTF-8 text, so it is not edited.") from None
        if "\r\n" in text:  # the model writes \n; the file keeps its own line ends
            old_text, new_text = (
                t.replace("\r\n", "\n").replace("\n", "\r\n") for t in (old_text, new_text)
            )
        count = text.count(old_text) if old_text else 0
        if count == 0:
            raise ToolError(f"old_text is not in {path}. Read the file and copy the text exactly.")
        if count > 1 and not every:
            raise ToolError(f"old_text is in {path} {count} times. Give more of it, or set every.")
        if old_text == new_text:
            raise ToolError("old_text and new_text are the same; nothing would change.")
        _write(target, text.replace(old_text, new_text).encode("utf-8"))
        return f"{fence.shown(target)}: {count if every else 1} replaced."

    def list_files(path: str = ".", pattern: Annotated[str, "glob, such as **/*.py"] = "*") -> str:
        """List files and folders."""
        target = fence.resolve(path)
        if not target.is_dir():
            raise ToolError(f"{path} is no folder.")
        if ".." in Path(pattern).parts or pattern.startswith("/"):
            raise ToolError("The pattern must stay inside the folder.")
        rows = []
        for found in sorted(target.glob(pattern)):
            if SKIPPED & set(found.relative_to(target).parts[:-1]):
                continue
            name = str(found.relative_to(target))
            rows.append(f"{name}/" if found.is_dir() else f"{name} ({found.lstat().st_size} bytes)")
            if len(rows) == 500:
                rows.append("... more; narrow the pattern")
                break
        return "\n".join(rows) or "(nothing)"

    def search_files(
        query: Annotated[str, "text, or a regular expression"],
        path: str = ".",
        pattern: Annotated[str, "glob of file names"] = "*",
        is_regex: bool = False,
    ) -> str:
        """Search text inside files; answers file:line: text."""
        import regex as regex_module

        target = fence.resolve(path)
        try:
            wanted = regex_module.compile(
                query if is_regex else regex_module.escape(query), regex_module.IGNORECASE
            )
        except regex_module.error as error:
            raise ToolError(f"The expression does not compile: {error}.") from None

        def found(line: str) -> bool:
            try:
                return wanted.search(line, timeout=REGEX_S) is not None
            except TimeoutError:
                raise ToolError("The expression takes too long; write a simpler one.") from None

        rows: list[str] = []
        for file in _text_files(target, pattern):
            try:
                fence.resolve(str(file))
                text = _read_text(file)
            except (ToolError, OSError):
                continue
            for number, line in enumerate(text.splitlines(), 1):
                if found(line[:2000]):
                    rows.append(f"{fence.shown(file)}:{number}: {line.strip()[:200]}")
            if len(rows) >= 100:
                return "\n".join([*rows[:100], "... more; narrow the search"])
        return "\n".join(rows) or "Nothing found."

    return Toolset(
        name="files",
        tools=(
            make_tool(read_file, untrusted=True),
            make_tool(write_file, effect="write"),
            make_tool(edit_file, effect="write"),
            make_tool(list_files),
            make_tool(search_files, untrusted=True),
        ),
    )


def _read_bytes(path: Path) -> bytes:
    try:
        if path.stat().st_size > READ_LIMIT:
            raise ToolError(f"{path} is larger than {READ_LIMIT // 1_000_000} MB. Use a command.")
        if not path.is_file():
            raise ToolError(f"{path} is no regular file.")
        return path.read_bytes()
    except FileNotFoundError:
        near = _near(path)
        raise ToolError(f"There is no file {path}.{near}") from None
    except OSError as error:
        raise ToolError(f"{path} cannot be read: {error.strerror}.") from None


def _near(path: Path) -> str:
    import difflib

    try:
        names = os.listdir(path.parent)
    except OSError:
        return ""
    close = difflib.get_close_matches(path.name, names, n=1)
    return f" Did you mean {close[0]}?" if close else ""


def _read_text(path: Path) -> str:
    raw = _read_bytes(path)
    for mark, encoding in ((b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16")):
        if raw.startswith(mark):
            return raw.decode(encoding, "replace")
    if b"\0" in raw[:8000]:
        raise ToolError(f"{path} is binary ({len(raw)} bytes).")
    return raw.decode("utf-8-sig", "replace")


def _write(path: Path, content: bytes) -> None:
    try:
        write_atomic(path, content, mode=0o644)
    except OSError as error:
        raise ToolError(f"{path} cannot be written: {error.strerror}.") from None


def _text_files(target: Path, pattern: str) -> Iterator[Path]:
    if target.is_file():
        yield target
        return
    seen = 0
    for folder, names, files in os.walk(target):
        names[:] = sorted(name for name in names if name not in SKIPPED)
        for name in sorted(files):
            file = Path(folder) / name
            if file.match(pattern) and not file.is_symlink() and file.stat().st_size < 2_000_000:
                yield file
                seen += 1
                if seen >= 20_000:
                    return
