"""Write the table of the ablation into docs/performance.md: ``python -m lab.benchmarks.ablation_table``."""

from __future__ import annotations

from lab.bench import ablation_markdown
from lab.benchmarks.page import PAGE, read_report, with_table


def written(page: str) -> str:
    """The page with the table of the record, or without one as long as nothing was measured."""
    report = read_report("ablation")
    return with_table(page, "ablation", ablation_markdown(report) if report else "")


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text()))
