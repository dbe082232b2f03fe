"""What a wheel holds: six packages by name, the template of a home, and the rule tables."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest
from hatchling.builders.wheel import WheelBuilder

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def names(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    built = next(WheelBuilder(str(ROOT)).build(directory=str(tmp_path_factory.mktemp("wheel"))))
    with zipfile.ZipFile(built) as wheel:
        return set(wheel.namelist())


def test_the_six_packages_and_nothing_else(names: set[str]) -> None:
    tops = {name.split("/")[0] for name in names if ".dist-info" not in name}
    assert tops == {"assistant", "memory", "skills_learning", "dreaming", "skills_guard", "cron"}


def test_the_home_and_the_rules_are_shipped(names: set[str]) -> None:
    for path in (ROOT / "home").rglob("*"):
        if path.is_file():
            assert f"assistant/_home/{path.relative_to(ROOT / 'home')}" in names
    assert "skills_guard/rules/prompt_injection.yaml" in names
    assert any(name.endswith("entry_points.txt") for name in names)
