"""``policylearn evaluate``: work out a run's metric again from its weights and data."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path
from typing import Literal

from policylearn.cli.command import Command, Parser

HELP = "evaluate a run again on its own data, under the conditions that it records"


def add_options(parser: Parser) -> None:
    """Options of the verb."""
    parser.add_argument("run", type=Path, help="the run folder")
    parser.add_argument("--part", type=Literal["train", "valid", "test"], default="test", help="of the data")
    parser.add_argument(
        "--data", type=str | None, default=None, help="where the data is now, if it has moved; it must be the same data"
    )


def run(options: Namespace) -> int:
    """Evaluate and print the metric in full."""
    from rich.console import Console

    from policylearn.training.reevaluation import other_versions, reevaluate
    from policylearn.training.runs import load_run

    found = load_run(options.run)
    with Console(stderr=True).status("evaluating"):
        result = reevaluate(found, part=options.part, data=options.data)
    print(f"{result.part} {result.metric}: {result.value!r} ({result.graphs:,} graphs)")  # noqa: T201 - the answer
    if result.logged is not None and result.logged != result.value:
        others = other_versions(found.facts)
        reason = f"since then {others}" if others else f"it was trained on {found.facts.machine}"
        print(f"the run logged {result.logged!r}; {reason}")  # noqa: T201 - the answer
    return 0


COMMAND = Command("evaluate", HELP, add_options, run)
