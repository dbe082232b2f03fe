"""Owns ``reverie export``: everything in open formats, for reading elsewhere."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from assistant.commands.memory import place
from assistant.commands.sessions import markdown, whole
from assistant.errors import UsageError
from memory.atomic import write_atomic
from memory.sessions import SessionStore


def run(folder: Path) -> None:
    """Write the files, each session as Markdown and JSON lines, and the history."""
    at = place()
    if folder.exists() and any(folder.iterdir() if folder.is_dir() else [folder]):
        raise UsageError(f"{folder} is not empty. Next step: name a new folder.")
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    copied = 0
    for pattern in (
        "*.md",
        "config.yaml",
        "memory/**/*.md",
        "skills/**/*",
        "outputs/*",
        "cron/**/*",
    ):
        for source in at.home.root.glob(pattern):
            if source.is_file() and not source.is_symlink():
                write_atomic(folder / source.relative_to(at.home.root), source.read_bytes())
                copied += 1
    store = SessionStore(at.home.database)
    sessions = store.recent(10_000_000)
    lines = []
    for session in sessions:
        data = whole(store, session)
        lines.append(json.dumps(data, ensure_ascii=False))
        text = markdown(store, session) + "\n"
        write_atomic(folder / "sessions" / f"{session.id}.md", text.encode("utf-8"))
    write_atomic(folder / "sessions.jsonl", ("\n".join(lines) + "\n").encode("utf-8"))
    if (at.home.root / ".git").is_dir():
        shutil.copytree(at.home.root / ".git", folder / ".git")
    print(
        f"Exported to {folder}: {copied} files, {len(sessions)} sessions (sessions/*.md and "
        "sessions.jsonl), and the history (.git). Secrets (.env) are left out."
    )
