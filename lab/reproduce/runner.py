"""Run what is missing: claim a job, train or resume it, write its record."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any

import lightning

from lab.errors import save_errors
from lab.ledger import JobOutcome, Ledger, run_jobs
from lab.reproduce.plan import Job, command_of
from lab.reproduce.records import Record, fields_of, run_folder
from lab.reproduce.timing import measure_ms
from lab.reproduce.unfinished import continue_copy, remove_copy
from lab.run_record import read_curve
from lab.settings import kept_source
from policylearn.settings.run_files import HISTORY
from policylearn.training import Source, fit, load_run
from policylearn.training.checkpoints import CHECKPOINTS
from policylearn.training.fitting import describe_dataset
from policylearn.training.folds import parts_of

CallbacksOf = Callable[[Job], Sequence[lightning.Callback]]


def run_table(
    jobs: Sequence[Job],
    ledger: Ledger,
    *,
    callbacks_of: CallbacksOf = lambda _job: (),
    after: Callable[[Job], None] = lambda _job: None,
) -> JobOutcome[Job]:
    """Run the jobs that have no record and that no other process is at.

    A run that was stopped continues from its run folder, or from the copy that was kept of it. ``after`` is told each
    job that is over, whoever did it.
    """

    def run(job: Job) -> Record:
        continue_copy(ledger, job)
        return perform(job, kept_source(job.config.data), ledger, callbacks_of(job))

    def finished(job: Job) -> None:
        if ledger.find(job) is not None:
            remove_copy(ledger, job)
        after(job)

    return run_jobs(ledger, jobs, run, after=finished)


def perform(job: Job, source: Source, ledger: Ledger, callbacks: Sequence[lightning.Callback]) -> Record:
    """Train or measure, and say all about it."""
    measure = job.cell.column.measure
    if measure != "metric":
        started = time.perf_counter()
        value = measure_ms(job.config, source, measure)
        return record_of(
            job,
            best_epoch=None,
            valid=None,
            test=value,
            seconds=round(time.perf_counter() - started, 3),
            parameters={},
            dataset=describe_dataset(source.dataset),
            reported="test",
        )
    parts = parts_of(source.dataset.splits) if job.cell.column.protocol.repeat == "fold" else ("valid",)
    fold, folder = job.config.data.fold or 0, run_folder(ledger, job)
    done = fit(job.config, source, folder, fold=fold, resume=True, callbacks=callbacks, every_epoch=parts)
    run = load_run(folder)
    record = record_of(
        job,
        best_epoch=done.metrics["best_epoch"] - 1,  # records have counted from 0 from the start
        valid=done.metrics["valid"],
        test=done.metrics["test"],
        seconds=round(done.metrics["seconds"], 3),
        parameters=done.metrics["parameters"],
        dataset=run.facts.dataset,
        versions=run.facts.versions,
        reported=parts[-1],
        curve=read_curve(folder / HISTORY),
    )
    save_errors(ledger.path(job), source.dataset.task, done)
    shutil.rmtree(folder / CHECKPOINTS, ignore_errors=True)  # several times the weights, and of no more use
    return record


def record_of(job: Job, **found: Any) -> Record:
    """A job's record with what was found."""
    of_cell, column = fields_of(job.cell, job.settings), job.cell.column
    if job.schedule:  # it says what was changed
        for key in ("optim.decay_every", "optim.milestones"):
            of_cell["changed"].pop(key, None)
    return Record(
        number=job.repeat,
        epochs=job.config.fit.epochs,
        schedule=job.schedule,
        metric=column.metric,
        higher_is_better=column.higher_is_better,
        finished=datetime.now(UTC).isoformat(timespec="seconds"),
        command=command_of(job.cell, job.settings, [job.repeat]),
        **of_cell,
        **found,
    )
