"""The tables in the documents are those of their records."""

from __future__ import annotations

import pytest

from lab.bench.machine import RESULTS
from lab.bench.page import PAGE, TABLES, begin, end, with_table


@pytest.mark.parametrize("name", TABLES)
def test_the_table_is_made_from_the_record(name: str) -> None:
    page = PAGE.read_text()
    assert with_table(page, name, TABLES[name]((RESULTS / f"{name}.json").read_text())) == page, (
        "run python -m lab.bench.page"
    )


def test_a_table_takes_its_place_and_nothing_else() -> None:
    page = f"above\n{begin('x')}old\n{end('x')}\nbelow\n"
    assert with_table(page, "x", "new") == f"above\n{begin('x')}\nnew\n\n{end('x')}\nbelow\n"
    assert with_table("above\n", "x", "new") == "above\n"
