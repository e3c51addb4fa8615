"""The error of each graph, kept beside a run's record, so that two runs can be compared on the same graphs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from policylearn.data import DataError, Task
from policylearn.data.atomic import replacing
from policylearn.data.packed import Array
from policylearn.data.subset import targets_of
from policylearn.training import Fitted

KIND = ".npz"


def errors_of(task: Task, y: Array, values: Array) -> Array:
    """Prediction minus truth in the metric's units, probability minus label, or 1 where the class is wrong.

    Args:
        task: what is predicted.
        y: the truth as it is stored; NaN where it is not known.
        values: numbers in the data's units, or probabilities.

    Shapes:
        y ``(R, K)`` or ``(R,)``, values ``(R, outputs)`` -> ``(R, K)``.
    """
    if task.kind == "classes":
        wrong: Array = values.argmax(axis=1) != y.reshape(-1)
        return wrong.astype(np.float32)[:, None]
    errors: Array = values - y.reshape(values.shape)
    if task.scaling is not None and not task.metric_in_data_units:
        errors = errors / np.array(task.scaling.scale)
    return errors.astype(np.float32, copy=False)


def save_errors(record: Path, task: Task, done: Fitted) -> None:
    """Write the errors of the validation and test parts beside a record; a run that was read back has none."""
    if done.trained is None:
        return
    trained = done.trained
    found = {
        part: errors_of(task, targets_of(trained.graphs, answers.rows), answers.values)
        for part, answers in trained.answers.items()
    }
    record.parent.mkdir(parents=True, exist_ok=True)
    with replacing(record.with_suffix(KIND)) as path, path.open("wb") as file:
        np.savez_compressed(file, allow_pickle=False, **found)


def has_errors(record: Path | None) -> bool:
    """Whether the errors of graphs lie beside a record."""
    return record is not None and record.with_suffix(KIND).exists()


def read_errors(record: Path | None, part: str = "test") -> Array | None:
    """The errors of a part; None where the record has none."""
    if record is None or not has_errors(record):
        return None
    with np.load(record.with_suffix(KIND)) as arrays:
        found: Array | None = arrays.get(part)
    return found


@dataclass(frozen=True)
class PairedDifference:
    """How much better one run is than another on the same graphs, over several pairs of runs (seeds).

    Args:
        graphs: how many, per pair.
        pairs: how many; those of which nothing is left to compare do not count.
        ours: the metric of the first runs, mean over pairs.
        theirs: of the second.
        gain: how much better the first are; positive is better.
        graph_error: standard error of the gain over graphs: how far another sample of graphs would move it.
        seed_error: standard error over pairs: how far other seeds would move it; NaN for one pair.
        worst: share of the five worst graphs in the sum of the first runs' costs, and in that of the second's.
    """

    graphs: int
    pairs: int
    ours: float
    theirs: float
    gain: float
    graph_error: float
    seed_error: float
    worst: tuple[float, float]


Rows = tuple[Array, Array]
"""Ids of the graphs of a part, and which of them are looked at, ``(R,)`` each."""


def paired_difference(
    metric: str,
    pairs: Iterable[tuple[Path | None, Path | None]],
    part: str = "test",
    rows: Sequence[Rows] | None = None,
) -> PairedDifference | None:
    """Compare runs graph by graph.

    None where a run has no errors of graphs, where nothing is left to compare, or where the metric is no mean over
    graphs (ROC-AUC).

    Args:
        metric: of both.
        pairs: the records of two runs each.
        part: of the data.
        rows: of each pair; None takes all graphs, the same in all pairs.
    """
    gains, means, sets, worst = [], [], [], []
    for place, (ours, theirs) in enumerate(pairs):
        first, second = read_errors(ours, part), read_errors(theirs, part)
        if metric == "rocauc" or first is None or second is None or first.shape != second.shape:
            return None
        ids, chosen = (np.arange(len(first)), np.full(len(first), True)) if rows is None else rows[place]
        if len(ids) != len(first):
            raise DataError(
                f"{ours}: has errors of {len(first)} graphs of '{part}', and the split has {len(ids)};"
                " the data has changed since the run, or its targets belong to nodes"
            )
        if not chosen.any():
            continue
        costs = np.stack([cost(metric, first), cost(metric, second)])[:, chosen]  # (2, R)
        whole, scale = costs.mean(axis=1), 1.0
        if metric == "rmse":  # a difference of squares is that of the roots times their sum
            whole = np.sqrt(whole)
            scale = max(float(whole.sum()), 1e-12)
        gains.append((costs[1] - costs[0]) / scale)
        means.append(1 - whole if metric == "accuracy" else whole)
        sets.append(ids[chosen])
        worst.append([share_of_worst(one) for one in costs])
    if not gains:
        return None
    same = all(np.array_equal(sets[0], one) for one in sets)
    by_graph = np.mean(gains, axis=0) if same else np.concatenate(gains)
    by_pair = np.array([one.mean() for one in gains])
    mine, other = np.mean(means, axis=0).tolist()
    graphs = round(np.mean([len(one) for one in sets]))
    return PairedDifference(
        graphs,
        len(gains),
        mine,
        other,
        float(by_pair.mean()),
        standard_error(by_graph),
        standard_error(by_pair),
        tuple(np.mean(worst, axis=0).tolist()),
    )


def paired_error(metric: str, pairs: Iterable[tuple[Path | None, Path | None]]) -> float | None:
    """The standard error, over test graphs, of the mean difference between runs; see `paired_difference`."""
    found = paired_difference(metric, pairs)
    return None if found is None else found.graph_error


def share_of_worst(costs: Array, number: int = 5) -> float:
    """Share of the worst graphs in the sum of all costs; 0 where all costs are."""
    return float(np.sort(costs)[-number:].sum() / max(costs.sum(), 1e-12))


def standard_error(values: Array) -> float:
    """Of the mean; NaN for fewer than two values."""
    return float(values.std(ddof=1) / math.sqrt(len(values))) if len(values) > 1 else math.nan


def cost(metric: str, errors: Array) -> Array:
    """What each graph adds to the metric, ``(R, K) -> (R,)``; an unknown target counts nowhere."""
    known = ~np.isnan(errors)
    each = {"mae": np.abs(errors), "rmse": errors**2, "accuracy": np.abs(errors) > 0.5}[metric]
    found: Array = np.where(known, each, 0.0).sum(axis=1) / np.maximum(known.sum(axis=1), 1)
    return found
