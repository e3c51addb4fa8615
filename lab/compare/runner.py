"""Run a comparison through the ledger: several processes can share it, and one that is killed loses little."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import lightning

from lab.compare.plan import CompareJob, Comparison, jobs_of, label_of
from lab.errors import save_errors
from lab.ledger import JobOutcome, Ledger, read_curve, read_record, run_jobs
from lab.provenance import commit, describe_machine, versions
from lab.settings import kept_source, open_ledger
from policylearn.settings.run_files import HISTORY
from policylearn.training.fitting import describe_dataset
from policylearn.training.folds import train

CallbacksOf = Callable[[CompareJob], Sequence[lightning.Callback]]
MEASURED = ("metric", "higher_is_better", "valid", "test", "epochs", "cpu_seconds", "parameters")


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
    callbacks_of: CallbacksOf = lambda _job: (),
    after: Callable[[CompareJob], None] = lambda _job: None,
) -> JobOutcome[CompareJob]:
    """Train what has no record yet.

    Args:
        comparison: what is compared.
        folder: where the records go.
        runs: where the run folders go; a training that was stopped continues from there.
        callbacks_of: of each training.
        after: told each job that is over.
    """
    folder, runs = Path(folder), Path(runs)
    ledger = open_ledger(folder)
    return run_jobs(
        ledger,
        jobs_of(comparison),
        lambda job: perform(job, runs, callbacks_of(job), ledger),
        after=after,
    )


def perform(job: CompareJob, runs: Path, callbacks: Sequence[lightning.Callback], ledger: Ledger) -> CompareRecord:
    """Train, and say all about it; the errors of graphs go beside the record in the ledger."""
    folder, source = runs / job.record, kept_source(job.config.data)
    done = train(job.config, source, folder, resume=folder.exists(), callbacks_of=lambda _title: callbacks)
    metrics = done.metrics
    if len(done.runs) == 1:
        save_errors(ledger.path(job), source.dataset.task, done.runs[0])
    return CompareRecord(
        data=label_of(job.data),
        variant=job.variant,
        seed=job.seed,
        best_epoch=metrics["best_epoch"] - 1,  # records have counted from 0 from the start
        dataset=describe_dataset(source.dataset),
        commit=commit(),
        machine=describe_machine(),
        versions=versions(),
        config=dict(job.settings),
        curve=read_curve(folder / HISTORY) if (folder / HISTORY).exists() else {},
        **{name: metrics[name] for name in MEASURED},
    )


def load_records(folder: str | Path) -> list[CompareRecord]:
    """All records below a folder."""
    folder = Path(folder)
    return [
        replace(read_record(path, CompareRecord), file=path)
        for path in sorted(folder.glob("*/*.json"))
        if not path.name.startswith(".")
    ]
