"""The error of each graph, kept beside a run's record, so that two runs can be compared on the same graphs."""

from __future__ import annotations

import math
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from policylearn.data import Task
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


def read_errors(record: Path | None, part: str = "test") -> Array | None:
    """The errors of a part; None where the record has none."""
    if record is None or not record.with_suffix(KIND).exists():
        return None
    with np.load(record.with_suffix(KIND)) as arrays:
        found: Array | None = arrays.get(part)
    return found


def paired_error(metric: str, pairs: Iterable[tuple[Path | None, Path | None]]) -> float | None:
    """The standard error, over test graphs, of the mean difference between runs.

    It says how far another sample of graphs would move the difference of these runs, not another seed. None where a run
    has no errors of graphs, or where the metric is no mean over them (ROC-AUC).

    Args:
        metric: of both.
        pairs: the records of two runs each.
    """
    per_graph, scale = [], 1.0
    for ours, theirs in pairs:
        found = [read_errors(record) for record in (ours, theirs)]
        if metric == "rocauc" or found[0] is None or found[1] is None or found[0].shape != found[1].shape:
            return None
        costs = [cost(metric, errors) for errors in found if errors is not None]
        per_graph.append(costs[1] - costs[0])
        if metric == "rmse":  # a difference of squares is that of the roots times their sum
            scale = float(sum(np.sqrt(one.mean()) for one in costs))
    if not per_graph:
        return None
    differences = np.mean(per_graph, axis=0) / max(scale, 1e-12)
    return float(differences.std(ddof=1) / math.sqrt(len(differences)))


def cost(metric: str, errors: Array) -> Array:
    """What each graph adds to the metric, ``(R, K) -> (R,)``; an unknown target counts nowhere."""
    known = ~np.isnan(errors)
    each = {"mae": np.abs(errors), "rmse": errors**2, "accuracy": np.abs(errors) > 0.5}[metric]
    found: Array = np.where(known, each, 0.0).sum(axis=1) / np.maximum(known.sum(axis=1), 1)
    return found
