"""Try a grid of settings: several processes can share the work, and one that is killed loses nothing but time."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lab.grid import apply, read_grid
from lab.ledger import Ledger, read_content, run_jobs
from lab.settings import settings_of
from policylearn.data.atomic import write_text
from policylearn.settings import RunConfig, to_yaml
from policylearn.settings.flat import short_hash
from policylearn.training.data_source import Source
from policylearn.training.folds import CallbacksOf, train
from policylearn.training.module import DivergedError

BEST, TRIALS = "best.yaml", "trials"


@dataclass(frozen=True)
class Trial:
    """One combination of a grid.

    Args:
        label: of the combination.
        config: the run.
        fingerprint: of its data.
    """

    label: str
    config: RunConfig
    fingerprint: str

    @property
    def settings(self) -> dict[str, Any]:
        """What makes it what it is."""
        return settings_of(self.config) | {"fingerprint": self.fingerprint}

    @property
    def record(self) -> str:
        """Where its record goes, and beside it its run folder; other settings have another name."""
        return f"{TRIALS}/{self.label}-{short_hash(self.settings)}"


@dataclass(frozen=True)
class Standing:
    """How far a sweep is.

    Args:
        total: number of combinations.
        values: the validation metric of each finished one by its label, best first; NaN for those that diverged.
        tests: their test metrics.
    """

    total: int
    values: dict[str, float]
    tests: dict[str, float]

    @property
    def best(self) -> str | None:
        """The label of the best combination so far."""
        return next((name for name, value in self.values.items() if not math.isnan(value)), None)


@dataclass(frozen=True)
class Swept:
    """What a sweep has found: the standing at its end, the best configuration and the file that holds it."""

    standing: Standing
    best: RunConfig | None
    path: Path


def sweep(
    config: RunConfig,
    source: Source,
    folder: str | Path,
    *,
    trials: int | None = None,
    callbacks_of: CallbacksOf = lambda _title: (),
    report: Callable[[Standing], None] = lambda _standing: None,
) -> Swept:
    """Train every combination of a configuration's grid once and keep the one with the best validation metric.

    Args:
        config: the run, with its grid.
        source: its data.
        folder: where trials and the best configuration are written; all processes of a sweep share it.
        trials: how many this process runs at most; None runs until all combinations are done.
        callbacks_of: makes the callbacks of each training.
        report: told the standing whenever it may have changed.
    """
    folder = Path(folder)
    combinations = read_grid(config).combinations
    fingerprint = source.dataset.fingerprint
    wanted = [Trial(label, apply(config, values), fingerprint) for label, values in combinations.items()]
    ledger, higher = Ledger(folder), source.dataset.task.higher_is_better

    def perform(trial: Trial) -> dict[str, Any]:
        run = folder / trial.record
        try:
            metrics = train(trial.config, source, run, resume=True, callbacks_of=callbacks_of).metrics
        except DivergedError:
            return {"config": trial.settings, "valid": math.nan, "test": math.nan}
        return {"config": trial.settings, "valid": metrics["valid"], "test": metrics["test"]}

    report(standing_of(ledger, wanted, higher=higher))
    run_jobs(
        ledger,
        wanted,
        perform,
        most=trials,
        wait=True,
        after=lambda _trial: report(standing_of(ledger, wanted, higher=higher)),
    )
    standing = standing_of(ledger, wanted, higher=higher)
    best = None if standing.best is None else apply(config, combinations[standing.best])
    if best is not None:
        write_text(folder / BEST, to_yaml(best))
    return Swept(standing, best, folder / BEST)


def standing_of(ledger: Ledger, trials: list[Trial], *, higher: bool) -> Standing:
    """How far the sweep is, over all processes."""
    found = {trial.label: path for trial in trials if (path := ledger.find(trial)) is not None}
    records = {label: read_content(path) for label, path in found.items()}
    values = {label: _number(record["valid"]) for label, record in records.items()}
    order = sorted(values, key=lambda name: (math.isnan(values[name]), -values[name] if higher else values[name]))
    return Standing(
        total=len(trials),
        values={name: values[name] for name in order},
        tests={name: _number(records[name]["test"]) for name in order},
    )


def _number(value: float | None) -> float:
    """A figure; one that could not be worked out is no number."""
    return math.nan if value is None else float(value)
