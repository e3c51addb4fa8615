"""The held-out rows of a run, read back from its ``predictions.csv``."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from policylearn.data import Task
from policylearn.data.packed import Array
from policylearn.prediction.outcome import PREDICTIONS
from policylearn.settings.run_files import RunError

ABOUT = ("part", "graph", "node", "line", "smiles")


@dataclass(frozen=True)
class Predictions:
    """Rows of one part.

    Args:
        rows: the cells by column.
        y: the truth, NaN where it is not known.
        values: numbers, or probabilities.
        lower: ends of the intervals; None for labels and without calibration.
        upper: likewise.

    Shapes:
        y ``(R, targets)``, values ``(R, outputs)``, lower and upper ``(R, targets)``.
    """

    rows: list[dict[str, str]]
    y: Array
    values: Array
    lower: Array | None
    upper: Array | None

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def smiles(self) -> list[str]:
        """Of each row; empty where the data were no molecules."""
        return [row["smiles"] for row in self.rows if "smiles" in row]


def read_predictions(folder: Path, task: Task) -> dict[str, Predictions]:
    """The rows of each part that the file holds.

    Args:
        folder: of a finished run.
        task: that it was trained for.
    """
    path = folder / PREDICTIONS
    if not path.is_file():
        raise RunError(
            f"{path}: is not there, so nothing is known of single rows; train with 'policylearn train', or call"
            " policylearn.prediction.finish on the run folder and its data"
        )
    with path.open(newline="", encoding="utf-8") as file:
        header, *cells = csv.reader(file)
    targets, outputs = len(task.targets), task.outputs
    begin = sum(name in ABOUT for name in header[: len(ABOUT)])
    # Columns go by their place: a target may be called anything.
    first = begin + 2 * targets if task.kind != "regression" else begin + targets
    ends = first + outputs + (outputs if any(name.startswith("std_") for name in header) else 0)
    bounded = task.kind == "regression" and any(name.startswith("lower_") for name in header)
    ids = {name: float(at) for at, name in enumerate(task.classes or ("0", "1"))}

    def number(cell: str) -> float:
        if not cell:
            return np.nan
        return float(cell) if task.kind == "regression" else ids[cell]

    found = {}
    for part in dict.fromkeys(row[0] for row in cells):
        chosen = [row for row in cells if row[0] == part]
        bounds = np.array([row[ends : ends + 2 * targets] for row in chosen], dtype=np.float64) if bounded else None
        found[part] = Predictions(
            [dict(zip(header, row, strict=True)) for row in chosen],
            np.array([[number(cell) for cell in row[begin : begin + targets]] for row in chosen]),
            np.array([row[first : first + outputs] for row in chosen], dtype=np.float64),
            None if bounds is None else bounds[:, 0::2],
            None if bounds is None else bounds[:, 1::2],
        )
    return found
