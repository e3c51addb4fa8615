"""What every training leaves in a ledger, whether a table of the paper or a comparison asked for it."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from lab.provenance import Provenance
from policylearn.training.folds import read_history


@dataclass(frozen=True, kw_only=True)
class RunRecord(Provenance):
    """One training.

    Args:
        config: the whole configuration.
        best_epoch: by validation, counted from 0; None for times.
        valid: the metric there; None for times.
        test: the metric there, or the milliseconds.
        curve: per epoch ``epoch``, ``loss``, ``valid`` and, where it was looked at, ``test``; empty for times and where
            a table's mean over several splits has none of its own.
        file: where it was read from; not written.
    """

    config: dict[str, Any]
    metric: str
    higher_is_better: bool
    epochs: int
    best_epoch: int | None
    valid: float | None
    test: float
    parameters: dict[str, int]
    dataset: dict[str, Any]
    curve: dict[str, list[float]] = field(default_factory=dict)
    file: Path | None = field(default=None, compare=False)


def read_curve(path: str | Path) -> dict[str, list[float]]:
    """A history's curves with as few digits as single precision needs; losses, which are only looked at, fewer.

    Records have counted epochs from 0 from the start; histories count from 1, and those of older runs from 0.
    """
    history = read_history(path)
    curve: dict[str, list[float]] = {"epoch": list(range(len(history["epoch"])))}
    curve["loss"] = [float(f"{value:.5g}") for value in history["loss"]]
    for part in ("valid", "test"):
        if history[part]:
            curve[part] = [float(str(np.float32(value))) for value in history[part]]
    return curve
