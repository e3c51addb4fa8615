"""A run on new labelled rows: scores by target, and how often its intervals hold the truth there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from policylearn.data import DataError, Task
from policylearn.data.convert import open_rows
from policylearn.data.convert.infer import as_number, is_missing
from policylearn.prediction.calibration import Coverage, measure_coverage
from policylearn.prediction.predictor import Predictor
from policylearn.prediction.scores import Scores, target_scores


@dataclass(frozen=True)
class LabelledScores:
    """What came out.

    Args:
        scores: of each target.
        labels: how many each target has.
        coverage: of the run's intervals or sets; None without calibration.
        rows: that were scored.
        failed: rows that were not, with the reason.
    """

    scores: dict[str, Scores]
    labels: dict[str, int]
    coverage: Coverage | None
    rows: int
    failed: tuple[str, ...]


def evaluate_table(
    predictor: Predictor, path: str | Path, *, smiles: str | None = None, workers: int = 0
) -> LabelledScores:
    """Score a run on a table with the columns that it was trained to predict.

    Args:
        predictor: of a run on molecules.
        path: the table.
        smiles: the column of molecules; None takes the name that it had in training.
        workers: as in `Predictor.answer_molecules`.
    """
    path = Path(path)
    task = predictor.task
    if predictor.run.facts.featuriser is None:
        raise DataError(f"{path}: the run was trained on graphs and cannot read molecules")
    texts: list[str] = []
    targets: list[list[float]] = []
    lines: list[int] = []
    failed: list[str] = []
    with open_rows(path, task.targets, smiles=smiles or predictor.run.config.data.smiles) as rows:
        column = rows.smiles or "smiles"
        for row in rows:
            truth = row.problem or read_targets(task, row.fields)
            if isinstance(truth, str):
                failed.append(f"line {row.line}: {truth}")
            else:
                texts.append(row.fields[column])
                targets.append(truth)
                lines.append(row.line)
    answer, problems = predictor.answer_molecules(texts, workers=workers)
    failed += [f"line {lines[at]}: {reason}" for at, reason in problems.items()]
    y = np.array([truth for at, truth in enumerate(targets) if at not in problems])
    if not len(y):
        raise DataError(f"{path}: no row can be scored; {failed[0] if failed else 'it has a header and no rows'}")
    coverage = None
    if predictor.calibration is not None:
        coverage = measure_coverage(predictor.calibration, task, y, answer.values, answer.std, near=answer.near)
    counts = {target: int((~np.isnan(y[:, at])).sum()) for at, target in enumerate(task.targets)}
    return LabelledScores(target_scores(task, y, answer.values), counts, coverage, len(y), tuple(failed))


def read_targets(task: Task, fields: Mapping[str, str]) -> list[float] | str:
    """The targets of a row, NaN where one is missing; or what is wrong with them."""
    names = {name: float(at) for at, name in enumerate(task.classes or ("0", "1"))}
    found = []
    for target in task.targets:
        cell = fields[target].strip()
        number = as_number(cell)
        if is_missing(cell):
            found.append(np.nan)
        elif task.kind == "regression" and number is not None:
            found.append(number)
        elif task.kind != "regression" and cell in names:
            found.append(names[cell])
        elif task.kind != "regression" and number is not None and f"{number:g}" in names:
            found.append(names[f"{number:g}"])
        else:
            known = "a number" if task.kind == "regression" else f"one of {', '.join(names)}"
            return f"target '{target}' is '{cell[:40]}', and the run knows {known}"
    return "no target is known" if all(value != value for value in found) else found
