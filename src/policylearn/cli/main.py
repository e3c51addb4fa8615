"""The command's entry: choose the verb, run it, turn bad input into one line."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from types import TracebackType

from policylearn import __version__
from policylearn.cli import (
    bench,
    compare,
    datasets,
    demo,
    evaluate,
    explain,
    export,
    info,
    predict,
    report,
    reproduce,
    serve,
    sweep,
    systems,
    theory,
    train,
)
from policylearn.cli.command import Command, Parser, UsageError

BAD_INPUT = 2


def add_options(parser: Parser) -> None:
    """Options of the command itself."""
    parser.add_argument("--version", action="version", version=f"policylearn {__version__}", help="say which this is")


ROOT = Command(
    "policylearn",
    "Subgraph GNNs made cheap: learn which few marked copies of a graph to look at.",
    add_options,
    actions=(
        train.COMMAND,
        predict.COMMAND,
        evaluate.COMMAND,
        report.COMMAND,
        explain.COMMAND,
        serve.COMMAND,
        export.COMMAND,
        sweep.COMMAND,
        compare.COMMAND,
        info.COMMAND,
        datasets.COMMAND,
        systems.COMMAND,
        demo.COMMAND,
        theory.COMMAND,
        reproduce.COMMAND,
        bench.COMMAND,
    ),
)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command.

    Args:
        argv: its words; None takes those it was called with.
    """
    try:
        command, options = ROOT.parse(sys.argv[1:] if argv is None else list(argv))
    except UsageError as error:
        sys.stderr.write(f"error: {error}\n")
        raise SystemExit(BAD_INPUT) from None
    assert command.run is not None
    try:
        return command.run(options)
    except ValueError as error:
        if not raised_by_us(error.__traceback__):
            raise  # A fault of the program and not of the input: its traceback is needed.
        sys.stderr.write(f"error: {error}\n")
        return BAD_INPUT


def raised_by_us(traceback: TracebackType | None) -> bool:
    """Whether the innermost frame is the package's own, which says why it refuses an input."""
    while traceback is not None and traceback.tb_next is not None:
        traceback = traceback.tb_next
    return traceback is not None and str(traceback.tb_frame.f_globals.get("__name__", "")).startswith("policylearn.")
