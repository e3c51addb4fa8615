"""``policylearn report``: the page of a run."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

from policylearn.cli.command import Command, Parser

HELP = "write the report of a run: plots, scores, worst molecules, and the picks drawn on molecules"


def add_options(parser: Parser) -> None:
    """Options of the verb."""
    parser.add_argument("run", type=Path, help="the run folder")
    parser.add_argument(
        "-o", "--output", type=Path | None, default=None, help="the HTML file (default: report.html in the run folder)"
    )


def run(options: Namespace) -> int:
    """Write the page and say where it is."""
    from policylearn.explain.run_report import write_run_report

    print(f"wrote {write_run_report(options.run, options.output)}")  # noqa: T201 - the command's answer
    return 0


COMMAND = Command("report", HELP, add_options, run)
