"""Write the tables of all records into docs/performance.md: ``python -m lab.bench.page``."""

from __future__ import annotations

import json
from pathlib import Path

from lab.bench import against
from lab.bench.record import BenchReport
from lab.bench.tables import report_markdown
from lab.pages import replace_between
from lab.provenance import PROJECT, RESULTS

PAGE = PROJECT / "docs" / "performance.md"


def write_page(page: Path = PAGE) -> None:
    """Write the tables of all records into the page."""
    texts = {name: (RESULTS / f"{name}.json").read_text() for name in ("against", "bench")}
    tables = {
        "against": against.table(json.loads(texts["against"])),
        "bench": report_markdown(BenchReport.from_json(texts["bench"])),
    }
    for name, table in tables.items():
        begin = f"<!-- {name}: made from results/bench/{name}.json -->\n"
        replace_between(page, begin, f"\n{table}\n\n", f"<!-- end of {name} -->")


if __name__ == "__main__":
    write_page()
    print(PAGE)
