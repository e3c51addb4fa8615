"""The house rules on files that no linter knows."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

PROJECT = Path(__file__).parents[1]
SOURCES = sorted([*(PROJECT / "src").rglob("*.py"), *(PROJECT / "lab").rglob("*.py")])
LONGEST = 400


def test_no_file_is_too_long() -> None:
    lengths = {path.relative_to(PROJECT).as_posix(): len(path.read_text().splitlines()) for path in SOURCES}
    assert len(lengths) > 20, "the package was not found"
    assert {name: lines for name, lines in lengths.items() if lines > LONGEST} == {}


def test_nothing_is_called_utils() -> None:
    assert [path for path in SOURCES if path.stem in ("utils", "helpers", "common", "misc")] == []


def test_no_two_classes_share_a_name() -> None:
    names = Counter(name for path in SOURCES for name in re.findall(r"^class (\w+)", path.read_text(), re.MULTILINE))
    assert names["Selection"] == 1, "the classes were not found"
    assert [name for name, times in names.items() if times > 1] == []


def test_the_package_is_typed() -> None:
    assert (PROJECT / "src" / "policylearn" / "py.typed").exists()


def test_make_lint_checks_the_rooms() -> None:
    recipe = (PROJECT / "Makefile").read_text().split("\nlint:")[1].split("\n\n")[0]
    for tool in ("ruff check", "ruff format --check", "mypy", "lint-imports"):
        assert tool in recipe


def test_constraints_name_versions_alone() -> None:
    lines = (PROJECT / "constraints.txt").read_text().splitlines()
    pins = [line for line in lines if line and not line.startswith("#")]
    assert "torch==2.13.0" in pins
    assert [pin for pin in pins if pin.count("==") != 1 or "/" in pin or "+" in pin or "@" in pin] == []
