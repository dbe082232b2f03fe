"""The built-in tools, called as a model calls them; and how functions become tools."""

from __future__ import annotations

import http.server
import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import pytest

from assistant.home import Home
from assistant.tools import files, shell, web
from assistant.tools.registry import CallContext, Cancel, Registry, Toolset, make_tool
from memory.transcript import ToolCall


def context(**more: Any) -> CallContext:
    values: dict[str, Any] = {
        "session": "s",
        "turn": 1,
        "cancel": Cancel(),
        "approve": lambda *_: True,
    }
    return CallContext(**{**values, **more})


def call(toolset: Toolset, name: str, tmp_path: Path, /, **arguments: Any) -> tuple[str, bool]:
    registry = Registry([toolset], outputs=tmp_path / "outputs")
    wish = ToolCall(id="c", name=name, arguments=json.dumps(arguments))
    outcome = registry.execute(wish, context())
    return outcome.text, outcome.error


# -- registry -----------------------------------------------------------------------------------


def add(first: Annotated[int, "one number"], second: int = 2, note: str | None = None) -> str:
    """Add two
    numbers.

    This is for developers.
    """
    return str(first + second)


def test_a_function_is_a_tool() -> None:
    tool = make_tool(add)
    assert (tool.name, tool.description) == ("add", "Add two numbers.")
    assert tool.parameters == {
        "type": "object",
        "properties": {
            "first": {"type": "integer", "description": "one number"},
            "second": {"type": "integer"},
            "note": {"type": "string"},
        },
        "required": ["first"],
    }
    assert tool.run({"first": 1}, context()) == "3"


def test_lists_checks_and_the_order_of_definitions(tmp_path: Path) -> None:
    def zeta() -> str:
        """Z."""
        return ""

    missing = Toolset(name="x", tools=(make_tool(zeta),), check=lambda: "no key for it")
    registry = Registry(
        [missing, files.toolset(files.Fence(home=Home(tmp_path / "h"), roots=[tmp_path]))],
        outputs=tmp_path,
        deny=["write_file"],
    )
    assert registry.names == ["edit_file", "list_files", "read_file", "search_files"]
    outcome = registry.execute(ToolCall(id="c", name="zeta", arguments="{}"), context())
    assert outcome.error and "no key for it" in outcome.text
    only = Registry(
        [files.toolset(files.Fence(home=Home(tmp_path / "h"), roots=[tmp_path]))],
        outputs=tmp_path,
        allow=["read_file"],
    )
    assert only.names == ["read_file"]


# -- files --------------------------------------------------------------------------------------


@pytest.fixture
def fenced(tmp_path: Path) -> Toolset:
    home = Home(tmp_path / "home")
    home.create()
    (tmp_path / "work").mkdir()
    return files.toolset(files.Fence(home=home, roots=[tmp_path / "work"]))


def test_reading_in_parts_and_encodings(fenced: Toolset, tmp_path: Path) -> None:
    work = tmp_path / "work"
    (work / "a.txt").write_text("\n".join(f"line {n}" for n in range(1, 2001)))
    text, _ = call(fenced, "read_file", tmp_path, path="a.txt", start=1999)
    assert text == "[lines 1999 to 2000 of 2000]\nline 1999\nline 2000"
    assert "none at 3000" in call(fenced, "read_file", tmp_path, path="a.txt", start=3000)[0]
    (work / "u16.txt").write_bytes("héllo 好".encode("utf-16"))
    assert call(fenced, "read_file", tmp_path, path="u16.txt")[0] == "héllo 好"
    (work / "bad.txt").write_bytes(b"caf\xe9")
    assert call(fenced, "read_file", tmp_path, path="bad.txt")[0] == "caf\ufffd"
    (work / "bin").write_bytes(b"\0\1\2")
    assert call(fenced, "read_file", tmp_path, path="bin")[1]
    assert "Did you mean a.txt" in call(fenced, "read_file", tmp_path, path="a.tx")[0]


def test_editing_is_exact_and_keeps_line_ends(fenced: Toolset, tmp_path: Path) -> None:
    file = tmp_path / "work" / "a.txt"
    file.write_bytes(b"one\r\ntwo\r\none\r\n")
    text, error = call(fenced, "edit_file", tmp_path, path="a.txt", old_text="one", new_text="1")
    assert error and "2 times" in text
    call(fenced, "edit_file", tmp_path, path="a.txt", old_text="one\ntwo", new_text="1\n2")
    assert file.read_bytes() == b"1\r\n2\r\none\r\n"
    assert call(fenced, "edit_file", tmp_path, path="a.txt", old_text="x", new_text="y")[1]
    assert call(fenced, "edit_file", tmp_path, path="a.txt", old_text="1", new_text="1")[1]
    assert call(fenced, "edit_file", tmp_path, path="a.txt", old_text="", new_text="1")[1]


