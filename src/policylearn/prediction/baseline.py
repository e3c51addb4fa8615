"""What a chemist has without us: RDKit's descriptors and boosted trees, on the very same split."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from policylearn.data import PackedGraphs, Split, Task, take_graphs
from policylearn.data.packed import Array
from policylearn.data.transforms.descriptors import Descriptors
from policylearn.prediction.scores import headline
from policylearn.training.data_source import Source

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


def fit_baseline(source: Source, *, fold: int = 0, seed: int = 0) -> Baseline:
    """Train boosted trees on descriptors of the training molecules, with scikit-learn's defaults.

    Args:
        source: molecules with their targets.
        fold: which of the splits.
        seed: of the trees, and of the choice among very many molecules.
    """
    started = time.perf_counter()
    split, task = source.dataset.splits[fold], source.dataset.task
    train = split.train
    if len(train) > MOST:
        train = np.sort(np.random.default_rng(seed).choice(train, MOST, replace=False))
    chosen = Split(train, split.valid, split.test)
    x = {part: described(source.dataset.graphs, getattr(chosen, part)) for part in ("train", "valid", "test")}
    y = source.dataset.graphs.y
    guesses = predict_all(task, x["train"], y[train], (x["valid"], x["test"]), seed)
    valid, test = (
        headline(task, y[rows], guess) if len(rows) else None
        for rows, guess in zip((split.valid, split.test), guesses, strict=True)
    )
    return Baseline(NAME, valid, test, len(train), time.perf_counter() - started)


def described(graphs: PackedGraphs, rows: Array) -> Array:
    """Descriptors of the chosen molecules, ``(rows, D)``; NaN where RDKit has none."""
    if not len(rows):
        return np.zeros((0, 1))
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
