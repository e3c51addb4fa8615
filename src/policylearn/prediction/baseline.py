"""What a chemist has without us: RDKit's descriptors and boosted trees, on the very same split."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from policylearn.data import PackedGraphs, Split, Task, take_graphs
from policylearn.data.packed import Array
from policylearn.data.transforms.descriptors import Descriptors
from policylearn.nn import DESCRIPTORS
from policylearn.prediction.scores import headline

NAME = "boosted trees on RDKit descriptors"
MOST = 4000
"""Training molecules that are described, at most: beyond, a random choice of them keeps it to some seconds."""


@dataclass(frozen=True)
class Baseline:
    """The figure to beat.

    Args:
        name: of the method.
        valid: the task's metric on the validation part; None where it cannot be worked out.
        test: on the test part.
        molecules: that it learned from.
        seconds: that it took, descriptors included.
    """

    name: str
    valid: float | None
    test: float | None
    molecules: int
    seconds: float


def fit_baseline(graphs: PackedGraphs, split: Split, task: Task, *, seed: int = 0) -> Baseline:
    """Train boosted trees on descriptors of the training molecules, with scikit-learn's defaults.

    Args:
        graphs: molecules with their targets; their descriptors are taken where they have any.
        split: which of them to learn from and to predict.
        task: what is predicted.
        seed: of the trees, and of the choice among very many molecules.
    """
    started = time.perf_counter()
    train = split.train
    if len(train) > MOST:
        train = np.sort(np.random.default_rng(seed).choice(train, MOST, replace=False))
    x = descriptors_of(graphs, np.concatenate([train, split.valid, split.test]))
    parts = np.split(x, np.cumsum([len(train), len(split.valid)]))
    guesses = predict_all(task, parts[0], graphs.y[train], (parts[1], parts[2]), seed)
    valid, test = (
        headline(task, graphs.y[rows], guess) if len(rows) else None
        for rows, guess in zip((split.valid, split.test), guesses, strict=True)
    )
    return Baseline(NAME, valid, test, len(train), time.perf_counter() - started)


def descriptors_of(graphs: PackedGraphs, rows: Array) -> Array:
    """Descriptors of the chosen molecules, ``(rows, D)``: those that the graphs carry, or computed now."""
    carried = graphs.structures.get(DESCRIPTORS)
    if carried is not None:
        return carried.values[rows]
    transform = Descriptors()
    return transform.compute(take_graphs(graphs, rows))[transform.into].values


def predict_all(task: Task, x: Array, y: Array, new: tuple[Array, ...], seed: int) -> list[Array]:
    """Numbers or probabilities of each of the ``new`` tables, ``(R, outputs)``; one model per target."""
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

    if task.kind == "classes":
        model = HistGradientBoostingClassifier(random_state=seed).fit(x, y.reshape(-1).astype(np.int64))
        found = []
        for table in new:
            chances = np.zeros((len(table), task.outputs))
            if len(table):
                chances[:, model.classes_] = model.predict_proba(table)
            found.append(chances)
        return found
    columns: list[list[Array]] = [[] for _ in new]
    for target in y.reshape(len(x), -1).T:
        known = ~np.isnan(target)
        constant = len(np.unique(target[known])) < 2
        if not constant:
            kind = HistGradientBoostingRegressor if task.kind == "regression" else HistGradientBoostingClassifier
            model = kind(random_state=seed).fit(x[known], target[known])
        for table, column in zip(new, columns, strict=True):
            if constant or not len(table):
                column.append(np.full(len(table), target[known][0] if known.any() else 0.0))
            elif task.kind == "regression":
                column.append(model.predict(table))
            else:
                column.append(model.predict_proba(table)[:, 1])
    return [np.stack(column, axis=1) for column in columns]
