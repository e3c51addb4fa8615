"""Train one run of a comparison, and read what all of them left."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import lightning

from lab.compare.plan import CompareJob, label_of
from lab.errors import save_errors
from lab.ledger import Ledger, read_record
from lab.run_record import RunRecord, read_curve
from lab.settings import kept_source
from policylearn.settings.run_files import HISTORY
from policylearn.training.fitting import describe_dataset
from policylearn.training.folds import train

MEASURED = ("metric", "higher_is_better", "valid", "test", "epochs", "cpu_seconds", "parameters")


@dataclass(frozen=True, kw_only=True)
class CompareRecord(RunRecord):
    """What one training gave."""

    data: str
    variant: str
    seed: int
    best_epoch: int
    valid: float
    cpu_seconds: float
    test_mean_picks: float | None = None
    """Picks per test graph of version 0.2, whose policies could stop early; None since then."""


def perform(job: CompareJob, runs: Path, callbacks: Sequence[lightning.Callback], ledger: Ledger) -> CompareRecord:
    """Train, or continue from the run folder, and say all about it; errors of graphs go beside the record."""
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
        config=dict(job.settings),
        curve=read_curve(folder / HISTORY) if (folder / HISTORY).exists() else {},
        **{name: metrics[name] for name in MEASURED},
    )


def load_records(folder: str | Path) -> list[CompareRecord]:
    """All records below a folder."""
    return [read_record(path, CompareRecord) for path in sorted(Path(folder).glob("*/*.json"))]
