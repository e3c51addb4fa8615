"""Try a grid of settings: several processes can share the work, and one that is killed loses nothing but time."""

from __future__ import annotations

import math
import os
import platform
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from policylearn.data.atomic import write_text
from policylearn.training.config import RunConfig
from policylearn.training.data_source import Source
from policylearn.training.folds import CallbacksOf, train
from policylearn.training.grid import apply, read_grid
from policylearn.training.parsing import ConfigError, plain, to_yaml
from policylearn.training.sweep_trials import (
    BEGUN,
    LABEL,
    SILENT_BEATS,
    TEST,
    Standing,
    claim,
    import_optuna,
    open_study,
    queue_missing,
    standing_of,
)

if TYPE_CHECKING:
    from optuna import Trial

BEST, DATABASE, SETTINGS, TRIALS = "best.yaml", "sweep.db", "sweep.yaml", "trials"
MACHINE_SETTINGS = ("accelerator", "devices", "threads", "logger", "checkpoint_seconds")
"""Settings of `FitConfig` in which the processes of one sweep may differ."""


@dataclass(frozen=True)
class Swept:
    """What a sweep has found: the standing at its end, the best configuration and the file that holds it."""

    standing: Standing
    best: RunConfig | None
    path: Path


def sweep(
    config: RunConfig,
    source: Source,
    folder: Path,
    *,
    storage: str | None = None,
    name: str = "sweep",
    trials: int | None = None,
    heartbeat: int = 10,
    callbacks_of: CallbacksOf = lambda _title: (),
    report: Callable[[Standing], None] = lambda _standing: None,
) -> Swept:
    """Train every combination of a configuration's grid once and keep the one with the best validation metric.

    Args:
        config: the run, with its grid.
        source: its data.
        folder: where trials and the best configuration are written.
        storage: an Optuna URL that all processes of the sweep share; None is a SQLite file in ``folder``.
        name: of the sweep within the storage.
        trials: how many this process runs at most; None runs until all combinations are done.
        heartbeat: seconds between two signs of life of a running trial.
        callbacks_of: makes the callbacks of each training.
        report: told the standing whenever it may have changed.
    """
    optuna = import_optuna()
    combinations = read_grid(config).combinations()
    higher = source.dataset.task.higher_is_better
    check_folder(folder, config, source)
    url = storage or f"sqlite:///{(folder / DATABASE).resolve().as_posix()}"
    study = open_study(url, name, higher=higher, heartbeat=heartbeat)
    known = study.user_attrs.get("settings")
    if known is None:
        study.set_user_attr("settings", settings_of(config, source))
    else:
        check_same(known, settings_of(config, source), f"the sweep '{name}' in {url}", "give another --name")
    mine = 0

    def objective(trial: Trial) -> float:
        nonlocal mine
        trial.set_user_attr(BEGUN, f"{platform.node()} {os.getpid()}")
        combination = claim(study, trial, combinations)
        run = folder / TRIALS / trial.user_attrs[LABEL]
        report(standing_of(study, combinations, higher=higher))
        metrics = train(apply(config, combination), source, run, resume=True, callbacks_of=callbacks_of).metrics
        trial.set_user_attr(TEST, metrics["test"])
        mine += 1
        if math.isnan(metrics["valid"]):
            raise optuna.TrialPruned("the validation metric is not a number")
        return float(metrics["valid"])

    while True:
        queue_missing(study, combinations, silent=heartbeat * SILENT_BEATS)
        standing = standing_of(study, combinations, higher=higher)
        report(standing)
        if len(standing.values) == len(combinations) or (trials is not None and mine >= trials):
            break
        if any(trial.state == optuna.trial.TrialState.WAITING for trial in study.get_trials(deepcopy=False)):
            study.optimize(objective, n_trials=1)
        else:
            time.sleep(min(heartbeat, 5))  # the rest runs elsewhere, or did: then it falls silent and is queued again
    best = None if standing.best is None else apply(config, combinations[standing.best])
    if best is not None:
        write_text(folder / BEST, to_yaml(best))
    return Swept(standing, best, folder / BEST)


def settings_of(config: RunConfig, source: Source) -> dict[str, Any]:
    """What all processes of a sweep must agree on, by dotted name."""
    settings = flat(plain(config) | {"data.fingerprint": source.dataset.fingerprint})
    return {key: value for key, value in settings.items() if key not in {f"fit.{name}" for name in MACHINE_SETTINGS}}


def check_folder(folder: Path, config: RunConfig, source: Source) -> None:
    """Note the settings in a new folder; one whose trials were trained with other settings is refused."""
    import yaml

    settings = settings_of(replace(config, grid={}), source)
    path = folder / SETTINGS
    if path.exists():
        check_same(yaml.safe_load(path.read_text(encoding="utf-8")), settings, str(folder), "choose another with -o")
    else:
        write_text(path, yaml.safe_dump(settings, sort_keys=False))


def check_same(known: dict[str, Any], wanted: dict[str, Any], place: str, remedy: str) -> None:
    """Raise with the first setting in which two sweeps differ."""
    for key in {**known, **wanted}:
        if known.get(key) != wanted.get(key):
            raise ConfigError(
                f"{place} was begun with other settings ({key} is {known.get(key)} there and {wanted.get(key)} here);"
                f" use the same or {remedy}"
            )


def flat(settings: dict[str, Any], before: str = "") -> dict[str, Any]:
    """Nested settings by dotted name."""
    found: dict[str, Any] = {}
    for key, value in settings.items():
        found |= flat(value, f"{before}{key}.") if isinstance(value, dict) and value else {before + key: value}
    return found
