"""Errors and coverage of held-out rows by their distance to the training molecules, in three parts of equal size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from policylearn.data import Task
from policylearn.data.packed import Array
from policylearn.prediction.calibration import label_chances, label_ids
from policylearn.prediction.held_out import HeldOut

PARTS = ("nearest", "middle", "farthest")


@dataclass(frozen=True)
class Third:
    """Rows of one part with a label.

    Args:
        name: nearest, middle or farthest.
        similarity: least and largest of the part.
        errors: of each label: |error|, or 1 - probability of the truth.
        inside: whether the interval or set of each label holds the truth; empty where there are none.
        widths: of the intervals, or labels of the sets.
    """

    name: str
    similarity: tuple[float, float]
    errors: Array
    inside: Array
    widths: Array


def thirds(task: Task, part: HeldOut) -> Sequence[Third]:
    """The three parts of a held-out part; none where similarities are not known."""
    near, answer = part.answer.near, part.answer
    if near is None or not len(part) or np.isnan(near.similarity).any():
        return []
    if task.kind == "regression":
        known, errors = ~np.isnan(part.y), np.abs(answer.values - part.y)
        inside = widths = None
        if answer.lower is not None and answer.upper is not None:
            inside = (answer.lower <= part.y) & (part.y <= answer.upper)
            widths = answer.upper - answer.lower
    else:
        ids = label_ids(task, part.y)
        known = ids >= 0
        chances = label_chances(task, answer.values)
        errors = 1 - np.take_along_axis(chances, np.maximum(ids, 0)[..., None], axis=2)[..., 0]
        inside = widths = None
        if answer.labels is not None:
            inside = np.take_along_axis(answer.labels, np.maximum(ids, 0)[..., None], axis=2)[..., 0]
            widths = answer.labels.sum(axis=2)
    order = np.argsort(-near.similarity, kind="stable")
    found = []
    for name, rows in zip(PARTS, np.array_split(order, len(PARTS)), strict=True):
        if not len(rows):
            continue
        ends = float(near.similarity[rows].min()), float(near.similarity[rows].max())
        sides = [np.empty(0) if one is None else one[rows][known[rows]] for one in (errors, inside, widths)]
        found.append(Third(name, ends, *sides))
    return found
