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
from policylearn.prediction.table_reader import molecule_column


@dataclass(frozen=True)
class LabelledScores:
    """Scores and the number of labels of each target, coverage, and why rows were not scored."""

    scores: dict[str, Scores]
    labels: dict[str, int]
    coverage: Coverage | None
    rows: int
    failed: tuple[str, ...]


def evaluate_table(
    predictor: Predictor, path: str | Path, *, smiles: str | None = None, workers: int = 0
) -> LabelledScores:
    """Score a run on molecules on a table with the columns that it was trained to predict.

    The column of molecules has the name that it had in training unless ``smiles`` says otherwise; for ``workers`` see
    `Predictor.prepare_molecules`.
    """
    path, task = Path(path), predictor.task
    texts: list[str] = []
    targets: list[list[float]] = []
    lines: list[int] = []
    failed: list[str] = []
    with open_rows(path, task.targets, smiles=molecule_column(predictor, path, smiles)) as rows:
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
    coverage = measure_coverage(task, y, answer)
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
