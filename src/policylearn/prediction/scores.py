"""What chemists report of predictions: RMSE, MAE and R², or ROC-AUC, PR-AUC and MCC, and errors by distance."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from policylearn.data import Task
from policylearn.data.packed import Array
from policylearn.prediction.answer import Answer, compare, label_ids

Scores = dict[str, float]
NAMES = {
    "rmse": "RMSE",
    "mae": "MAE",
    "r2": "R²",
    "rocauc": "ROC-AUC",
    "prauc": "PR-AUC",
    "mcc": "MCC",
    "accuracy": "accuracy",
}
PARTS = ("nearest", "middle", "farthest")


def target_scores(task: Task, y: Array, values: Array, names: Collection[str] = NAMES) -> dict[str, Scores]:
    """The scores of each target; one that cannot be computed, such as ROC-AUC of a single class, is left out.

    The truth is as stored, ``(R, K)`` or ``(R,)`` with NaN where it is not known; predictions are ``(R, outputs)``.
    Of classification only the scores ``names`` are computed.
    """
    if task.kind == "classes":
        return {task.targets[0]: class_scores(label_ids(y)[:, 0], values, names)}
    truth = y.reshape(values.shape).astype(np.float64)
    found = {}
    for column, target in enumerate(task.targets):
        known = ~np.isnan(truth[:, column])
        pair = truth[known, column], values[known, column].astype(np.float64)
        found[target] = number_scores(*pair) if task.kind == "regression" else binary_scores(*pair, names)
    return found


def number_scores(truth: Array, guess: Array) -> Scores:
    """Of a regression target."""
    if not len(truth):
        return {}
    error = guess - truth
    found = {"rmse": float(np.sqrt(np.mean(error**2))), "mae": float(np.abs(error).mean())}
    spread = float(np.sum((truth - truth.mean()) ** 2))
    return found | ({"r2": 1 - float(np.sum(error**2)) / spread} if spread > 0 else {})


def binary_scores(truth: Array, chance: Array, names: Collection[str] = NAMES) -> Scores:
    """Of a yes/no target; MCC and accuracy say yes from one half on."""
    from sklearn.metrics import average_precision_score, matthews_corrcoef, roc_auc_score

    said, right = chance >= 0.5, truth > 0.5
    ways = {
        "rocauc": lambda: roc_auc_score(truth, chance),
        "prauc": lambda: average_precision_score(truth, chance),
        "mcc": lambda: matthews_corrcoef(right, said),
        "accuracy": lambda: np.mean(said == right),
    }
    known = tuple(ways) if 0 < truth.sum() < len(truth) else ("accuracy",) if len(truth) else ()
    return {name: float(ways[name]()) for name in known if name in names}


def class_scores(truth: Array, chances: Array, names: Collection[str] = NAMES) -> Scores:
    """Of one of several classes; ROC-AUC and PR-AUC are means over the classes that the rows hold and lack."""
    from sklearn.metrics import matthews_corrcoef

    kept, chances = truth[truth >= 0], chances[truth >= 0]
    if not len(kept):
        return {}
    guess, found = chances.argmax(axis=1), Scores()
    for name in [one for one in ("rocauc", "prauc") if one in names]:
        each = [binary_scores((kept == one).astype(np.float64), chances[:, one], [name]) for one in np.unique(kept)]
        known = [scores[name] for scores in each if name in scores]
        found |= {name: float(np.mean(known))} if known else {}
    if "mcc" in names and len(np.unique(kept)) > 1:
        found["mcc"] = float(matthews_corrcoef(kept, guess))
    return found | {"accuracy": float(np.mean(kept == guess))}


def headline(task: Task, y: Array, values: Array) -> float | None:
    """The task's own metric, in its own units, as a mean over the targets that have it; None where none has."""
    if task.scaling is not None and not task.metric_in_data_units:
        shift, scale = np.array(task.scaling.shift), np.array(task.scaling.scale)
        y, values = (y.reshape(values.shape) - shift) / scale, (values - shift) / scale
    scores = target_scores(task, y, values, [task.metric]).values()
    found = [one[task.metric] for one in scores if task.metric in one]
    return float(np.mean(found)) if found else None


@dataclass(frozen=True)
class Third:
    """The labels of a third of the rows, by their distance to the training molecules; see `Agreement`.

    ``similarity`` holds the least and the largest; ``inside`` and ``widths`` are empty without intervals.
    """

    name: str
    similarity: tuple[float, float]
    errors: Array
    inside: Array
    widths: Array


def thirds(task: Task, y: Array, answer: Answer) -> list[Third]:
    """Three parts of equal size, by the distance to the training molecules; none where similarities are not known."""
    near = answer.near
    if near is None or not len(y) or np.isnan(near.similarity).any():
        return []
    known, *figures = compare(task, y, answer)
    order = np.argsort(-near.similarity, kind="stable")
    found = []
    for name, rows in zip(PARTS, np.array_split(order, len(PARTS)), strict=True):
        if len(rows):
            ends = float(near.similarity[rows].min()), float(near.similarity[rows].max())
            labels = [np.empty(0) if one is None else one[rows][known[rows]] for one in figures]
            found.append(Third(name, ends, *labels))
    return found