FORBIDDEN = [
    "../outside.txt",
    "/etc/passwd",
    "a/../../outside.txt",
    "link/passwd",
    "~/.ssh/id_rsa",
    ".env",
    "sub/.env.local",
    "nul\0byte",
    "",
    "../home/MEMORY.md",
    "../home/USER.md",
    "../home/state.db",
    "../home/skills/x/SKILL.md",
    "../home/config.yaml",
]


@pytest.mark.parametrize("path", FORBIDDEN)
def test_paths_that_are_refused(fenced: Toolset, tmp_path: Path, path: str) -> None:
    (tmp_path / "work" / "link").symlink_to("/etc")
    (tmp_path / "outside.txt").write_text("classified")
    for name, more in (("read_file", {}), ("write_file", {"content": "x"})):
        text, error = call(fenced, name, tmp_path, path=path, **more)
        assert error, path
        assert "classified" not in text


@pytest.mark.parametrize(
    "path",
    [
        "AGENTS.md",
        "claude.md",
        ".cursorrules",
        "SOUL.md",
        "USER.md",
        "skills/x/SKILL.md",
        ".bashrc",
        ".git/hooks/pre-commit",
    ],
)
def test_what_steers_assistants_or_runs_by_itself_is_not_written(
    fenced: Toolset, tmp_path: Path, path: str
) -> None:
    _, error = call(fenced, "write_file", tmp_path, path=path, content="x")
    assert error and not (tmp_path / "work" / path).exists()


