"""Write the table of the systems into docs/performance.md: ``python -m lab.benchmarks.systems_table``."""

from __future__ import annotations

from lab.bench import systems_markdown
from lab.benchmarks.page import PAGE, read_report, with_table


def written(page: str) -> str:
    """The page with the table of the record, or without one as long as nothing was measured."""
    report = read_report("systems")
    return with_table(page, "systems", systems_markdown(report) if report else "")


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text()))
