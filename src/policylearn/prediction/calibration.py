r"""How far predictions can be trusted: conformal intervals and sets, from rows that the weights were not fitted on.

A score says how badly an answer fits a row; the :math:`\lceil (n + 1) \ell \rceil`-th smallest of the n scores of the
validation part bounds that of a new row with probability :math:`\ell`, if rows are exchangeable (a random split).
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal, Self

import numpy as np

from policylearn.data import Task
from policylearn.data.atomic import write_text
from policylearn.data.packed import Array
from policylearn.prediction.applicability import Nearness
from policylearn.prediction.interval_widths import USUAL as USUAL
from policylearn.prediction.interval_widths import (
    DistanceEvidence,
    blind_guess,
    conformal_quantile,
    distance_slope,
    growth,
)

CALIBRATION = "calibration.json"
LEVELS = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99)


@dataclass(frozen=True)
class Coverage:
    """How often the truth lay inside, on rows that played no part in the calibration.

    Args:
        level: that was promised.
        share: of the labels that were inside.
        labels: how many there were.
        size: mean width of the intervals, or mean number of labels of the sets.
    """

    level: float
    share: float
    labels: int
    size: float


@dataclass(frozen=True)
class Calibration:
    r"""What turns answers into intervals (regression) or sets of labels (yes/no and classes).

    Regression: the score is :math:`|y - \mu| / w`, with :math:`w = (\sigma + f)(1 + s d)`, so the interval is
    :math:`\mu \pm q w`; d is the distance to the training molecules, one minus the largest similarity. One model has
    :math:`\sigma = 0` and f = 1. A molecule far outside has at least the interval of a guess that knows the training
    targets alone. Otherwise the score of a label is one minus its probability, with a q of its own for each label, so
    that rare labels are covered as often as common ones; of a molecule far outside no label is ruled out.

    Args:
        kind: which of the two.
        levels: for which there are quantiles.
        quantiles: for each level and each target (regression) or each label of each target; infinite where the
            validation rows are too few for the level.
        floors: f of each target; empty for sets.
        labels: rows behind each quantile.
        coverage: measured on the test part; None where that is the validation part itself, or empty.
        slopes: s of each target, zero where widths that grow with the distance are no better; empty without distances.
        blind: half the interval of that guess, for each level and target; empty likewise.

    Shapes:
        quantiles and blind ``(levels, targets)``; for sets quantiles ``(levels, targets * labels)``.
    """

    kind: Literal["interval", "set"]
    levels: tuple[float, ...]
    quantiles: tuple[tuple[float, ...], ...]
    floors: tuple[float, ...]
    labels: tuple[int, ...]
    coverage: Coverage | None = None
    slopes: tuple[float, ...] = ()
    blind: tuple[tuple[float, ...], ...] = ()

    def interval(
        self, values: Array, std: Array | None, level: float = USUAL, near: Nearness | None = None
    ) -> tuple[Array, Array]:
        """Lower and upper ends.

        Args:
            values: the answers.
            std: over the members of an ensemble; None for one model.
            level: how often the interval shall hold the truth.
            near: distances to the training molecules, where the run knows them.

        Shapes:
            values, std and both results ``(R, targets)``.
        """
        at = self._place(level)
        half = np.array(self.quantiles[at]) * widths(values, std, self.floors)
        if near is not None and self.slopes:
            half = half * growth(near, self.slopes)
            half = np.where(near.far[:, None], np.maximum(half, self.blind[at]), half)
        return (values - half).astype(values.dtype), (values + half).astype(values.dtype)

    def label_set(self, chances: Array, level: float = USUAL, near: Nearness | None = None) -> Array:
        """Which labels fit; none does where a row is unlike those of every label.

        Shapes:
            chances ``(R, targets, labels)``, the result likewise and bool.
        """
        limits = np.array(self.quantiles[self._place(level)]).reshape(chances.shape[1:])
        fits: Array = 1 - chances <= limits + 1e-6  # stored numbers have gone through float32
        return fits if near is None else fits | near.far[:, None, None]

    def _place(self, level: float) -> int:
        if level not in self.levels:
            known = ", ".join(f"{one:g}" for one in self.levels)
            raise ValueError(f"'level' must be one of {known} (got {level:g}); the run stores quantiles for these")
        return self.levels.index(level)

    def save(self, folder: Path) -> None:
        """Write it into a run folder; an infinite quantile is ``null`` there."""
        content = asdict(self)
        for name in ("quantiles", "blind"):
            content[name] = [[q if math.isfinite(q) else None for q in row] for row in content[name]]
        write_text(folder / CALIBRATION, json.dumps(content, indent=2) + "\n")

    @classmethod
    def load(cls, folder: Path) -> Self | None:
        """Read it back; None where the run has none."""
        path = folder / CALIBRATION
        if not path.is_file():
            return None
        content = json.loads(path.read_text(encoding="utf-8"))
        measured = content["coverage"]

        def table(name: str) -> tuple[tuple[float, ...], ...]:
            return tuple(tuple(math.inf if q is None else q for q in row) for row in content.get(name, ()))

        return cls(
            content["kind"],
            tuple(content["levels"]),
            table("quantiles"),
            tuple(content["floors"]),
            tuple(content["labels"]),
            None if measured is None else Coverage(**measured),
            tuple(content.get("slopes", ())),
            table("blind"),
        )


def calibrate(
    task: Task, y: Array, values: Array, std: Array | None, seen: DistanceEvidence | None = None
) -> Calibration | None:
    """Quantiles of the scores on validation rows; None where there is no label at all.

    Args:
        task: what is predicted.
        y: the truth as it is stored; NaN where it is not known.
        values: the answers.
        std: over the members of an ensemble; None for one model.
        seen: what is known of distances; None where nothing is.

    Shapes:
        y ``(R, K)`` or ``(R,)``; values and std ``(R, outputs)``.
    """
    floors: list[float] = []
    slopes: list[float] = []
    columns: list[Array] = []
    if task.kind == "regression":
        truth = y.reshape(values.shape).astype(np.float64)
        known = ~np.isnan(truth)
        for target in range(values.shape[1]):
            rows = known[:, target]
            wide = np.zeros(rows.sum()) if std is None else std[rows, target].astype(np.float64)
            # With the median as its floor, the widest interval is bounded where the members happen to agree.
            floor = 1.0 if std is None or not len(wide) or np.median(wide) == 0 else float(np.median(wide))
            error = np.abs(truth[rows, target] - values[rows, target])
            floors.append(floor)
            columns.append(error / (wide + floor))
            if seen is not None:
                # The deviation over members grows with the distance too.
                slopes.append(distance_slope(seen.distances, seen.errors[:, target]) if std is None else 0.0)
                columns[-1] = columns[-1] / growth(seen.near.rows(rows), slopes[-1:])[:, 0]
    else:
        chances, ids = label_chances(task, values), label_ids(task, y)
        for target in range(chances.shape[1]):
            own = chances[:, target]
            columns += [1 - own[ids[:, target] == label, label] for label in range(own.shape[1])]
    if not sum(map(len, columns)):
        return None
    quantiles = tuple(tuple(conformal_quantile(scores, level) for scores in columns) for level in LEVELS)
    blind = () if seen is None or task.kind != "regression" else blind_guess(seen.targets, LEVELS)
    kind: Literal["interval", "set"] = "interval" if task.kind == "regression" else "set"
    counts = tuple(map(len, columns))
    return Calibration(kind, LEVELS, quantiles, tuple(floors), counts, None, tuple(slopes), blind)


def widths(values: Array, std: Array | None, floors: Sequence[float]) -> Array:
    """The width of each interval in units of q, before distances, ``(R, targets)``."""
    wide = np.zeros(values.shape) if std is None else std.astype(np.float64)
    whole: Array = wide + np.array(floors)
    return whole


def measure_coverage(
    calibration: Calibration,
    task: Task,
    y: Array,
    values: Array,
    std: Array | None,
    level: float = USUAL,
    near: Nearness | None = None,
) -> Coverage | None:
    """The share of the labels that lie inside.

    Args:
        calibration: of the run.
        task: what is predicted.
        y: the truth as it is stored; NaN where it is not known.
        values: the answers.
        std: over the members of an ensemble; None for one model.
        level: how often intervals and sets shall hold the truth.
        near: distances to the training molecules, where the run knows them.
    """
    if calibration.kind == "interval":
        truth = y.reshape(values.shape)
        known = ~np.isnan(truth)
        lower, upper = calibration.interval(values, std, level, near)
        inside, size = (lower <= truth) & (truth <= upper), (upper - lower).astype(np.float64)
    else:
        chances, ids = label_chances(task, values), label_ids(task, y)
        known = ids >= 0
        fits = calibration.label_set(chances, level, near)
        inside = np.take_along_axis(fits, np.maximum(ids, 0)[..., None], axis=2)[..., 0]
        size = fits.sum(axis=2).astype(np.float64)
    if not known.any():
        return None
    return Coverage(level, float(inside[known].mean()), int(known.sum()), float(size[known].mean()))


def label_chances(task: Task, values: Array) -> Array:
    """The probability of each label of each target, ``(R, outputs) -> (R, targets, labels)``."""
    return values[:, None, :] if task.kind == "classes" else np.stack([1 - values, values], axis=2)


def label_ids(task: Task, y: Array) -> Array:
    """The label of each target, -1 where it is not known, ``(R, targets)``."""
    table = y.reshape(len(y), -1).astype(np.float64)
    return np.where(np.isnan(table), -1, np.nan_to_num(table)).astype(np.int64)
