"""``policylearn demo``: learn which nodes to mark in graphs that ordinary message passing cannot tell apart."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from policylearn.cli.command import Command, Parser

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import TaskID

    from policylearn.studies.theory import Evaluation, Learned, LearningMethod

HELP = "learn to tell graphs apart that ordinary message passing cannot, in a minute, and write a report"

HEADINGS = ("method", "T", "accuracy", "coverage", "seconds")
NAMES: dict[LearningMethod, str] = {"none": "none", "random": "random", "reinforce": "learned"}
"""What is trained, in this order, and what it is called."""


def add_options(parser: Parser) -> None:
    """Options of the verb."""
    parser.add_argument("--steps", type=int, default=400, help="most training steps of each method")
    parser.add_argument("--every", type=int, default=50, help="steps between evaluations")
    parser.add_argument("--seed", type=int, default=0, help="of the weights, the graphs and the draws")
    parser.add_argument("-o", "--output", type=Path, default=Path("demo"), help="folder of report.html and pictures")


def run(options: Namespace) -> int:
    """Train, evaluate, print a table, write the report."""
    from rich.console import Console
    from rich.table import Table

    from policylearn.cli.demo_report import write_demo

    console = Console()
    console.print(
        "Graphs of 3 rings with 17 nodes and skip links each, in 4 classes that ordinary message passing cannot tell"
        " apart. Which class it is shows only if a node is marked in every ring."
    )
    runs = train_all(options, console)
    cells = [row(run) for run in runs]
    table = Table(title=f"{runs[0].config.test_graphs} new graphs, 1 class in 4")
    for number, heading in enumerate(HEADINGS):
        table.add_column(heading, justify="right" if number else "left")
    for line in cells:
        table.add_row(*line)
    console.print(table)
    for path in write_demo(runs, NAMES, HEADINGS, cells, options.output):
        console.print(f"wrote {path}", highlight=False)
    return 0


def train_all(options: Namespace, console: Console) -> list[Learned]:
    """Train every method under one progress bar."""
    from policylearn.cli.progress import add_bar, progress_bars
    from policylearn.studies.theory import LearningConfig, learn

    runs = []
    with progress_bars(console) as progress:
        for method, name in NAMES.items():
            config = LearningConfig(
                method=method, seed=options.seed, steps=options.steps, every=options.every, settled=2
            )
            task = add_bar(progress, f"{name:8}", options.steps)

            def report(step: int, loss: float, newest: Evaluation | None, task: TaskID = task) -> None:
                scores = "" if newest is None else f"accuracy {newest.accuracy:6.1%} coverage {newest.coverage:6.1%}"
                progress.update(task, completed=step, figures=f"step {step:3} loss {loss:.3f} {scores}")

            runs.append(learn(config, report))
            progress.update(task, total=runs[-1].curve[-1].step)
    return runs


def row(run: Learned) -> tuple[str, ...]:
    """A method's line of the table."""
    from policylearn.studies.theory.summary import picks

    last = run.curve[-1]
    return (
        NAMES[run.config.method],
        str(picks(run.config)),
        f"{last.accuracy:.1%}",
        f"{last.coverage:.1%}",
        f"{last.seconds:.0f}",
    )


COMMAND = Command("demo", HELP, add_options, run)
