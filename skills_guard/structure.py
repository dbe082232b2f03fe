"""Owns what is odd about a skill as a folder: links, names, types that are not what they say, padding."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping

from skills_guard.decoding import MEDIA, PICTURES, kind_of
from skills_guard.findings import Finding, Severity
from skills_guard.reading import Loaded

CATEGORY = "structure"
RULES: dict[str, tuple[Severity, str, str]] = {
    "link-leaves-folder": (
        "dangerous",
        "A link leads out of the skill: whoever reads it reads a file of yours, or writes there.",
        "Put a copy of the file into the skill, or leave it out.",
    ),
    "zip-slip": (
        "dangerous",
        "An archive or a path holds a name that leads out of the folder it is unpacked into.",
        "Pack the archive anew with plain names.",
    ),
    "path-leaves-folder": (
        "dangerous",
        "A file of the skill would be written outside of the skill's folder.",
        "Give it a name within the folder.",
    ),
    "disguised-executable": (
        "dangerous",
        "A program wears the name of a picture, a font or a document.",
        "Take it out, or name it what it is.",
    ),
    "disguised-script": (
        "dangerous",
        "A script wears the name of a picture, a font or a document.",
        "Take it out, or name it what it is.",
    ),
    "executable-binary": (
        "caution",
        "A compiled program cannot be read, so nobody knows what it does.",
        "Ship the source, or have the user install the program from its maker.",
    ),
    "opaque-binary": (
        "note",
        "A file of unknown type: nothing is known of what it holds.",
        "Leave it out, or use a common format.",
    ),
    "special-file": (
        "caution",
        "A pipe, a socket or a device is no part of a skill.",
        "Take it out.",
    ),
    "odd-name": (
        "caution",
        "A file's name holds characters that hide or break what is shown.",
        "Rename it with letters, digits, hyphens and dots.",
    ),
    "broken-link": ("note", "A link leads to nothing.", "Take it out."),
    "archive-bomb": (
        "caution",
        "An archive grows beyond measure when it is unpacked.",
        "Take it out.",
    ),
    "locked-archive": (
        "caution",
        "An archive is locked with a password, so it cannot be looked into.",
        "Pack it without a password.",
    ),
    "hidden-script": (
        "caution",
        "A hidden file or folder holds something to run, where nobody looks.",
        "Move it to scripts/.",
    ),
    "hidden-script-run": (
        "dangerous",
        "The text has a script run that lies in a hidden file or folder.",
        "Move it to scripts/ and say what it does.",
    ),
    "ignore-file-hides": (
        "caution",
        "The skill brings a file that tells scanners what not to look at. It is not honoured.",
        "Take it out.",
    ),
    "padding": (
        "caution",
        "A long run of empty lines pushes text out of sight.",
        "Take the empty lines out.",
    ),
    "padding-hides-instructions": (
        "dangerous",
        "Text that speaks to the assistant stands behind a long run of empty lines.",
        "Take it out.",
    ),
    "data-behind-picture": (
        "caution",
        "A picture goes on behind its end: something else is packed into it.",
        "Save the picture anew.",
    ),
    "no-skill-file": ("note", "There is no SKILL.md.", "A skill needs one at its top."),
    "nested-skill": (
        "note",
        "A skill lies within a skill: it may be loaded with it.",
        "Install it by itself.",
    ),
    "many-files": (
        "note",
        "A skill of very many files cannot be looked through.",
        "Leave out what is not needed.",
    ),
}
_IGNORES = re.compile(
    r"(?:^|/)\.(?:skill|guard|scan|clawhub|semgrep|gitleaks|trufflehog|bandit)\w{0,12}ignore$",
    re.IGNORECASE,
)
_HIDDEN = re.compile(
    r"(?:^|/)\.(?!(?:github|vscode|claude|cursor|config|circleci|husky|devcontainer|well-known)(?:/|$))[^/!]+"
)
_BLANK_RUN = re.compile(r"(?:[ \t\u00a0\u3000]*\r?\n){150,}")
_ADDRESSED = re.compile(
    r"\b(?:agent|assistant|ai|model|claude|gpt|you must|do not tell|ignore|secret|read|send|fetch|run|execute"
    r"|upload|open)\b|忽略|执行|不要告诉",
    re.IGNORECASE,
)
_MUCH = 1_000


def finding(rule: str, name: str, detail: str = "", line: int = 1) -> Finding:
    """Return a finding of one of :data:`RULES`."""
    severity, why, fix = RULES[rule]
    excerpt = (f"{posixpath.basename(name)} → {detail}" if detail else name)[:200]
    return Finding(
        rule=rule,
        category=CATEGORY,
        severity=severity,
        line=line,
        excerpt=excerpt,
        why=why,
        fix=fix,
        file=name,
    )


def judge_path(loaded: Loaded, name: str) -> None:
    """Note a path that would leave the folder of a skill."""
    flat = posixpath.normpath(name.replace("\\", "/"))
    if flat.startswith(("/", "../")) or flat == ".." or re.match(r"^[A-Za-z]:", flat):
        loaded.odd("path-leaves-folder", name)
    if not name.isprintable():
        loaded.odd("odd-name", name)


def findings(loaded: Loaded, texts: Mapping[str, str]) -> list[Finding]:
    """Return what is odd about the files; ``texts`` holds those that are text, in all their views."""
    found = [finding(rule, name, detail) for rule, name, detail in loaded.oddities]
    skills = [
        name for name in loaded.files if posixpath.basename(name) == "SKILL.md" and "!" not in name
    ]
    if not skills and len(loaded.files) != 1:
        found.append(finding("no-skill-file", ""))
    found += [finding("nested-skill", name) for name in skills if "/" in name][:5]
    if len(loaded.files) > _MUCH:
        found.append(finding("many-files", ""))
    everything = "\n".join(texts.values())
    for name, raw in loaded.files.items():
        found += _of_file(name, raw, texts.get(name), everything)
    return found


def _of_file(name: str, raw: bytes, text: str | None, everything: str) -> Iterator[Finding]:
    kind, low = kind_of(raw), name.lower()
    if kind == "executable":
        yield finding("disguised-executable" if low.endswith(MEDIA) else "executable-binary", name)
    elif kind == "binary" and raw:
        yield finding("opaque-binary", name)
    elif (
        text is not None
        and low.endswith(PICTURES)
        and raw.startswith((b"#!", b"\xff\xfe#", b"<?php", b"@echo"))
    ):
        yield finding("disguised-script", name)
    if low.endswith(".png") and kind == "image":
        end = raw.find(b"IEND")
        if end > 0 and len(raw) - end > 72:
            yield finding("data-behind-picture", name)
    if _IGNORES.search(name):
        yield finding("ignore-file-hides", name)
    elif (
        text is not None
        and _HIDDEN.search(name)
        and (text.lstrip("\ufeff").startswith("#!") or _is_script(name))
    ):
        run = re.search(
            rf"\b(?:run|execute|start|call|launch|sh|bash|python3?|node|source)\b[^\n]{{0,40}}{re.escape(name)}",
            everything,
            re.IGNORECASE,
        )
        yield finding("hidden-script-run" if run else "hidden-script", name)
    if text is not None and (gap := _BLANK_RUN.search(raw.decode("utf-8", "replace"))):
        plain = raw.decode("utf-8", "replace")
        behind = plain[gap.end() : gap.end() + 2_000]
        if behind.strip():
            rule = (
                "padding-hides-instructions"
                if low.endswith(".md") and _ADDRESSED.search(behind)
                else "padding"
            )
            yield finding(rule, name, line=plain.count("\n", 0, gap.end()) + 1)


def _is_script(name: str) -> bool:
    return name.lower().endswith(
        (".sh", ".py", ".js", ".mjs", ".ps1", ".bat", ".cmd", ".rb", ".pl", ".command")
    )
