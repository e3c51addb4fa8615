"""Evaluate a finished run on the data and under the conditions that it records."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Literal

import torch

from policylearn.data import BatchLoader, DataError
from policylearn.settings.run_files import RunError
from policylearn.training.data_source import load_source
from policylearn.training.evaluation import evaluate
from policylearn.training.prepared_data import apply_stored, count_workers
from policylearn.training.runs import Run, RunFacts

SplitPart = Literal["train", "valid", "test"]


@dataclass(frozen=True)
class Reevaluation:
    """A metric that was computed from the stored weights.

    Args:
        metric: its name.
        part: of the data.
        value: of the metric.
        logged: what the run wrote down for this part; None where it did not.
        graphs: how many the part holds.
    """

    metric: str
    part: SplitPart
    value: float
    logged: float | None
    graphs: int


def reevaluate(
    run: Run,
    *,
    part: SplitPart = "test",
    data: str | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Reevaluation:
    """The metric of a run, with its own batch size and threads, so that it equals the logged one to the last digit.

    Args:
        run: a finished run.
        part: of the data.
        data: where the same data is now, if it has moved.
        progress: told how far a table has been read.
    """
    facts = run.facts
    config = run.config.data if data is None else run.config.data.replace(name=data)
    try:
        source = load_source(config, progress)
    except DataError as error:
        hint = "; if the data has moved, say where it is with --data" if data is None else ""
        raise DataError(f"{error}{hint}") from error
    dataset = source.dataset
    if dataset.fingerprint != facts.dataset["fingerprint"]:
        raise RunError(
            f"{config.name}: is not what {run.folder} was trained on: {len(dataset)} graphs with fingerprint"
            f" {dataset.fingerprint[:12]} instead of {facts.dataset['graphs']} with"
            f" {facts.dataset['fingerprint'][:12]}; graphs, targets and splits must be the same. Give the original data"
            " with --data, or use 'policylearn predict' on new data"
        )
    indices = getattr(dataset.splits[facts.fold or 0], part)
    graphs = apply_stored(
        facts.transforms,
        dataset.graphs,
        columns=facts.columns,
        source=config.name,
        cached=True,
        workers=count_workers(config, len(dataset)),
    )
    batches = BatchLoader(graphs, indices, batch_size=facts.evaluation_batch_size)
    threads = torch.get_num_threads()
    torch.set_num_threads(facts.threads)
    try:
        value = evaluate(run.build(), batches, facts.task)
    finally:
        torch.set_num_threads(threads)
    return Reevaluation(facts.task.metric, part, value, run.metrics.get(part), len(indices))


def other_versions(facts: RunFacts) -> str:
    """Which packages have changed since the run, in words; empty where none has."""
    changes = []
    for name, then in facts.versions.items():
        try:
            now = version(name)
        except PackageNotFoundError:
            now = "not installed"
        if now != then:
            changes.append(f"{name} {then} -> {now}")
    return ", ".join(changes)
