"""The table of the ablation in the documents is that of its record."""

from __future__ import annotations

from benchmarks.ablation_table import PAGE, written


def test_the_table_is_made_from_the_record() -> None:
    page = PAGE.read_text()
    assert written(page) == page, "run python -m benchmarks.ablation_table"
