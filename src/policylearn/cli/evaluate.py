"""``policylearn evaluate``: a run's metric from its weights and data, or on new labelled rows."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path
from typing import Literal

from policylearn.cli.command import Command, Parser

HELP = "evaluate a run on new labelled rows, or on its own data"
ABOUT = (
    "With a table of molecules that has the columns which the run predicts: scores by target, and how often its"
    " intervals contain the truth there; rows that cannot be scored are counted (exit code 1). Without one: the metric"
    " on the run's own data, under the conditions that it records, to the last digit."
)

DRAWS = "average outputs over so many bags drawn from the policy, instead of its best nodes (at so many times the cost)"


def add_options(parser: Parser) -> None:
    """Options of the verb."""
    parser.add_argument("run", type=Path, help="the run folder")
    parser.add_argument("labelled", type=Path | None, nargs="?", default=None, help="a table of new labelled molecules")
    parser.add_argument(
        "--smiles", type=str | None, default=None, help="its column of molecules (default: its name in training)"
    )
    parser.add_argument("--part", type=Literal["train", "valid", "test"], default="test", help="of the run's own data")
    parser.add_argument(
        "--data", type=str | None, default=None, help="where the data is now, if it has moved; it must be the same data"
    )
    parser.add_argument("--draws", type=int, default=1, help=DRAWS)


def run(options: Namespace) -> int:
    """Evaluate and print."""
    return run_on_own_data(options) if options.labelled is None else run_labelled(options)


def run_labelled(options: Namespace) -> int:
    """Score new rows, and print a table."""
    from rich.console import Console
    from rich.table import Table

    from policylearn.explain.run_report import load_quietly
    from policylearn.prediction.labelled import evaluate_table
    from policylearn.prediction.scores import NAMES

    result = evaluate_table(load_quietly(options.run, draws=options.draws), options.labelled, smiles=options.smiles)
    names = [name for name in NAMES if any(name in scores for scores in result.scores.values())]
    table = Table(title=str(options.labelled))
    for number, heading in enumerate(("target", "labels", *(NAMES[name] for name in names))):
        table.add_column(heading, justify="right" if number else "left")
    for target, scores in result.scores.items():
        cells = [f"{scores[name]:.4f}" if name in scores else "-" for name in names]
        table.add_row(target, f"{result.labels[target]:,}", *cells)
    console = Console()
    console.print(table)
    if result.coverage is not None:
        print(f"{result.coverage.level:.0%} intervals or sets held {result.coverage.share:.1%} of the labels")  # noqa: T201
    for reason in result.failed[:5]:
        print(f"not scored: {reason}")  # noqa: T201 - the answer
    if result.failed:
        print(f"{result.rows:,} rows scored, {len(result.failed):,} not")  # noqa: T201 - the answer
    return 1 if result.failed else 0


def run_on_own_data(options: Namespace) -> int:
    """Compute the metric on the run's own data, and print it in full."""
    from rich.console import Console

    from policylearn.training.reevaluation import other_versions, reevaluate
    from policylearn.training.runs import load_run

    found = load_run(options.run)
    with Console(stderr=True).status("evaluating"):
        result = reevaluate(found, part=options.part, data=options.data, draws=options.draws)
    print(f"{result.part} {result.metric}: {result.value!r} ({result.graphs:,} graphs)")  # noqa: T201 - the answer
    if result.picks is not None:
        print(f"picks per graph: {result.picks:.3f} of {found.config.selection.picks}")  # noqa: T201 - the answer
    if result.logged is not None and result.logged != result.value:
        others = other_versions(found.facts)
        reason = f"since then {others}" if others else f"it was trained on {found.facts.machine}"
        print(f"the run logged {result.logged!r}; {reason}")  # noqa: T201 - the answer
    return 0


COMMAND = Command("evaluate", HELP, add_options, run, about=ABOUT)
