"""Evaluate a finished run on the data and under the conditions that it records."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Literal

from policylearn.data import BatchLoader, DataError, Dataset, PackedGraphs
from policylearn.data.packed import Array
from policylearn.settings.run_files import RunError
from policylearn.training.data_source import Source, load_source
from policylearn.training.evaluation import answer_parts, evaluate, torch_threads
from policylearn.training.fitting import Fitted, Trained
from policylearn.training.prepared_data import apply_stored, count_workers
from policylearn.training.runs import Run, RunFacts, load_run

SplitPart = Literal["train", "valid", "test"]


@dataclass(frozen=True)
class Reevaluation:
    """The metric of a part, computed from the stored weights, and what the run ``logged`` for it, if it did."""

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
    score: Callable[[PackedGraphs, Array], float] | None = None,
) -> Reevaluation:
    """The metric of a run, with its own batch size and threads, so that it equals the logged one to the last digit.

    Args:
        run: a finished run.
        part: of the data.
        data: where the same data is now, if it has moved.
        score: computes the metric from all graphs and the rows of the part, where more than the network answers.
    """
    facts = run.facts
    config = run.config.data if data is None else run.config.data.replace(name=data)
    try:
        dataset = load_source(config).dataset
    except DataError as error:
        hint = "; if the data has moved, say where it is with --data" if data is None else ""
        raise DataError(f"{error}{hint}{run.plugin_hint}") from error
    if dataset.fingerprint != facts.dataset["fingerprint"]:
        raise RunError(
            f"{config.name}: is not what {run.folder} was trained on: {len(dataset)} graphs with fingerprint"
            f" {dataset.fingerprint[:12]} instead of {facts.dataset['graphs']} with"
            f" {facts.dataset['fingerprint'][:12]}; graphs, targets and splits must be the same. Give the original data"
            " with --data, or use 'policylearn predict' on new data"
        )
    rows = getattr(dataset.splits[facts.fold or 0], part)
    graphs = prepared_graphs(run, dataset)
    with torch_threads(facts.threads):
        if score is not None:
            value = score(graphs, rows)
        else:
            batches = BatchLoader(graphs, rows, batch_size=facts.evaluation_batch_size)
            value = evaluate(run.build(), batches, facts.task)
    return Reevaluation(facts.task.metric, part, value, run.metrics.get(part), len(rows))


def recall(folder: Path, source: Source) -> Fitted:
    """A finished run with what its training held in memory, made again from its folder and data."""
    run = load_run(folder)
    facts, split = run.facts, source.dataset.splits[run.facts.fold or 0]
    graphs, model, unscored = prepared_graphs(run, source.dataset), run.build(), run.metrics.get("unscored", {})
    batch_size = facts.evaluation_batch_size
    found = answer_parts(model, graphs, split, facts.task, batch_size=batch_size, unscored=unscored)
    return Fitted(folder, run.metrics, Trained(model, graphs, split, found))


def prepared_graphs(run: Run, dataset: Dataset) -> PackedGraphs:
    """The graphs of a dataset with the structures that the model of a run reads."""
    facts, workers = run.facts, count_workers(run.config.data, len(dataset))
    return apply_stored(
        facts.transforms, dataset.graphs, columns=facts.columns, source=dataset.name, cached=True, workers=workers
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
