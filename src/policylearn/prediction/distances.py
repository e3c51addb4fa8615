"""How far the held-out rows of a run are from those that it has learned from, and how its errors grow with that."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from policylearn.data import take_graphs
from policylearn.data.packed import Array
from policylearn.data.subset import targets_of
from policylearn.prediction.answer import Answer
from policylearn.prediction.applicability import Domain, Nearness, learn_domain
from policylearn.prediction.calibration import LEVELS, USUAL, conformal_quantile
from policylearn.prediction.kernel_model import targets_by_output
from policylearn.training.fitting import Trained
from policylearn.training.runs import RunFacts

CHECKS = 5
"""Folds of the rows in which widths are compared."""
LEAST_BASE = 0.1
"""Of the mean error: the least error of a molecule that training has seen, so that no slope is infinite."""


@dataclass(frozen=True)
class MoleculeDistances:
    """How far each held-out part is from what a model has learned from; for slopes and blind see `Calibration`."""

    domain: Domain
    near: dict[str, Nearness]
    slopes: tuple[float, ...] = ()
    blind: tuple[tuple[float, ...], ...] = ()


def find_distances(
    facts: RunFacts, trained: Trained, answers: dict[str, Answer], left_out: Array | None
) -> MoleculeDistances | None:
    """The distances of a run on molecules; None where it has learned from other graphs, or predicts atoms.

    ``left_out`` are the kernel model's leave-one-out predictions for training and validation rows; None without one.
    """
    if facts.featuriser is None or facts.task.level != "graph":
        return None
    graphs, split = trained.graphs, trained.split
    rows = split.train if left_out is None else np.concatenate([split.train, split.valid])
    domain, among = learn_domain(graphs, rows, facts.node_features, facts.edge_features)
    near = {part: domain.nearness(take_graphs(graphs, trained.answers[part].rows)) for part in answers}
    if left_out is not None:
        near |= {"valid": among.rows(slice(len(split.train), None))}
    if "test" in near and np.array_equal(split.valid, split.test):
        near["test"] = near["valid"]
    if facts.task.kind != "regression" or "valid" not in answers:
        return MoleculeDistances(domain, near)
    targets = targets_by_output(facts.task, graphs.y[rows])
    if left_out is None:  # the network has no error of its training rows that says anything of new ones
        errors = np.abs(answers["valid"].values - targets_by_output(facts.task, targets_of(graphs, split.valid)))
        away = 1 - near["valid"].similarity
    else:
        errors, away = np.abs(left_out - targets), 1 - among.similarity
    # The deviation over members grows with the distance too.
    ensemble = answers["valid"].std is not None
    slopes = tuple(0.0 if ensemble else distance_slope(away, own) for own in errors.T)
    columns = [one[~np.isnan(one)] for one in targets.T]
    from_median = [np.abs(one - np.median(one)) if len(one) else one for one in columns]
    blind = tuple(tuple(conformal_quantile(one, level) for one in from_median) for level in LEVELS)
    return MoleculeDistances(domain, near, slopes, blind)


def distance_slope(distances: Array, errors: Array) -> float:
    """The slope s of errors that grow as 1 + s d, or 0 where intervals that grow so have no better interval score."""
    known = ~np.isnan(errors) & ~np.isnan(distances)
    d, e = distances[known], errors[known]
    return fitted_slope(d, e) if interval_score(d, e, grow=True) < interval_score(d, e, grow=False) else 0.0


def fitted_slope(distances: Array, errors: Array) -> float:
    """The slope s of errors that grow as 1 + s d, by least squares; 0 where they do not grow."""
    if len(errors) < CHECKS or np.ptp(distances) == 0:
        return 0.0
    slope, base = np.polyfit(distances, errors, 1)
    least = LEAST_BASE * float(errors.mean())
    return float(slope / max(base, least)) if slope > 0 and least > 0 else 0.0


def interval_score(distances: Array, errors: Array, *, grow: bool, level: float = USUAL) -> float:
    """The interval score, summed over folds of rows: widths, plus 2 / (1 - level) times what intervals miss.

    Quantile and slope of a fold come from the other folds. Intervals ``grow`` with the distance, or are all alike.
    """
    fold, total = np.arange(len(errors)) % CHECKS, 0.0
    for one in range(CHECKS):
        rest, own = fold != one, fold == one
        slope = fitted_slope(distances[rest], errors[rest]) if grow else 0.0
        half = conformal_quantile(errors[rest] / (1 + slope * distances[rest]), level) * (1 + slope * distances[own])
        total += float((2 * half + 2 / (1 - level) * np.maximum(errors[own] - half, 0)).sum())
    return total
