"""``policylearn demo``: learn which nodes to mark in graphs that ordinary message passing cannot tell apart."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from jsonargparse import ArgumentParser, Namespace

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import TaskID

    from policylearn.studies.theory import Evaluation, Learned, Method

NAME = "demo"
HELP = "learn to tell graphs apart that ordinary message passing cannot, in a minute, and write a report"

HEADINGS = ("method", "T", "accuracy", "coverage", "seconds")
NAMES: dict[Method, str] = {"none": "none", "random": "random", "rloo": "learned"}
"""What is trained, in this order, and what it is called."""


def add_options(parser: ArgumentParser) -> None:
    """Options of the verb."""
    parser.add_argument("--steps", type=int, default=400, help="training steps of each method, at most")
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
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    from policylearn.studies.theory import LearningConfig, learn

    columns = (TextColumn("{task.description:8}"), BarColumn(), TextColumn("{task.fields[state]}"), TimeElapsedColumn())
    runs = []
    with Progress(*columns, console=console) as progress:
        for method, name in NAMES.items():
            config = LearningConfig(
                method=method, seed=options.seed, steps=options.steps, every=options.every, settled=2
            )
            task = progress.add_task(name, total=options.steps, state="")

            def report(step: int, loss: float, newest: Evaluation | None, task: TaskID = task) -> None:
                scores = "" if newest is None else f"accuracy {newest.accuracy:6.1%} coverage {newest.coverage:6.1%}"
                progress.update(task, completed=step, state=f"step {step:3} loss {loss:.3f} {scores}")

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
