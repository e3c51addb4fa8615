"""``python -m lab sweep``: train every combination of a grid, alone or with other processes, and keep the best."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from lab.ledger import Ledger, read_content, run_jobs, short_hash
from lab.settings import selection_of, settings_of
from lab.training_bars import training_bars
from lab.verbs import verb
from policylearn.cli.options import Output, RunOptions, SettingOptions, make_config
from policylearn.cli.printing import say
from policylearn.cli.training_progress import TrainingBar
from policylearn.cli.verbs.train import default_folder
from policylearn.data.atomic import write_text
from policylearn.models import complete
from policylearn.policies import ESTIMATORS
from policylearn.settings import ConfigError, RunConfig, changed, read_config, to_yaml
from policylearn.settings.schema import nested
from policylearn.training import load_source
from policylearn.training.folds import train
from policylearn.training.module import DivergedError
from policylearn.training.presets import fitting
from policylearn.training.runs import label_of
from policylearn.wording import markdown_table, write_value

YAMLS = (".yaml", ".yml")
UNSAFE = re.compile(r"[^\w.+-]")
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
    file = Path(what) if what.endswith(YAMLS) else None
    config = make_config(what if file is None else read_config(file).data.name, run, settings, file)
    if config.fit.devices > 1:
        raise ValueError(
            f"a sweep trains each trial on one device (got {config.fit.devices});"
            " to use more, call it several times with the same folder"
        )
    grid = combinations(config)
    folder = output or Path("runs") / f"sweep-{default_folder(config).name}"
    console = Console(stderr=True)
    for key in config.grid:
        if not any(f"{key}=" in name for name in grid):
            say(f"'{key}' has no effect with this estimator: left out of the grid", console)
    with console.status(f"loading {config.data.name}"):
        source = load_source(config.data)
    task, ledger = source.dataset.task, Ledger(folder)
    of_data = {"fingerprint": source.dataset.fingerprint}
    jobs = [Trial(name, own, settings_of(own) | of_data) for name, own in grid.items()]
    missing = [trial for trial in jobs if ledger.find(trial) is None]
    say(f"{len(jobs)} combinations of {', '.join(config.grid)}; folder {folder}", console)
    with training_bars("trials", len(missing[:trials]), console) as (epoch_bar, advance):

        def bars_of(title: str) -> list[TrainingBar]:
            return epoch_bar(title, task.metric)

        def perform(trial: Trial) -> dict[str, Any]:
            metrics = dict[str, Any]()
            with suppress(DivergedError):  # it has no metrics
                place = folder / trial.record
                metrics = train(trial.config, source, place, resume=True, callbacks_of=bars_of).metrics
            return {"config": trial.settings, "valid": metrics.get("valid"), "test": metrics.get("test")}

        run_jobs(ledger, missing, perform, most=trials, wait=True, after=lambda _trial: advance())
    found = [(trial, read_content(path)) for trial in jobs if (path := ledger.find(trial)) is not None]
    say(f"{config.data.name}, {label_of(config)}: {len(found)} of {len(jobs)} done\n")
    scored = [(trial, record) for trial, record in found if math.isfinite(record["valid"] or math.nan)]
    scored.sort(key=lambda one: one[1]["valid"], reverse=task.higher_is_better)
    rows = [(trial.label, f"{record['valid']:.4f}", f"{record['test']:.4f}") for trial, record in scored[:SHOWN]]
    say(markdown_table(("settings", f"valid {task.metric}", f"test {task.metric}"), rows))
    if not scored:
        say("no trial has ended well yet")
        return 1
    best = folder / "best.yaml"
    write_text(best, to_yaml(scored[0][0].config))
    say(f"\nbest settings: {best} (policylearn train {config.data.name} --config {best})")
    return 0


@dataclass(frozen=True)
class Trial:
    """One combination of a grid; its settings are those of the run and the fingerprint of its data."""

    label: str
    config: RunConfig
    settings: dict[str, Any]

    @property
    def record(self) -> str:
        """Where its record goes, and beside it its run folder; other settings have another name."""
        return f"trials/{self.label}-{short_hash(self.settings)}"


def combinations(config: RunConfig) -> dict[str, RunConfig]:
    """The settings of every combination of the grid by its label, without those that its estimator does not have."""
    if not config.grid:
        raise ConfigError(
            "there is nothing to sweep over: the configuration has no grid; add one,"
            " such as --grid '{selection.node_dropout: [0.0, 0.5]}'"
        )
    for key, values in config.grid.items():
        if not values or not all(isinstance(value, bool | int | float | str | None) for value in values):
            raise ConfigError(f"the grid's '{key}' must hold plain values, at least one (got {values!r})")
    usual = selection_of(settings_of(config)).get("estimator")
    own = {name: {f"selection.{field}" for field in kind.__struct_fields__} for name, kind in ESTIMATORS.items()}
    found = {}
    for product in itertools.product(*config.grid.values()):
        whole = dict(zip(config.grid, product, strict=True))
        estimator = whole.get("selection.estimator", usual)
        others = set().union(*own.values()) - own[str(estimator)] if estimator else set()
        chosen = {key: value for key, value in whole.items() if key not in others}
        base = config.replace(grid={}, system=fitting(config.system, nested(chosen)))
        found[label(chosen)] = complete(changed(base, nested(chosen), "the grid"))
    return found


def label(combination: Mapping[str, Any]) -> str:
    """A combination in one word that can name a folder."""
    return ",".join(f"{key}={UNSAFE.sub('_', write_value(value))}" for key, value in combination.items())
