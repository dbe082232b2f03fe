"""What the design says of imports, sizes and speed, kept by a test."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = ("assistant", "memory", "skills_learning", "dreaming", "skills_guard", "cron")
MAY_IMPORT = {
    "memory": set(),
    "skills_guard": set(),
    "cron": set(),
    "skills_learning": {"memory", "skills_guard"},
    "dreaming": {"memory"},
    "assistant": {"memory", "skills_guard", "cron", "skills_learning", "dreaming"},
}
MODULES = [path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))]


def imports(path: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
    return found


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_module_keeps_to_its_level(path: Path) -> None:
    own = path.relative_to(ROOT).parts[0]
    used = {name.split(".")[0] for name in imports(path)} & {*PACKAGES, "tests"}
    assert used - {own} <= MAY_IMPORT[own]


def test_leaves_are_named_by_the_composition_root_alone() -> None:
    leaves = {
        "openai_chat",
        "anthropic_messages",
        "offline",
        "scripted",
        "files",
        "shell",
        "web",
        "todo",
    }
    for path in (ROOT / "assistant").glob("*.py"):
        if path.name != "app.py":
            named = {
                name.rsplit(".", 1)[-1]
                for name in imports(path)
                if name.startswith(("assistant.providers.", "assistant.tools."))
            }
            assert not named & leaves, path


def test_the_environment_is_read_in_one_place() -> None:
    for path in MODULES:
        if path.name != "config.py":
            assert "os.environ" not in path.read_text() and "getenv" not in path.read_text(), path


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_module_says_what_it_owns_and_can_be_read_in_a_sitting(path: Path) -> None:
    tree = ast.parse(path.read_text())
    assert ast.get_docstring(tree)
    assert path.read_text().count("\n") <= 450
    public = [node for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)]
    public += [
        method
        for node in public
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
        for method in node.body
        if isinstance(method, ast.FunctionDef)
    ]
    for node in public:
        if not node.name.startswith("_"):
            assert ast.get_docstring(node), f"{path}:{node.lineno} {node.name}"


HEAVY = (
    "openai",
    "anthropic",
    "mcp",
    "chromadb",
    "torch",
    "sqlite_utils",
    "numpy",
    "pydantic",
    "rich",
)


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["sessions", "--help"]])
def test_help_imports_nothing_heavy(arguments: list[str]) -> None:
    script = (
        f"import sys; sys.argv = ['reverie', *{arguments!r}]\n"
        "from assistant.cli import main\n"
        "try: main()\nexcept SystemExit: pass\n"
        f"print(sorted(set(sys.modules) & set({HEAVY!r})))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=ROOT)
    assert done.stdout.splitlines()[-1] == "[]", done.stdout + done.stderr
