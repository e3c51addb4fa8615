"""Evaluate a finished run on the data and under the conditions that it records."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Literal

import torch

from policylearn.data import BatchLoader, DataError, Dataset, PackedGraphs
from policylearn.data.packed import Array
from policylearn.settings.run_files import RunError
from policylearn.training.data_source import Source, load_source
from policylearn.training.evaluation import answer_part, evaluate
from policylearn.training.fitting import Fitted, Trained, make_history
from policylearn.training.prepared_data import apply_stored, count_workers
from policylearn.training.runs import Run, RunFacts, load_run

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
    score: Callable[[PackedGraphs, Array], float] | None = None,
) -> Reevaluation:
    """The metric of a run, with its own batch size and threads, so that it equals the logged one to the last digit.

    Args:
        run: a finished run.
        part: of the data.
        data: where the same data is now, if it has moved.
        progress: told how far a table has been read.
        score: computes the metric from all graphs and the rows of the part, where more than the network answers.
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
    graphs = prepared_graphs(run, dataset)
    threads = torch.get_num_threads()
    torch.set_num_threads(facts.threads)
    try:
        if score is not None:
            value = score(graphs, indices)
        else:
            batches = BatchLoader(graphs, indices, batch_size=facts.evaluation_batch_size)
            value = evaluate(run.build(), batches, facts.task)
    finally:
        torch.set_num_threads(threads)
    return Reevaluation(facts.task.metric, part, value, run.metrics.get(part), len(indices))


def recall(folder: Path, source: Source) -> Fitted:
    """A finished run with what its training held in memory, made again from its folder.

    Args:
        folder: of the run.
        source: the data that it was trained on.
    """
    run = load_run(folder)
    facts, split = run.facts, source.dataset.splits[run.facts.fold or 0]
    graphs, model, unscored = prepared_graphs(run, source.dataset), run.build(), run.metrics.get("unscored", {})
    found = {
        part: answer_part(
            model,
            BatchLoader(graphs, rows, batch_size=facts.evaluation_batch_size),
            facts.task,
            scores=part not in unscored,
        )
        for part, rows in (("valid", split.valid), ("test", split.test))
        if len(rows)
    }
    return Fitted(folder, run.metrics, make_history(run.config, source), Trained(model, graphs, split, found))


def prepared_graphs(run: Run, dataset: Dataset) -> PackedGraphs:
    """The graphs of a dataset with the structures that the model of a run reads."""
    return apply_stored(
        run.facts.transforms,
        dataset.graphs,
        columns=run.facts.columns,
        source=dataset.name,
        cached=True,
        workers=count_workers(run.config.data, len(dataset)),
    )


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
