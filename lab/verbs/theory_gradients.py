"""``python -m lab theory gradients``: which way each estimator pushes the picks."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

from policylearn.cli.command import Command, Parser
from policylearn.cli.printing import print_table

HELP = "measure which way each estimator pushes the picks"
ABOUT = (
    "Train the prediction network on picks of an untrained policy, then compare each estimator's gradient of the policy"
    " with the true one. What already has a record is skipped."
)


def add_options(parser: Parser) -> None:
    """Options of the action."""
    parser.add_argument("--n", type=int, default=17, help="nodes of each component")
    parser.add_argument("--l", type=int, default=3, help="components of a graph, and picks")
    parser.add_argument("--layers", type=int, default=4, help="depth of both networks, at least a component's diameter")
    parser.add_argument("--seeds", type=int, default=5, help="how many measurements, with seeds 0, 1, ...")
    parser.add_argument(
        "--steps", type=int, nargs="+", default=[50, 300], help="training steps of the prediction network"
    )
    parser.add_argument(
        "--batches",
        type=int,
        default=100,
        help="gradients of each estimator, of 32 bags each",
    )
    parser.add_argument("--reference", type=int, default=200, help="gradients whose mean is taken for the true one")
    parser.add_argument("--markdown", action="store_true", help="print the table as Markdown, as in the documentation")
    parser.add_argument(
        "-o", "--output", type=Path, default=Path("results/theory/gradients"), help="folder of the records"
    )


def run(options: Namespace) -> int:
    """Measure under a progress bar and print the table."""
    from rich.console import Console
    from rich.table import Table

    from lab.theory import GradientConfig, LearningConfig, gradient_table, measure_all
    from lab.theory.gradient_records import HEADINGS, gradient_rows
    from policylearn.cli.progress import add_bar, progress_bars

    if options.seeds < 1:
        raise ValueError(f"'seeds' must be >= 1 (got {options.seeds})")
    configs = [
        GradientConfig(
            LearningConfig("straight_through", options.n, options.l, seed=seed, steps=steps, layers=options.layers),
            batches=options.batches,
            reference=options.reference,
        )
        for steps in options.steps
        for seed in range(options.seeds)
    ]
    with progress_bars(Console(stderr=True), transient=True) as progress:
        task = add_bar(progress, "gradients", 1.0)
        records = measure_all(configs, options.output, lambda share: progress.update(task, completed=share))
    if options.markdown:
        print(gradient_table(records))
        return 0
    table = Table(*HEADINGS, title=f"gradients of the picks on ({options.n}, {options.l})-CSL graphs")
    for row in gradient_rows(records):
        table.add_row(*row)
    print_table(table, 160)
    return 0


COMMAND = Command("gradients", HELP, add_options, run, about=ABOUT)
