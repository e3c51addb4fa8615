"""Write the tables of all records into docs/performance.md: ``python -m lab.bench.page``."""

from __future__ import annotations

import json
from collections.abc import Callable

from lab.bench import against, startup, table_to_table
from lab.bench.machine import PROJECT, RESULTS
from lab.bench.record import BenchReport
from lab.bench.tables import report_markdown

PAGE = PROJECT / "docs" / "performance.md"


def of_report(text: str) -> str:
    """The table of a record of ``python -m lab bench``."""
    return report_markdown(BenchReport.from_json(text))


TABLES: dict[str, Callable[[str], str]] = {
    "against": lambda text: against.table(json.loads(text)),
    "bench": of_report,
    "systems": of_report,
    "startup": lambda text: startup.table(json.loads(text)),
    "table_to_table": lambda text: table_to_table.table(json.loads(text)),
}
"""From the text of a record to its table, by the record's name."""


def begin(name: str) -> str:
    """The line above a table."""
    return f"<!-- {name}: made from results/bench/{name}.json -->\n"


def end(name: str) -> str:
    """The line below it."""
    return f"<!-- end of {name} -->"


def with_table(page: str, name: str, table: str) -> str:
    """The page with this table at the place of that name; a page without the place stays as it is."""
    before, _, rest = page.partition(begin(name))
    _, found, after = rest.partition(end(name))
    return f"{before}{begin(name)}\n{table}\n\n{end(name)}{after}" if found else page


def written(page: str) -> str:
    """The page with the tables of all records."""
    for name, make in TABLES.items():
        page = with_table(page, name, make((RESULTS / f"{name}.json").read_text()))
    return page


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text()))
    print(PAGE)
