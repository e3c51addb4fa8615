"""What chemists report of predictions: RMSE, MAE and R², or ROC-AUC, PR-AUC and MCC, and errors by distance."""

from __future__ import annotations

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


def target_scores(task: Task, y: Array, values: Array) -> dict[str, Scores]:
    """The scores of each target; one that cannot be worked out, such as ROC-AUC of a single class, is left out.

    The truth is as it is stored, NaN where it is not known, ``(R, K)`` or ``(R,)``; values ``(R, outputs)``.
    """
    if task.kind == "classes":
        return {task.targets[0]: class_scores(label_ids(y)[:, 0], values)}
    truth = y.reshape(values.shape).astype(np.float64)
    found = {}
    for column, target in enumerate(task.targets):
        known = ~np.isnan(truth[:, column])
        pair = truth[known, column], values[known, column].astype(np.float64)
        found[target] = number_scores(*pair) if task.kind == "regression" else binary_scores(*pair)
    return found


def number_scores(truth: Array, guess: Array) -> Scores:
    """Of a regression target."""
    if not len(truth):
        return {}
    error = guess - truth
    found = {"rmse": float(np.sqrt(np.mean(error**2))), "mae": float(np.abs(error).mean())}
    spread = float(np.sum((truth - truth.mean()) ** 2))
    return found | ({"r2": 1 - float(np.sum(error**2)) / spread} if spread > 0 else {})


def binary_scores(truth: Array, chance: Array) -> Scores:
    """Of a yes/no target; MCC and accuracy say yes from one half on."""
    from sklearn.metrics import average_precision_score, matthews_corrcoef, roc_auc_score

    if not len(truth):
        return {}
    said = chance >= 0.5
    found = {}
    if 0 < truth.sum() < len(truth):
        found = {
            "rocauc": float(roc_auc_score(truth, chance)),
            "prauc": float(average_precision_score(truth, chance)),
            "mcc": float(matthews_corrcoef(truth > 0.5, said)),
        }
    return found | {"accuracy": float(np.mean(said == (truth > 0.5)))}


def class_scores(truth: Array, chances: Array) -> Scores:
    """Of one of several classes; ROC-AUC and PR-AUC are means over the classes that the rows hold and lack."""
    from sklearn.metrics import matthews_corrcoef

    kept, chances = truth[truth >= 0], chances[truth >= 0]
    if not len(kept):
        return {}
    each = [binary_scores((kept == label).astype(np.float64), chances[:, label]) for label in range(chances.shape[1])]
    found = {
        name: float(np.mean([one[name] for one in each if name in one]))
        for name in ("rocauc", "prauc")
        if any(name in one for one in each)
    }
    if len(np.unique(kept)) > 1:
        found["mcc"] = float(matthews_corrcoef(kept, chances.argmax(axis=1)))
    return found | {"accuracy": float(np.mean(kept == chances.argmax(axis=1)))}


def headline(task: Task, y: Array, values: Array) -> float | None:
    """The task's own metric, in its own units, as a mean over the targets that have it; None where none has."""
    if task.scaling is not None and not task.metric_in_data_units:
        shift, scale = np.array(task.scaling.shift), np.array(task.scaling.scale)
        y, values = (y.reshape(values.shape) - shift) / scale, (values - shift) / scale
    found = [scores[task.metric] for scores in target_scores(task, y, values).values() if task.metric in scores]
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
