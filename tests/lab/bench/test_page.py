"""The tables in the documents are those of their records."""

from __future__ import annotations

from types import ModuleType

import pytest

from lab.benchmarks import ablation_table, step_goals, systems_table, table_to_table
from lab.benchmarks.page import PAGE, begin, end, with_table

TABLES = (ablation_table, step_goals, systems_table, table_to_table)


@pytest.mark.parametrize("table", TABLES, ids=lambda module: module.__name__)
def test_the_table_is_made_from_the_record(table: ModuleType) -> None:
    page = PAGE.read_text()
    assert table.written(page) == page, f"run python -m {table.__name__}"


def test_a_table_takes_its_place_and_nothing_else() -> None:
    page = f"above\n{begin('x')}old\n{end('x')}\nbelow\n"
    assert with_table(page, "x", "new") == f"above\n{begin('x')}\nnew\n\n{end('x')}\nbelow\n"
    assert with_table(with_table(page, "x", "new"), "x", "") == f"above\n{begin('x')}{end('x')}\nbelow\n"
    with pytest.raises(SystemExit, match="has no place for the table"):
        with_table("above\n", "x", "new")
