r"""How far predictions can be trusted: conformal intervals and sets, from rows that the weights were not fitted on.

A score says how badly an answer fits a row; the :math:`\lceil (n + 1) \ell \rceil`-th smallest of the n scores of the
validation part bounds that of a new row with probability :math:`\ell`, if rows are exchangeable (a random split).
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Literal

import msgspec
import numpy as np

from policylearn.data import Task
from policylearn.data.atomic import write_text
from policylearn.data.packed import Array
from policylearn.prediction.answer import Answer, compare, label_chances, label_ids
from policylearn.prediction.applicability import Nearness
from policylearn.prediction.stored_arrays import reading

CALIBRATION = "calibration.json"
USUAL = 0.9
LEVELS = (0.5, 0.6, 0.7, 0.8, USUAL, 0.95, 0.99)


@dataclass(frozen=True)
class Coverage:
    """How often the truth lay inside, on rows that played no part in the calibration."""

    level: float  # that was promised
    share: float  # of the labels that were inside
    labels: int  # how many there were
    size: float  # mean width of the intervals, or mean number of labels of the sets


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

    def bound(self, task: Task, answer: Answer, level: float = USUAL) -> Answer:
        """The answer with its intervals or sets, which hold the truth as often as ``level`` says."""
        if level not in self.levels:
            known = ", ".join(f"{one:g}" for one in self.levels)
            raise ValueError(f"'level' must be one of {known} (got {level:g}); the run stores quantiles for these")
        at = self.levels.index(level)
        values, near = answer.values, answer.near
        if self.kind == "set":
            chances = label_chances(task, values)
            limits = np.array(self.quantiles[at]).reshape(chances.shape[1:])
            fits: Array = 1 - chances <= limits + 1e-6  # stored numbers have gone through float32
            return replace(answer, labels=fits if near is None else fits | near.far[:, None, None])
        half = np.array(self.quantiles[at]) * (_deviation(answer) + np.array(self.floors))
        if near is not None and self.slopes:
            half = half * growth(near, self.slopes)
            half = np.where(near.far[:, None], np.maximum(half, self.blind[at]), half)
        return replace(answer, lower=(values - half).astype(values.dtype), upper=(values + half).astype(values.dtype))

    def bounded_levels(self) -> tuple[float, ...]:
        """The levels with finite intervals for any target; with few validation labels, high ones have none."""
        if self.kind == "set":
            return self.levels
        return tuple(level for level, row in zip(self.levels, self.quantiles, strict=True) if min(row) < math.inf)

    def missing(self, task: Task, level: float = USUAL) -> Iterator[str]:
        """Why targets have no interval of this level: validation has too few labels of them."""
        if self.kind == "set":
            return
        quantiles = self.quantiles[self.levels.index(level)]
        for target, quantile, labels in zip(task.targets, quantiles, self.labels, strict=True):
            if math.isinf(quantile):
                found = f"{labels} validation labels of {target}"
                yield f"{found} are too few for intervals of {level:.0%}, which need {labels_needed(level)}"

    def save(self, folder: Path) -> None:
        """Write it into a run folder; an infinite quantile is ``null`` there."""
        content = asdict(self)
        for name in ("quantiles", "blind"):
            content[name] = [[q if math.isfinite(q) else None for q in row] for row in content[name]]
        write_text(folder / CALIBRATION, json.dumps(content, indent=2) + "\n")

    @staticmethod
    def load(folder: Path) -> Calibration | None:
        """Read it back; None where the run has none."""
        path = folder / CALIBRATION
        if not path.is_file():
            return None
        with reading(path):
            content = json.loads(path.read_text(encoding="utf-8"))
            for name in ("quantiles", "blind"):
                rows = content.get(name, ())
                content[name] = [[math.inf if q is None else q for q in row] for row in rows]
            return msgspec.convert(content, Calibration)


def calibrate(
    task: Task, y: Array, answer: Answer, slopes: Sequence[float] = (), blind: Sequence[Sequence[float]] = ()
) -> Calibration | None:
    """Quantiles of the scores on validation rows; None where there is no label at all.

    The truth ``y`` is as it is stored, NaN where it is not known. For ``slopes``, which need an answer with distances,
    and ``blind`` see `Calibration`.
    """
    floors: list[float] = []
    columns: list[Array] = []
    if task.kind == "regression":
        compared, deviation = compare(task, y, answer), _deviation(answer)
        wider = growth(answer.near, slopes) if slopes and answer.near is not None else np.ones(deviation.shape)
        for target in range(deviation.shape[1]):
            rows = compared.known[:, target]
            wide = deviation[rows, target]
            # With the median as its floor, the widest interval is bounded where the members happen to agree.
            floors.append(float(np.median(wide)) if len(wide) and np.median(wide) > 0 else 1.0)
            columns.append(compared.errors[rows, target] / (wide + floors[-1]) / wider[rows, target])
    else:
        chances, ids = label_chances(task, answer.values), label_ids(y)
        for target in range(chances.shape[1]):
            own = chances[:, target]
            columns += [1 - own[ids[:, target] == label, label] for label in range(own.shape[1])]
    if not sum(map(len, columns)):
        return None
    quantiles = tuple(tuple(conformal_quantile(scores, level) for scores in columns) for level in LEVELS)
    kind: Literal["interval", "set"] = "interval" if task.kind == "regression" else "set"
    counts = tuple(map(len, columns))
    return Calibration(
        kind, LEVELS, quantiles, tuple(floors), counts, None, tuple(slopes), tuple(tuple(row) for row in blind)
    )


def measure_coverage(task: Task, y: Array, answer: Answer, level: float = USUAL) -> Coverage | None:
    """The share of the labels inside the answer's intervals or sets, which are of this level; None without either."""
    known, _, inside, sizes = compare(task, y, answer)
    if inside is None or sizes is None or not known.any():
        return None
    return Coverage(level, float(inside[known].mean()), int(known.sum()), float(sizes[known].mean()))


def growth(near: Nearness, slopes: Sequence[float]) -> Array:
    """By how much intervals are wider than those of molecules that training has seen, ``(R, targets)``."""
    wider: Array = 1 + np.nan_to_num(1 - near.similarity)[:, None] * np.array(slopes)
    return wider


def labels_needed(level: float) -> int:
    """The fewest scores whose quantile of this level is finite."""
    return math.ceil(level / (1 - level) - 1e-9)


def conformal_quantile(scores: Array, level: float) -> float:
    """The score that a new row stays below with probability ``level``; infinite where there are too few for that."""
    rank = math.ceil((len(scores) + 1) * level - 1e-9)
    return math.inf if rank > len(scores) else float(np.sort(scores)[rank - 1])


def _deviation(answer: Answer) -> Array:
    """Over the members, zero for one model, ``(R, targets)``."""
    return np.zeros(answer.values.shape) if answer.std is None else answer.std.astype(np.float64)
