"""``python -m lab theory learn``: policies trained from scratch on graphs that the paper only reasons about."""

from __future__ import annotations

from argparse import Namespace
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from policylearn.cli.command import Command, Parser
from policylearn.cli.printing import print_table

if TYPE_CHECKING:
    from lab.theory import LearningRecord

METHODS = ("reinforce", "rloo", "straight_through", "gapped", "random", "none", "full")
IN_FIGURE = ("none", "random", "reinforce", "rloo", "straight_through", "full", "gapped")
"""The order of the methods in a figure, which gives them the colours of the demo."""
SETTINGS: dict[str, tuple[type, str]] = {
    "every": (int, "steps between evaluations"),
    "bags": (int, "bags per step"),
    "samples": (int, "bags drawn per graph by rloo"),
    "channels": (int, "width of both networks"),
    "layers": (int, "depth of both networks, at least the diameter of a component"),
    "learning_rate": (float, "learning rate of Adam"),
    "schedule": (str, "constant, or cosine: up over a twentieth of the steps and down to zero"),
    "epsilon": (float, "epsilon of Adam"),
    "clip": (float, "largest norm of the gradient; 0 does not clip"),
    "tau": (float, "temperature of straight_through and gapped"),
    "calibration": (int, "batches that the norms' statistics are taken from before an evaluation"),
    "test_graphs": (int, "unseen graphs per evaluation"),
    "settled": (int, "stop after this many evaluations in a row at 99 %; 0 runs all steps"),
}
"""Fields of LearningConfig that are options, with its defaults."""


def add_learn_options(parser: Parser) -> None:
    """Options of the action."""
    parser.add_argument("--n", type=int, default=17, help="nodes of each component")
    parser.add_argument("--l", type=int, default=3, help="components of a graph, and picks")
    parser.add_argument("--methods", type=str, nargs="+", default=list(METHODS), help=", ".join(METHODS))
    parser.add_argument("--seeds", type=int, default=5, help="how many runs of each method, with seeds 0, 1, ...")
    parser.add_argument("--steps", type=int, default=600, help="most training steps")
    parser.add_argument("-o", "--output", type=Path, default=Path("results/theory"), help="folder of the records")
    add_showing(parser)
    for name, (kind, meaning) in SETTINGS.items():
        parser.add_argument(f"--{name}", type=kind | None, default=None, help=meaning)


def run_learn(options: Namespace) -> int:
    """Make the runs under a progress bar and print their table."""
    from rich.console import Console

    from lab.theory import LearningConfig, run_all
    from policylearn.cli.progress import add_bar, progress_bars

    if options.seeds < 1:
        raise ValueError(f"'seeds' must be >= 1 (got {options.seeds})")
    given = {name: value for name, value in vars(options).items() if name in SETTINGS and value is not None}
    assert given.keys() <= {part.name for part in fields(LearningConfig)}
    configs = [
        LearningConfig(method=method, n=options.n, components=options.l, seed=seed, steps=options.steps, **given)
        for method in options.methods
        for seed in range(options.seeds)
    ]
    with progress_bars(Console(stderr=True), transient=True) as progress:
        task = add_bar(progress, "", len(configs) * options.steps)

        def report(config: LearningConfig, step: int, loss: float, newest: Any) -> None:
            scores = "" if newest is None else f" accuracy {newest.accuracy:.1%} coverage {newest.coverage:.1%}"
            progress.update(
                task,
                completed=configs.index(config) * options.steps + step,
                description=f"{config.method} seed {config.seed}",
                figures=f"loss {loss:.3f}{scores}",
            )

        records = run_all(configs, options.output, report)
        progress.update(task, completed=len(configs) * options.steps)
    show(records, options)
    return 0


def add_results_options(parser: Parser) -> None:
    """Options of the action that shows what there is."""
    parser.add_argument("folder", type=Path, nargs="?", default=Path("results/theory"), help="of the records")
    add_showing(parser)


def run_results(options: Namespace) -> int:
    """Show runs that were made before."""
    from lab.theory import load_records

    show(load_records(options.folder), options)
    return 0


def add_showing(parser: Parser) -> None:
    """Options on how results are shown."""
    parser.add_argument("--figure", type=Path | None, default=None, help="draw the curves of all runs to this PNG")
    parser.add_argument("--markdown", action="store_true", help="print the table as Markdown, as in the documentation")


def show(records: list[LearningRecord], options: Namespace) -> None:
    """Print the table and draw the figure."""
    from rich.table import Table

    from lab.theory import learning_table, summarise
    from lab.theory.summary import HEADINGS

    summaries = summarise(records)
    if options.figure is not None:
        draw(records, options.figure)
    if options.markdown:
        print(learning_table(summaries))
        return
    table = Table(title="(n, l)-CSL graphs, T picks")
    for heading in HEADINGS:
        table.add_column(heading)
    for summary in summaries:
        table.add_row(*summary.cells())
    print_table(table, 160)


def draw(records: list[LearningRecord], path: Path) -> None:
    """Draw accuracy and both coverages over the steps, a colour per method."""
    from lab.theory.records import runs_of
    from policylearn.explain import Chart, draw_charts

    titles = {
        "accuracy": "test accuracy",
        "coverage": "coverage, argmax",
        "sampled_coverage": "coverage, sampled",
    }
    families = sorted({(record.config.n, record.config.components) for record in records})
    if len(families) > 1:
        raise ValueError(
            f"the runs are on {len(families)} families, {families}; keep a folder each, and draw one at a time"
        )
    charts = []
    for name, title in titles.items():
        curves: dict[str, list[list[tuple[float, float]]]] = {
            str(method): [[(point.step, getattr(point, name)) for point in run.curve] for run in runs]
            for (_, _, method), runs in sorted(runs_of(records).items(), key=lambda item: IN_FIGURE.index(item[0][2]))
        }
        charts.append(Chart(title, curves))
    draw_charts(charts, path)


LEARN = Command(
    "learn",
    "train policies from scratch on unions of CSL graphs",
    add_learn_options,
    run_learn,
    about="Train on fresh random (n, l)-CSL graphs with T = l and test on unseen ones. Runs that already have a record"
    " are skipped.",
)
RESULTS = Command("results", "show the table of what 'theory learn' trained", add_results_options, run_results)
