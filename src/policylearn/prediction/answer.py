"""Predictions of a model, and their comparison with the truth."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from policylearn.data import Task
from policylearn.data.packed import Array
from policylearn.prediction.applicability import Nearness


@dataclass(frozen=True)
class Answer:
    """Predictions of a model for some graphs.

    Args:
        values: in the data's units, or probabilities; an ensemble's mean.
        picks: the nodes that were marked, counted within each graph; of an ensemble those of any member, the nodes that
            most members picked first.
        std: standard deviation of the values over the members of an ensemble; None for one model.
        lower: lower ends of the intervals; None without calibration, and where labels are predicted.
        upper: their upper ends.
        labels: which labels are in the set of each target; None without calibration, and where numbers are predicted.
        near: how far each molecule is from the training molecules; None where the run does not know.

    Shapes:
        values, std, lower and upper ``(R, outputs)``, one row per graph (node-level tasks: one per node); picks G
        lists; labels ``(R, targets, labels)``.
    """

    values: Array
    picks: list[list[int]]
    std: Array | None = None
    lower: Array | None = None
    upper: Array | None = None
    labels: Array | None = None
    near: Nearness | None = None

    def part(self, rows: slice) -> Answer:
        """The answer of some graphs alone, without intervals, in graph-level tasks."""
        std = None if self.std is None else self.std[rows]
        near = None if self.near is None else self.near.rows(rows)
        return Answer(self.values[rows], self.picks[rows], std, near=near)


class Agreement(NamedTuple):
    """An answer compared with the truth, ``(R, targets)`` each."""

    known: Array  # whether the truth is known
    errors: Array  # absolute, or 1 - probability of the truth
    inside: Array | None  # whether the interval or set holds the truth; None without calibration
    sizes: Array | None  # width of the interval, or number of labels of the set


def compare(task: Task, y: Array, answer: Answer) -> Agreement:
    """Compare an answer with the truth ``y`` as it is stored, NaN where it is not known."""
    if task.kind == "regression":
        truth = y.reshape(answer.values.shape).astype(np.float64)
        known, errors = ~np.isnan(truth), np.abs(answer.values - truth)
        if answer.lower is None or answer.upper is None:
            return Agreement(known, errors, None, None)
        inside = (answer.lower <= truth) & (truth <= answer.upper)
        return Agreement(known, errors, inside, (answer.upper - answer.lower).astype(np.float64))
    ids = label_ids(y)
    place = np.maximum(ids, 0)[..., None]
    errors = 1 - np.take_along_axis(label_chances(task, answer.values), place, axis=2)[..., 0]
    if answer.labels is None:
        return Agreement(ids >= 0, errors, None, None)
    inside = np.take_along_axis(answer.labels, place, axis=2)[..., 0]
    return Agreement(ids >= 0, errors, inside, answer.labels.sum(axis=2).astype(np.float64))


def label_chances(task: Task, values: Array) -> Array:
    """The probability of each label of each target, ``(R, outputs) -> (R, targets, labels)``."""
    return values[:, None, :] if task.kind == "classes" else np.stack([1 - values, values], axis=2)


def label_ids(y: Array) -> Array:
    """The label of each target, -1 where it is not known, ``(R, targets)``."""
    table = y.reshape(len(y), -1).astype(np.float64)
    return np.where(np.isnan(table), -1, np.nan_to_num(table)).astype(np.int64)


def combine_members(values: Sequence[Array], picks: Sequence[list[list[int]]]) -> Answer:
    """The mean and standard deviation over the members of an ensemble, with the picks of most members first.

    Values are ``(R, outputs)`` per member, picks a list per graph and member. One model has its own answer and no std.
    """
    if len(values) == 1:
        return Answer(values[0], picks[0])
    dtype = values[0].dtype
    mean, std = np.mean(values, axis=0, dtype=np.float64), np.std(values, axis=0, ddof=1, dtype=np.float64)
    return Answer(
        mean.astype(dtype), [most_picked_first(lists) for lists in zip(*picks, strict=True)], std.astype(dtype)
    )


def most_picked_first(lists: Sequence[list[int]]) -> list[int]:
    """The nodes of several lists, those in most lists first, then in the order of the lists."""
    votes = Counter(node for nodes in lists for node in dict.fromkeys(nodes))
    return [node for node, _ in votes.most_common()]
