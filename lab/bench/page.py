"""Write the tables of all records into docs/performance.md: ``python -m lab.bench.page``."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from lab.bench import against
from lab.bench.record import BenchReport
from lab.bench.tables import report_markdown
from lab.pages import replace_between
from lab.provenance import PROJECT, RESULTS

PAGE = PROJECT / "docs" / "performance.md"


def of_report(text: str) -> str:
    """The table of a record of ``python -m lab bench``."""
    return report_markdown(BenchReport.from_json(text))


TABLES: dict[str, Callable[[str], str]] = {
    "against": lambda text: against.table(json.loads(text)),
    "bench": of_report,
}
"""From the text of a record to its table, by the record's name."""


def write_page(page: Path = PAGE) -> None:
    """Write the tables of all records into the page."""
    for name, table in TABLES.items():
        record = RESULTS / f"{name}.json"
        begin = f"<!-- {name}: made from results/bench/{name}.json -->\n"
        replace_between(page, begin, f"\n{table(record.read_text())}\n\n", f"<!-- end of {name} -->")


if __name__ == "__main__":
    write_page()
    print(PAGE)
