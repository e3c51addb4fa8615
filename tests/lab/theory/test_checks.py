"""Every check holds, and the documentation says what it found."""

from __future__ import annotations

from itertools import takewhile
from pathlib import Path

import pytest

from lab.theory.checks import CHECKS, HEADINGS, Check, check_table
from lab.theory.checks import regular as regular_checks

PAGE = Path(__file__).parents[3] / "docs" / "theory.md"


@pytest.fixture(scope="module")
def rows_of_page() -> list[str]:
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    start = lines.index(check_table([]).splitlines()[0])
    table = list(takewhile(lambda line: line.startswith("|"), lines[start:]))
    return table[2:]


@pytest.mark.parametrize("name", CHECKS)
def test_the_statement_holds_and_the_page_says_so(name: str, rows_of_page: list[str]) -> None:
    found = CHECKS[name]()
    if found.holds is None:
        pytest.skip(found.result)
    assert found.holds, found.result
    assert rows_of_page[list(CHECKS).index(name)] == check_table([found]).splitlines()[2], (
        "write the table of docs/theory.md anew with python -m lab theory check"
    )


def test_the_page_has_one_row_per_check(rows_of_page: list[str]) -> None:
    assert len(rows_of_page) == len(CHECKS)
    assert all(row.count(" | ") == len(HEADINGS) - 1 for row in rows_of_page)
    assert not any("FAILS" in row or "skipped" in row for row in rows_of_page)


def test_absent_data_is_skipped_with_a_reason(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("POLICYLEARN_DATA", str(tmp_path))
    found = regular_checks.stored_graphs()
    assert found.holds is None
    assert found.verdict == "skipped"
    assert "set POLICYLEARN_DATA" in found.result


def test_a_table_of_markdown() -> None:
    check = Check("a | b", "`f`", "n = 1", "yes", False)
    assert check_table([check]).splitlines() == [
        "| statement | function | parameters tried | result | verdict |",
        "| --- | --- | --- | --- | --- |",
        "| a \\| b | `f` | n = 1 | yes | FAILS |",
    ]
