"""Write the table of the ablation into docs/performance.md: ``python -m benchmarks.ablation_table``."""

from __future__ import annotations

from benchmarks.machine import PROJECT, RESULTS
from policylearn.studies.bench import BenchReport, ablation_markdown

PAGE = PROJECT / "docs" / "performance.md"
BEGIN = "<!-- ablation: made from benchmarks/results/ablation.json -->\n"
END = "<!-- end of ablation -->"


def written(page: str) -> str:
    """The page with the table of the record, or without one as long as nothing was measured."""
    before, _, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not end:
        raise SystemExit(f"{PAGE}: has no place for the table; put {BEGIN.strip()} and {END} there")
    record = RESULTS / "ablation.json"
    table = f"\n{ablation_markdown(BenchReport.from_json(record.read_text()))}\n\n" if record.exists() else ""
    return f"{before}{BEGIN}{table}{END}{after}"


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text()))
