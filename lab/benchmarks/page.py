"""The page about performance, whose tables are made from records."""

from __future__ import annotations

from lab.bench import BenchReport
from lab.benchmarks.machine import PROJECT, RESULTS

PAGE = PROJECT / "docs" / "performance.md"


def begin(name: str) -> str:
    """The line above a table."""
    return f"<!-- {name}: made from results/bench/{name}.json -->\n"


def end(name: str) -> str:
    """The line below it."""
    return f"<!-- end of {name} -->"


def read_report(name: str) -> BenchReport | None:
    """The record of a table; None as long as nothing was measured."""
    record = RESULTS / f"{name}.json"
    return BenchReport.from_json(record.read_text()) if record.exists() else None


def with_table(page: str, name: str, table: str) -> str:
    """The page with this text at the place of that name; an empty one leaves the place empty."""
    before, _, rest = page.partition(begin(name))
    _, found, after = rest.partition(end(name))
    if not found:
        raise SystemExit(f"{PAGE}: has no place for the table; put {begin(name).strip()} and {end(name)} there")
    inside = f"\n{table}\n\n" if table else ""
    return f"{before}{begin(name)}{inside}{end(name)}{after}"
