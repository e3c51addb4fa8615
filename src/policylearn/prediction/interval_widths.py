"""How wide intervals must be: quantiles of errors, and widths that grow with the distance to the training molecules."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from policylearn.data.packed import Array
from policylearn.prediction.applicability import Nearness

USUAL = 0.9
CHECKS = 5
"""Folds of the rows in which widths are compared."""
LEAST_BASE = 0.1
"""Of the mean error: the least error of a molecule that training has seen, so that no slope is infinite."""


@dataclass(frozen=True)
class DistanceEvidence:
    """What is known of distances when intervals are calibrated.

    Args:
        near: of the validation rows to the molecules that the model has learned from.
        errors: of rows that were predicted without themselves; NaN where the truth is not known.
        distances: of those rows to all others.
        targets: of the rows that the model has learned from.

    Shapes:
        errors ``(n, targets)``, distances ``(n,)``, targets ``(m, targets)``.
    """

    near: Nearness
    errors: Array
    distances: Array
    targets: Array


def growth(near: Nearness, slopes: Sequence[float]) -> Array:
    """By how much intervals are wider than those of molecules that training has seen, ``(R, targets)``."""
    wider: Array = 1 + np.nan_to_num(1 - near.similarity)[:, None] * np.array(slopes)
    return wider


def distance_slope(distances: Array, errors: Array) -> float:
    """The slope s of errors that grow as 1 + s d, or 0 where intervals that grow so have no better interval score."""
    known = ~np.isnan(errors) & ~np.isnan(distances)
    d, e = distances[known], errors[known]
    flat = interval_score(e, lambda rest, own: (np.ones(rest.sum()), np.ones(own.sum())))

    def grown(rest: Array, own: Array) -> tuple[Array, Array]:
        slope = fitted_slope(d[rest], e[rest])
        return 1 + slope * d[rest], 1 + slope * d[own]

    return fitted_slope(d, e) if interval_score(e, grown) < flat else 0.0


def fitted_slope(distances: Array, errors: Array) -> float:
    """The slope s of errors that grow as 1 + s d, by least squares; 0 where they do not grow."""
    if len(errors) < CHECKS or np.ptp(distances) == 0:
        return 0.0
    slope, base = np.polyfit(distances, errors, 1)
    least = LEAST_BASE * float(errors.mean())
    return float(slope / max(base, least)) if slope > 0 and least > 0 else 0.0


def interval_score(errors: Array, widths: Callable[[Array, Array], tuple[Array, Array]], level: float = USUAL) -> float:
    """Widths of intervals and what they miss, times 2 / (1 - level), summed over rows; each fold has the q of the rest.

    Args:
        errors: of the rows, ``(n,)``.
        widths: of the rows of the rest and of the fold, up to a factor, from which rows these are.
        level: of the intervals.
    """
    fold, total = np.arange(len(errors)) % CHECKS, 0.0
    for one in range(CHECKS):
        rest, own = fold != one, fold == one
        wide, new = widths(rest, own)
        half = conformal_quantile(errors[rest] / wide, level) * new
        total += float((2 * half + 2 / (1 - level) * np.maximum(errors[own] - half, 0)).sum())
    return total


def blind_guess(targets: Array, levels: Sequence[float]) -> tuple[tuple[float, ...], ...]:
    """For each level and target, how far from the median that share of the targets lies."""
    columns = [one[~np.isnan(one)] for one in targets.T]
    away = [np.abs(one - np.median(one)) if len(one) else one for one in columns]
    return tuple(tuple(conformal_quantile(one, level) for one in away) for level in levels)


def conformal_quantile(scores: Array, level: float) -> float:
    """The score that a new row stays below with probability ``level``; infinite where there are too few for that."""
    rank = math.ceil((len(scores) + 1) * level - 1e-9)
    return math.inf if rank > len(scores) else float(np.sort(scores)[rank - 1])
