"""``policylearn explain``: what a run says of new molecules, and which atoms it looks at."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

from policylearn.cli.command import Command, Parser

HELP = "draw what a run looks at in new molecules, on one page"


def add_options(parser: Parser) -> None:
    """Options of the verb."""
    parser.add_argument("run", type=Path, help="the run folder")
    parser.add_argument("input", type=Path, help="a table of SMILES, as for 'policylearn predict'")
    parser.add_argument("-o", "--output", type=Path, default=Path("explanation.html"), help="the HTML file")
    parser.add_argument(
        "--smiles", type=str | None, default=None, help="the column of molecules (default: its name in training)"
    )
    parser.add_argument("--most", type=int, default=50, help="rows that are shown, from the top")


def run(options: Namespace) -> int:
    """Write the page and say how many molecules it shows."""
    from policylearn.explain.explanation import write_explanation
    from policylearn.explain.run_report import load_quietly

    predictor = load_quietly(options.run)
    rows, failed = write_explanation(predictor, options.input, options.output, smiles=options.smiles, most=options.most)
    said = f"; {failed} without an answer, with the reason" if failed else ""
    print(f"wrote {options.output}: {rows} rows{said}")  # noqa: T201 - the command's answer
    return 1 if failed else 0


COMMAND = Command("explain", HELP, add_options, run)
