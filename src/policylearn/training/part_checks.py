"""Check the parts of a split before training: anything to learn, and a metric that can be computed."""

from __future__ import annotations

import numpy as np

from policylearn.data import DataError, Dataset, Split, Task
from policylearn.data.metrics import why_unscored
from policylearn.data.packed import Array
from policylearn.data.splits import PARTS
from policylearn.data.subset import targets_of

WAY_OUT = "give more rows, split another way (--data.split random, with another --data.split_seed), or by a column"


def check_parts(dataset: Dataset, split: Split) -> dict[str, str]:
    """The parts whose metric cannot be computed, with the reason; a `DataError` where nothing can be learned."""
    task, name = dataset.task, dataset.name
    targets = {part: targets_of(dataset.graphs, getattr(split, part)) for part in PARTS}
    train = targets["train"]
    missing = why_no_learning(task, train)
    if missing:
        raise DataError(f"{name}: nothing can be learned from the training part: {missing}; {WAY_OUT}")
    columns = train.reshape(len(train), -1).T if len(task.targets) > 1 else ()
    for target, labels in zip(task.targets, columns, strict=False):
        if not has_labels(labels):
            raise DataError(
                f"{name}: target '{target}' has no label in the training part, so nothing can be learned of it;"
                f" leave the target out, or {WAY_OUT}"
            )
    found = {part: why_unscored(task, targets[part]) for part in ("valid", "test")}
    if not has_labels(targets["valid"]):
        raise DataError(f"{name}: the validation part cannot choose an epoch: {found['valid']}; {WAY_OUT}")
    return {part: reason for part, reason in found.items() if reason is not None}


def has_labels(y: Array) -> bool:
    """Whether any target is known."""
    return bool(len(y)) and not (np.issubdtype(y.dtype, np.floating) and np.isnan(y).all())


def why_no_learning(task: Task, y: Array) -> str | None:
    """Why a training part teaches nothing, in words; None where it does."""
    if not has_labels(y):
        return "it has no labels"
    known = y if np.issubdtype(y.dtype, np.integer) else y[~np.isnan(y)]
    if task.kind != "regression" and len(np.unique(known)) == 1:
        only = int(known.flat[0])
        return f"all its labels are {task.classes[only] if task.classes else only}"
    return None


def unscored_notes(unscored: dict[str, str], metric: str) -> list[str]:
    """What to say of such parts before training."""
    names = {"valid": "validation", "test": "test"}
    notes = [f"the {names[part]} part has no {metric}: {reason}" for part, reason in unscored.items()]
    if "valid" in unscored:
        notes.append("the epoch is chosen by the loss on the validation part instead")
    return notes
