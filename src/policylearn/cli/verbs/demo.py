"""``policylearn demo``: learn which nodes to mark in graphs that ordinary message passing cannot tell apart."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from policylearn.cli.options import OutputPath
from policylearn.cli.printing import add_bar, make_table, progress_bars, say
from policylearn.cli.registry import verb

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import TaskID

    from policylearn.demo.learning import Evaluation, Learned, LearningMethod

HEADINGS = ("method", "T", "accuracy", "coverage", "seconds")
NAMES: dict[LearningMethod, str] = {"none": "none", "random": "random", "reinforce": "learned"}
"""What is trained, in this order, and what it is called."""


@verb("demo")
def demo(
    *,
    steps: int = 400,
    every: int = 50,
    seed: int = 0,
    output: OutputPath = Path("demo"),
) -> None:
    """Learn to tell graphs apart that ordinary message passing cannot, in a minute, and write a report.

    Args:
        steps: most training steps of each method.
        every: steps between evaluations.
        seed: of the weights, the graphs and the draws.
        output: folder of report.html.
    """
    from rich.console import Console

    from policylearn.demo.page import write_demo

    console = Console(markup=False)
    console.print(
        "Graphs of 3 rings with 17 nodes and skip links each, in 4 classes that ordinary message passing cannot tell"
        " apart. Which class it is shows only if a node is marked in every ring."
    )
    runs = train_all(steps, every, seed, console)
    cells = [row(run) for run in runs]
    console.print(make_table(HEADINGS, cells, f"{runs[0].config.test_graphs} new graphs, 1 class in 4", numbers=True))
    say(f"wrote {write_demo(runs, NAMES, HEADINGS, cells, output)}", console)


def train_all(steps: int, every: int, seed: int, console: Console) -> list[Learned]:
    """Train every method under one progress bar."""
    from policylearn.demo.learning import LearningConfig, learn

    runs = []
    with progress_bars(console) as progress:
        for method, name in NAMES.items():
            config = LearningConfig(method=method, seed=seed, steps=steps, every=every, settled=2)
            task = add_bar(progress, f"{name:8}", steps)

            def report(step: int, loss: float, newest: Evaluation | None, task: TaskID = task) -> None:
                scores = "" if newest is None else f"accuracy {newest.accuracy:6.1%} coverage {newest.coverage:6.1%}"
                progress.update(task, completed=step, figures=f"step {step:3} loss {loss:.3f} {scores}")

            runs.append(learn(config, report))
            progress.update(task, total=runs[-1].curve[-1].step)
    return runs


def row(run: Learned) -> tuple[str, ...]:
    """A method's line of the table."""
    last = run.curve[-1]
    return (
        NAMES[run.config.method],
        "0" if run.config.method == "none" else str(run.config.components),
        f"{last.accuracy:.1%}",
        f"{last.coverage:.1%}",
        f"{last.seconds:.0f}",
    )