def test_a_home_as_working_folder_gives_no_way_in(tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    home.create()
    inside = files.toolset(files.Fence(home=home, roots=[home.root]))
    for name in ("MEMORY.md", "HEARTBEAT.md", "Skills/a/b.md", ".input_history"):
        assert call(inside, "write_file", tmp_path, path=name, content="x")[1], name
    (home.outputs / "r.txt").write_text("kept")
    assert call(inside, "read_file", tmp_path, path="outputs/r.txt") == ("kept", False)


def test_listing_and_searching(fenced: Toolset, tmp_path: Path) -> None:
    work = tmp_path / "work"
    (work / "pkg").mkdir()
    (work / "pkg" / "a.py").write_text("x = 1\nNeedle here\n")
    (work / ".git").mkdir()
    (work / ".git" / "b.py").write_text("needle")
    assert call(fenced, "list_files", tmp_path, pattern="**/*.py")[0] == "pkg/a.py (18 bytes)"
    assert call(fenced, "list_files", tmp_path, pattern="../*")[1]
    assert call(fenced, "search_files", tmp_path, query="needle")[0] == "pkg/a.py:2: Needle here"
    assert call(fenced, "search_files", tmp_path, query="N.*e$", is_regex=True)[0].endswith("here")
    assert call(fenced, "search_files", tmp_path, query="(", is_regex=True)[1]
    assert call(fenced, "search_files", tmp_path, query="absent")[0] == "Nothing found."


def test_an_evil_expression_ends(fenced: Toolset, tmp_path: Path) -> None:
    (tmp_path / "work" / "a.txt").write_text("a" * 60 + "b\n")
    start = time.monotonic()
    text, error = call(fenced, "search_files", tmp_path, query="(a|aa)+$", is_regex=True)
    assert time.monotonic() - start < 5
    assert (error and "too long" in text) or text == "Nothing found."


# -- shell --------------------------------------------------------------------------------------


def run_shell(tmp_path: Path, command: str, **more: Any) -> tuple[str, bool]:
    options: dict[str, Any] = {
        "allow": (),
        "timeout_s": 20,
        "environment": {"PATH": "/usr/bin:/bin"},
    }
    approve = more.pop("approve", lambda *_: True)
    arguments = {"command": command, **more.pop("arguments", {})}
    toolset = shell.toolset(folder=tmp_path, **{**options, **more})
    registry = Registry([toolset], outputs=tmp_path / "outputs")
    wish = ToolCall(id="c", name="run_command", arguments=json.dumps(arguments))
    outcome = registry.execute(wish, context(approve=approve))
    return outcome.text, outcome.error


def test_commands_succeed_fail_and_print_anything(tmp_path: Path) -> None:
    assert run_shell(tmp_path, "echo hi; echo err >&2") == ("hi\nerr", False)
    assert run_shell(tmp_path, "exit 3") == ("exit code 3", True)
    assert run_shell(tmp_path, r"printf '\264\377ok'") == ("\ufffd\ufffdok", False)
    assert run_shell(tmp_path, "true") == ("(no output, exit code 0)", False)
    assert run_shell(tmp_path, "cat")[0] == "(no output, exit code 0)"  # no input to wait for
    assert run_shell(tmp_path, "  ")[1]


def test_a_time_limit_ends_the_whole_group(tmp_path: Path) -> None:
    start = time.monotonic()
    text, error = run_shell(
        tmp_path,
        "echo begun; (trap '' TERM; sleep 3; touch late) & sleep 60",
        arguments={"timeout_s": 0.3},
    )
    assert error and "time limit" in text and "begun" in text
    assert time.monotonic() - start < 2
    time.sleep(3.2)
    assert not (tmp_path / "late").exists()


def test_endless_output_ends(tmp_path: Path) -> None:
    text, error = run_shell(tmp_path, "yes")
    assert error and "MB of output" in text


def test_a_child_that_stays_does_not_hold_up_the_result(tmp_path: Path) -> None:
    start = time.monotonic()
    assert run_shell(tmp_path, "sleep 2 & echo done")[0] == "done"
    assert time.monotonic() - start < 1.5


def test_commands_are_asked_for_unless_they_are_listed(tmp_path: Path) -> None:
    asked: list[str] = []

    def approve(tool: str, what: str, why: str) -> bool:
        asked.append(what)
        return False

    allow = ("git status", "ls *")
    assert not run_shell(tmp_path, "ls -la", allow=allow, approve=approve)[1]
    for command in (
        "ls; rm x",
        "ls $(rm x)",
        "ls > f",
        "lsof",
        "git status -s",
        "ls `x`",
        "ls\nrm x",
        "ls && x",
    ):
        text, error = run_shell(tmp_path, command, allow=allow, approve=approve)
        assert error and "did not allow" in text
    assert len(asked) == 8


# -- web ----------------------------------------------------------------------------------------

PAGE = (
    "<html><head><title>T</title><script>evil()</script></head><body><nav>menu</nav><article>"
    "<h1>Tea</h1><p>Green tea is brewed at eighty degrees, say the people of Graz. "
    "It should stand for two minutes and be drunk at once.</p></article></body></html>"
)


@pytest.fixture
def site() -> Iterator[str]:
    class Handler(http.server.BaseHTTPRequestHandler):
        def log_message(self, *args: Any) -> None:
            pass

        def do_GET(self) -> None:
            kinds = {
                "/bin": "image/png",
                "/json": "application/json",
                "/plain": "text/plain; charset=latin-1",
            }
            bodies = {
                "/json": b'{"a": 1}',
                "/plain": b"caf\xe9",
                "/big": b"x" * 50_000,
                "/bin": b"\x89PNG",
            }
            if self.path.startswith("/to/"):
                self.send_response(302)
                self.send_header("location", self.path[4:])
                self.end_headers()
                return
            if self.path == "/missing":
                self.send_error(404)
                return
            if self.path == "/slow":
                time.sleep(3)
            self.send_response(200)
            self.send_header("content-type", kinds.get(self.path, "text/html; charset=utf-8"))
            self.end_headers()
            self.wfile.write(bodies.get(self.path, PAGE.encode()))

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()


def fetch(tmp_path: Path, url: str, **more: Any) -> tuple[str, bool]:
    options = {"timeout_s": 20.0, "max_bytes": 20_000, "allow_hosts": ("127.0.0.1",), **more}
    return call(web.toolset(**options), "fetch_url", tmp_path, url=url)


def test_pages_become_text(tmp_path: Path, site: str) -> None:
    text, error = fetch(tmp_path, f"{site}/page")
    assert not error
    assert "eighty degrees" in text and "evil" not in text and "not instructions" in text
    assert '{"a": 1}' in fetch(tmp_path, f"{site}/json")[0]
    assert "café" in fetch(tmp_path, f"{site}/plain")[0]
    assert "[cut after 20000 bytes]" in fetch(tmp_path, f"{site}/big")[0]
    assert "eighty" in fetch(tmp_path, f"{site}/to//page")[0]


def test_what_cannot_be_fetched_says_why(tmp_path: Path, site: str) -> None:
    for url, word in (
        (f"{site}/missing", "404"),
        (f"{site}/bin", "image/png"),
        (f"{site}/slow", "in time"),
        (f"{site}/to//to//to//to//to//to//to//page", "redirects"),
        ("ftp://example.com/x", "no http"),
        ("file:///etc/passwd", "no http"),
        ("http://user:pw@127.0.0.1/", "password"),
        ("not an address", "no http"),
    ):
        text, error = fetch(tmp_path, url, timeout_s=1.0 if "slow" in url else 20.0)
        assert error and word in text, url


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1/",
        "http://localhost:8080/",
        "http://[::1]/",
        "http://0.0.0.0/",
        "http://10.0.0.1/",
        "http://169.254.169.254/latest/meta-data",
        "http://[::ffff:127.0.0.1]/",
        "http://[64:ff9b::7f00:1]/",
        "http://2130706433/",
        "http://0x7f.1/",
        "http://100.64.0.1/",
        "http://[fe80::1]/",
    ],
)
def test_private_addresses_are_refused(tmp_path: Path, url: str) -> None:
    text, error = fetch(tmp_path, url, allow_hosts=())
    assert error and ("no public address" in text or "looked up" in text), text


def test_a_redirect_into_the_network_is_refused(tmp_path: Path, site: str) -> None:
    port = site.rsplit(":", 1)[1]
    text, error = fetch(tmp_path, f"{site}/to/http://localhost:{port}/page")
    assert error and "no public address" in text
