"""``policylearn export``: a run as one file that torch runs without this package."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

from policylearn.cli.command import Command, Parser

HELP = "write a run as one .pt2 file, which torch runs without this package"


def add_options(parser: Parser) -> None:
    """Options of the verb."""
    parser.add_argument("run", type=Path, help="the run folder, or an ensemble's")
    parser.add_argument("-o", "--output", type=Path, default=Path("model.pt2"), help="the file")


def run(options: Namespace) -> int:
    """Write the file and say what it takes and gives."""
    from policylearn.prediction.export import export_run

    about = export_run(options.run, options.output)
    lines = [f"wrote {options.output}, whose answers were checked against the model's"]
    lines += [f"  takes {name}: {meaning}" for name, meaning in about["inputs"].items()]
    lines += [f"  gives {name}: {meaning}" for name, meaning in about["outputs"].items()]
    print("\n".join(lines))  # noqa: T201 - the command's answer
    return 0


COMMAND = Command("export", HELP, add_options, run)
