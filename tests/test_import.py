"""Taking over what others kept: all layouts, nothing twice, nothing shredded, the source untouched."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from memory.imports import entries_of
from memory.session_search import search
from memory.sessions import SessionStore
from tests.support.cli import reverie


@pytest.fixture
def at(tmp_path: Path) -> Path:
    return tmp_path / "home"


def test_hermes_memory_and_skills(at: Path, tmp_path: Path) -> None:
    source = tmp_path / "hermes"
    (source / "memories").mkdir(parents=True)
    (source / "memories" / "USER.md").write_text("Likes tea\n§\nLives in Graz\nnear the park\n")
    (source / "memories" / "MEMORY.md").write_text("Port is 8443\n§\nI use `uv`\n")
    (source / "skills" / "dev" / "deploy").mkdir(parents=True)
    (source / "skills" / "dev" / "deploy" / "SKILL.md").write_text("---\nname: deploy\n---\nx")
    reverie(at, "-m", "remember that I play chess")
    mine = (at / "USER.md").read_text()
    before = {p: p.read_bytes() for p in source.rglob("*") if p.is_file()}
    dry = reverie(at, "import", "hermes", str(source), "--dry-run")
    assert "2 would be imported" in dry.stdout and (at / "USER.md").read_text() == mine
    done = reverie(at, "import", "hermes", str(source))
    assert done.returncode == 0, done.stderr
    text = (at / "USER.md").read_text()
    assert text.startswith(mine) and "- Lives in Graz\n  near the park\n" in text
    assert (at / "USER.md.bak").read_text() == mine
    assert (at / "skills" / ".quarantine" / "deploy" / "SKILL.md").exists()
    again = reverie(at, "import", "hermes", str(source))
    assert "0 imported" in again.stdout and (at / "USER.md").read_text() == text
    assert before == {p: p.read_bytes() for p in source.rglob("*") if p.is_file()}


@pytest.mark.parametrize("layout", ["workspace", "workspace-main", "workspace-7f", "elsewhere"])
def test_openclaw_in_every_layout(at: Path, tmp_path: Path, layout: str) -> None:
    source = tmp_path / "claw"
    folder = source / layout if layout != "elsewhere" else tmp_path / "other place"
    (folder / "memory").mkdir(parents=True)
    source.mkdir(exist_ok=True)
    (source / "openclaw.json").write_text(
        json.dumps({"agents": {"defaults": {"workspace": str(folder)}}})
    )
    (folder / "MEMORY.md").write_text(
        "# M\n\n- The NAS is called heron\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n```\ncode - kept\n```\n"
    )
    (folder / "memory" / "2026-01-05.md").write_text("- met Ines\n")
    done = reverie(at, "import", "openclaw", str(source))
    assert done.returncode == 0, done.stdout + done.stderr
    text = (at / "MEMORY.md").read_text()
    assert "heron" in text and "| 1 | 2 |" in text and "code - kept" in text
    assert (at / "memory" / "2026-01-05.md").read_text() == "- met Ines\n"


def test_nothing_found_is_an_error(at: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    for kind in ("hermes", "openclaw", "chatgpt", "claude"):
        done = reverie(at, "import", kind, str(tmp_path / "empty"))
        assert done.returncode == 2 and "Next step" in done.stderr, kind
    (tmp_path / "conversations.json").write_text("{half")
    assert reverie(at, "import", "chatgpt", str(tmp_path)).returncode == 2


def node(
    parent: str | None,
    children: list[str],
    role: str = "",
    text: str = "",
    at: float = 0,
    **more: Any,
) -> dict[str, Any]:
    message = {
        "author": {"role": role},
        "content": {"content_type": "text", "parts": [text]},
        "create_time": at,
        "metadata": more,
    }
    return {"parent": parent, "children": children, "message": message if role else None}


def test_chatgpt_branches_attachments_and_times(at: Path, tmp_path: Path) -> None:
    mapping = {
        "r": node(None, ["u"]),
        "u": node(
            "r",
            ["a1", "a2"],
            "user",
            "Plan a trip to Lisbon",
            1_600_000_000,
            attachments=[{"name": "map.pdf"}],
        ),
        "a1": node("u", [], "assistant", "Old answer about trams", 1_600_000_010),
        "a2": node("u", ["u2"], "assistant", "New answer about ferries", 1_600_000_020),
        "u2": node("a2", [], "user", "谢谢 🙂", 1_600_000_030),
    }
    export = [
        {
            "id": "c1",
            "title": "Lisbon",
            "create_time": 1_600_000_000,
            "mapping": mapping,
            "current_node": "u2",
        },
        {"id": "c2", "title": "broken"},
    ]
    archive = tmp_path / "export.zip"
    with zipfile.ZipFile(archive, "w") as z:
        z.writestr("conversations.json", json.dumps(export))
    done = reverie(at, "import", "chatgpt", str(archive))
    assert "2 imported" in done.stdout and "skipped: conversation 2" in done.stdout, done.stdout
    store = SessionStore(at / "state.db")
    hit = search(store, "ferries")[0]
    assert (hit.created.year, hit.title, hit.source) == (2020, "Lisbon", "import")
    assert search(store, "trams")[0].title == "Lisbon (branch 1)"
    assert search(store, "map.pdf") and search(store, "谢谢")
    store.close()
    assert "0 imported" in reverie(at, "import", "chatgpt", str(archive)).stdout
    assert "2020-09-13" in reverie(at, "sessions", "search", "Lisbon").stdout


def test_claude_conversations(at: Path, tmp_path: Path) -> None:
    export = [
        {
            "uuid": "x1",
            "name": "Garden",
            "created_at": "2025-03-01T10:00:00Z",
            "chat_messages": [
                {
                    "sender": "human",
                    "text": "When do I prune roses?",
                    "created_at": "2025-03-01T10:00:01Z",
                    "attachments": [{"file_name": "rose.jpg"}],
                },
                {
                    "sender": "assistant",
                    "content": [{"type": "text", "text": "In late winter."}],
                    "created_at": "2025-03-01T10:00:09Z",
                },
            ],
        }
    ]
    (tmp_path / "conversations.json").write_text(json.dumps(export))
    assert "1 imported (2 messages)" in reverie(at, "import", "claude", str(tmp_path)).stdout
    found = json.loads(reverie(at, "sessions", "search", "prune roses", "--json").stdout)["hits"]
    assert found[0]["created"].startswith("2025-03-01") and "rose.jpg" in found[0]["snippet"]


def test_a_delimiter_inside_a_fact_cannot_be_told_and_prose_is_kept_whole(tmp_path: Path) -> None:
    path = tmp_path / "MEMORY.md"
    path.write_text("law text\n§\nsecond part\n")
    assert entries_of(path) == ["law text", "second part"]
    path.write_text("# Title\n\nA paragraph of prose.\n\n- a bullet\n")
    assert entries_of(path) == ["a bullet", "A paragraph of prose."]
