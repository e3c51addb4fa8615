"""``python -m lab sweep``: train every combination of a grid, alone or with other processes, and keep the best."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from policylearn.cli.command import Command, Parser
from policylearn.cli.printing import say, spoken_notes
from policylearn.cli.stopping import stop_signals
from policylearn.cli.train import add_run_options, default_folder, make_config

if TYPE_CHECKING:
    from rich.console import Console

    from lab.sweep import Standing, Swept
    from policylearn.settings import RunConfig

HELP = "try a grid of settings, by default the paper's, and write the best as YAML"
ABOUT = (
    "Train every combination of a grid once and keep the one with the best validation metric. Start it several times at"
    " once with the same options to share the work between processes, and once more after it was stopped: finished"
    " trials are kept, interrupted ones resumed. The grid is the paper's for the dataset and the policy, or --grid."
)
YAMLS = (".yaml", ".yml")
SHOWN = 10


def add_options(parser: Parser) -> None:
    """Options of the verb."""
    parser.add_argument("what", type=str, help="a dataset, a packed .npz or a CSV; or a YAML of settings with a grid")
    parser.add_argument("--trials", type=int | None, default=None, help="how many this process trains at most")
    parser.add_argument("-o", "--output", type=Path | None, default=None, help="the folder (default: below runs/)")
    add_run_options(parser)


def run(options: Namespace) -> int:
    """Sweep under a progress bar, print the best trials and where the best settings are."""
    if options.trials is not None and options.trials < 1:
        raise ValueError(f"'--trials' must be >= 1 (got {options.trials})")
    from rich.console import Console

    from lab.grid import read_grid
    from lab.sweep import sweep
    from policylearn.cli.progress import add_bar, progress_bars
    from policylearn.cli.training_progress import TrainingBar
    from policylearn.training import load_source

    config = read_options(options)
    if config.fit.devices > 1:
        raise ValueError(
            f"a sweep trains each trial on one device (got {config.fit.devices});"
            " to use more, call it several times with the same folder"
        )
    grid = read_grid(config)
    folder = options.output or Path("runs") / f"sweep-{default_folder(config).name}"
    console = Console(stderr=True)
    for key in grid.without_effect:
        console.print(f"'{key}' has no effect with the estimator '{config.selection.estimator}': left out of the grid")
    with console.status(f"loading {config.data.name}"):
        source = load_source(config.data)
    say(f"{len(grid.combinations())} combinations of {', '.join(grid.values)}; folder {folder}", console)
    metric = source.dataset.task.metric
    kept = "finished trials and checkpoints are kept; call the same command again to continue"
    with spoken_notes(console), stop_signals(lambda: kept), progress_bars(console) as progress:
        trials, epochs = add_bar(progress, "trials", len(grid.combinations())), add_bar(progress, "epochs")

        def tell(standing: Standing) -> None:
            best = "" if standing.best is None else f"best valid {metric} {standing.values[standing.best]:.4f}"
            progress.update(trials, completed=len(standing.values), figures=best)

        done = sweep(
            config,
            source,
            folder,
            trials=options.trials,
            callbacks_of=lambda title: [TrainingBar(progress, epochs, title, metric)],
            report=tell,
        )
    report(Console(), config, metric, done)
    return 0


def read_options(options: Namespace) -> RunConfig:
    """The settings of a YAML, or the paper's for a dataset, then what the user said."""
    from policylearn.settings import read_config

    is_yaml = options.what.endswith(YAMLS)
    options.config = Path(options.what) if is_yaml else None
    options.dataset = read_config(options.config).data.name if is_yaml else options.what
    return make_config(options)


def report(console: Console, config: RunConfig, metric: str, done: Swept) -> None:
    """The best trials and the file with the best settings."""
    from rich.table import Table

    standing = done.standing
    table = Table(title=f"{config.data.name}, {config.method}: {len(standing.values)} of {standing.total} done")
    for heading in ("settings", f"valid {metric}", f"test {metric}"):
        table.add_column(heading, justify="left" if heading == "settings" else "right", overflow="fold")
    for name, value in list(standing.values.items())[:SHOWN]:
        test = standing.tests.get(name)
        table.add_row(name.replace(",", "\n"), f"{value:.4f}", "" if test is None else f"{test:.4f}")
    console.print(table)
    if done.best is None:
        console.print("no trial has ended well yet")
    else:
        command = f"policylearn train {config.data.name} --config {done.path}"
        say(f"best settings: {done.path} ({command})", console)


COMMAND = Command("sweep", HELP, add_options, run, about=ABOUT)
