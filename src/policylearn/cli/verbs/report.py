"""``policylearn report``: the page of a run."""

from __future__ import annotations

from pathlib import Path

from policylearn.cli.options import Output
from policylearn.cli.printing import say
from policylearn.cli.registry import verb


@verb("report")
def report(run: Path, /, *, output: Output = None) -> None:
    """Write the report of a run: plots, scores, worst molecules, and the picks drawn on molecules.

    Args:
        run: the run folder.
        output: the HTML file; report.html in the run folder by default.
    """
    from policylearn.explain.run_report import write_run_report

    say(f"wrote {write_run_report(run, output)}")
