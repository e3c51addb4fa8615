"""``python -m lab gains``: what picks recover of the gain of all marks, written into docs/picks.md."""

from __future__ import annotations

from pathlib import Path

from lab.compare.gains import gains_table
from lab.pages import replace_between
from lab.verbs import verb
from policylearn.cli.printing import say


@verb("gains")
def gains(*, results: Path = Path("results/compare"), page: Path = Path("docs/picks.md")) -> None:
    """Print what picks recover of the gain of all marks on each dataset, and write it into the page.

    Args:
        results: the folder of the comparisons' records.
        page: has the table between two marks.
    """
    table = gains_table(results)
    replace_between(page, "<!-- gains -->\n", f"{table}\n", "<!-- /gains -->")
    say(table)
