"""Run a comparison through the ledger: several processes can share it, and one that is killed loses little."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import lightning

from lab.compare.plan import CompareJob, Comparison, jobs_of, label_of
from lab.errors import save_errors
from lab.ledger import JobOutcome, Ledger, read_record, run_jobs
from lab.settings import run_ledger
from policylearn.data.atomic import write_text
from policylearn.settings import DataConfig, with_setting
from policylearn.settings.provenance import commit, describe_machine, versions
from policylearn.settings.run_files import HISTORY
from policylearn.training import Source, load_source
from policylearn.training.fitting import describe_dataset
from policylearn.training.folds import read_curve, train

PROBE_EPOCHS = 2
PROBE = "probe.json"
CallbacksOf = Callable[[CompareJob], Sequence[lightning.Callback]]


@dataclass(frozen=True)
class CompareRecord:
    """What one training gave."""

    data: str
    variant: str
    seed: int
    metric: str
    higher_is_better: bool
    valid: float
    test: float
    best_epoch: int
    epochs: int
    cpu_seconds: float
    parameters: dict[str, int]
    dataset: dict[str, Any]
    commit: str
    machine: dict[str, Any]
    versions: dict[str, str]
    config: dict[str, Any]
    test_mean_picks: float | None = None
    """Picks per test graph of version 0.2, whose policies could stop early; None since then."""
    curve: dict[str, list[float]] = field(default_factory=dict)
    """Loss and validation metric of each epoch; empty where a table's mean over several splits has none of its own."""
    file: Path | None = field(default=None, compare=False)
    """Where it was read from; not written."""


def run_comparison(
    comparison: Comparison,
    folder: str | Path,
    runs: str | Path,
    *,
    equal_seconds: bool = False,
    deadline: float | None = None,
    callbacks_of: CallbacksOf = lambda _job: (),
    after: Callable[[CompareJob], None] = lambda _job: None,
) -> JobOutcome[CompareJob]:
    """Train what has no record yet.

    Args:
        comparison: what is compared.
        folder: where the records go.
        runs: where the run folders go; a training that was stopped continues from there.
        equal_seconds: give every variant the processor time of the reference, instead of equal passes over the data.
        deadline: see `run_jobs`.
        callbacks_of: of each training.
        after: told each job that is over.
    """
    folder, runs = Path(folder), Path(runs)
    ledger = run_ledger(folder)
    epochs = equal_cost(comparison, folder, runs) if equal_seconds else None
    return run_jobs(
        ledger,
        jobs_of(comparison, epochs),
        lambda job: perform(job, runs, callbacks_of(job), ledger),
        deadline=deadline,
        after=after,
    )


def perform(
    job: CompareJob, runs: Path, callbacks: Sequence[lightning.Callback] = (), ledger: Ledger | None = None
) -> CompareRecord:
    """Train, and say all about it; the errors of graphs go beside the record in the ledger."""
    folder, source = runs / job.record, load(job.config.data)
    done = train(job.config, source, folder, resume=folder.exists(), callbacks_of=lambda _title: callbacks)
    metrics = done.metrics
    if ledger is not None and len(done.runs) == 1:
        save_errors(ledger.path(job), source.dataset.task, done.runs[0])
    return CompareRecord(
        data=label_of(job.data),
        variant=job.variant,
        seed=job.seed,
        metric=metrics["metric"],
        higher_is_better=metrics["higher_is_better"],
        valid=metrics["valid"],
        test=metrics["test"],
        best_epoch=metrics["best_epoch"] - 1,  # records have counted from 0 from the start
        epochs=metrics["epochs"],
        cpu_seconds=metrics["cpu_seconds"],
        parameters=metrics["parameters"],
        dataset=describe_dataset(source.dataset),
        commit=commit(),
        machine=describe_machine(),
        versions=versions(),
        config=dict(job.settings),
        curve=read_curve(folder / HISTORY) if (folder / HISTORY).exists() else {},
    )


_LOADED: dict[str, Source] = {}


def load(config: DataConfig) -> Source:
    """The data of a run, kept for the next one, which mostly has the same."""
    key = repr(config)
    if key not in _LOADED:
        _LOADED.clear()
        _LOADED[key] = load_source(config)
    return _LOADED[key]


def equal_cost(comparison: Comparison, folder: Path, runs: Path) -> dict[tuple[str, str], int]:
    """Epochs of each dataset and variant that take the processor time of the reference's.

    Measured once by short trainings with the first seed, and kept in the folder.
    """
    path = folder / PROBE
    known: dict[str, float] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    jobs = {(job.data, job.variant): job for job in jobs_of(replace(comparison, seeds=comparison.seeds[:1]))}
    for (data, variant), job in jobs.items():
        key = f"{label_of(data)}/{variant}"
        if key not in known:
            short = replace(job, config=with_setting(job.config, "fit.epochs", PROBE_EPOCHS))
            known[key] = perform(short, runs / "probe").cpu_seconds / PROBE_EPOCHS
            write_text(path, json.dumps(known, indent=2) + "\n")
    return {
        (data, variant): epochs_for(known, label_of(data), variant, comparison.reference, job.config.fit.epochs)
        for (data, variant), job in jobs.items()
    }


def epochs_for(seconds: Mapping[str, float], data: str, variant: str, reference: str, epochs: int) -> int:
    """How many epochs of a variant take the time of this many of the reference's."""
    return max(1, math.floor(epochs * seconds[f"{data}/{reference}"] / seconds[f"{data}/{variant}"] + 0.5))


def load_records(folder: str | Path) -> list[CompareRecord]:
    """All records below a folder."""
    folder = Path(folder)
    return [
        replace(read_record(path, lambda content: CompareRecord(**content)), file=path)
        for path in sorted(folder.glob("*/*.json"))
        if not path.name.startswith(".")
    ]
