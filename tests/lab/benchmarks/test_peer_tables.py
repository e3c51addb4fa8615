"""Tables of docs/performance.md are those of their records."""

from __future__ import annotations

from types import ModuleType

import pytest

from lab.benchmarks import growth, structures, table_to_table
from lab.benchmarks.page import PAGE


@pytest.mark.parametrize("benchmark", [growth, structures, table_to_table], ids=lambda module: module.NAME)
def test_the_page_has_the_table_of_the_record(benchmark: ModuleType) -> None:
    page = PAGE.read_text()
    assert benchmark.written(page) == page, f"run python -m lab.benchmarks.{benchmark.NAME} --table"
