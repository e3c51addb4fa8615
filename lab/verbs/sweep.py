"""``python -m lab sweep``: train every combination of a grid, alone or with other processes, and keep the best."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from lab.verbs import verb
from policylearn.cli.options import Output, RunOptions, SettingOptions, make_config
from policylearn.cli.printing import say, spoken_notes
from policylearn.cli.stopping import stop_signals

if TYPE_CHECKING:
    from rich.console import Console

    from lab.sweep import Standing, Swept

YAMLS = (".yaml", ".yml")
SHOWN = 10


@verb("sweep")
def sweep(
    what: str,
    /,
    *,
    run: RunOptions | None = None,
    trials: int | None = None,
    output: Output = None,
    settings: SettingOptions = None,
) -> int:
    """Train every combination of a grid once and keep the one with the best validation metric.

    Start it several times at once with the same options to share the work between processes, and once more after it was
    stopped: finished trials are kept, interrupted ones resumed. The grid is the paper's for the dataset and the model,
    or --grid '{selection.node_dropout: [0.0, 0.5]}'.

    Args:
        what: a dataset, a packed .npz or a CSV; or a YAML of settings with a grid.
        run: short forms of common settings.
        trials: how many this process trains at most.
        output: the folder; below runs/ by default.
        settings: settings by their dotted names.
    """
    if trials is not None and trials < 1:
        raise ValueError(f"'--trials' must be >= 1 (got {trials})")
    from rich.console import Console

    from lab.grid import read_grid
    from lab.sweep import sweep as train_grid
    from policylearn.cli.progress import add_bar, progress_bars
    from policylearn.cli.training_progress import TrainingBar
    from policylearn.cli.verbs.train import default_folder, label_of
    from policylearn.settings import read_config
    from policylearn.training import load_source

    file = Path(what) if what.endswith(YAMLS) else None
    config = make_config(what if file is None else read_config(file).data.name, run, settings, file)
    if config.fit.devices > 1:
        raise ValueError(
            f"a sweep trains each trial on one device (got {config.fit.devices});"
            " to use more, call it several times with the same folder"
        )
    grid = read_grid(config)
    folder = output or Path("runs") / f"sweep-{default_folder(config).name}"
    console = Console(stderr=True)
    for key in grid.without_effect:
        say(f"'{key}' has no effect with this estimator: left out of the grid", console)
    with console.status(f"loading {config.data.name}"):
        source = load_source(config.data)
    say(f"{len(grid.combinations)} combinations of {', '.join(config.grid)}; folder {folder}", console)
    metric = source.dataset.task.metric
    kept = "finished trials and checkpoints are kept; call the same command again to continue"
    with spoken_notes(console), stop_signals(lambda: kept), progress_bars(console) as progress:
        bar, epochs = add_bar(progress, "trials", len(grid.combinations)), add_bar(progress, "epochs")

        def tell(standing: Standing) -> None:
            best = "" if standing.best is None else f"best valid {metric} {standing.values[standing.best]:.4f}"
            progress.update(bar, completed=len(standing.values), figures=best)

        done = train_grid(
            config,
            source,
            folder,
            trials=trials,
            callbacks_of=lambda title: [TrainingBar(progress, epochs, title, metric)],
            report=tell,
        )
    report(Console(), f"{config.data.name}, {label_of(config)}", config.data.name, metric, done)
    return 0


def report(console: Console, title: str, data: str, metric: str, done: Swept) -> None:
    """The best trials and the file with the best settings."""
    from rich.table import Table

    standing = done.standing
    table = Table(title=f"{title}: {len(standing.values)} of {standing.total} done")
    for heading in ("settings", f"valid {metric}", f"test {metric}"):
        table.add_column(heading, justify="left" if heading == "settings" else "right", overflow="fold")
    for name, value in list(standing.values.items())[:SHOWN]:
        test = standing.tests.get(name)
        table.add_row(name.replace(",", "\n"), f"{value:.4f}", "" if test is None else f"{test:.4f}")
    console.print(table)
    if done.best is None:
        say("no trial has ended well yet", console)
    else:
        say(f"best settings: {done.path} (policylearn train {data} --config {done.path})", console)
