"""What a training leaves besides its weights: predictions on its validation and test rows, and their calibration."""

from __future__ import annotations

import io
import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from policylearn.data import PackedGraphs, Task, take_graphs
from policylearn.data.atomic import write_text
from policylearn.data.packed import Array
from policylearn.data.subset import targets_are_per_node
from policylearn.prediction.answer_columns import AnswerColumns
from policylearn.prediction.calibration import Calibration, calibrate, measure_coverage
from policylearn.prediction.predictor import Answer, Predictor
from policylearn.prediction.row_writer import row_writer
from policylearn.prediction.scores import Scores, headline, target_scores
from policylearn.settings.run_files import ENSEMBLE, METRICS
from policylearn.training.data_source import Source
from policylearn.training.members import load_members

PREDICTIONS = "predictions.csv"


@dataclass(frozen=True)
class HeldOut:
    """The rows of one part with their answers.

    Args:
        graphs: of the part.
        rows: their places in the data.
        answer: what the model says.
    """

    graphs: PackedGraphs
    rows: Array
    answer: Answer


@dataclass(frozen=True)
class Outcome:
    """How good a finished run is.

    Args:
        calibration: with the coverage on the test part; None without validation labels.
        scores: of the test part, by target.
        metrics: what ``metrics.json`` says; an ensemble's own.
    """

    calibration: Calibration | None
    scores: dict[str, Scores]
    metrics: dict[str, Any]


def finish(folder: str | Path, source: Source, *, fold: int = 0) -> Outcome:
    """Predict on the validation and test rows, calibrate on the first, measure on the second, and write it all down.

    The folder gets ``predictions.csv`` and ``calibration.json``; that of an ensemble also its ``metrics.json``.

    Args:
        folder: of a finished run or ensemble.
        source: the data that it was trained on.
        fold: which of the splits.
    """
    folder = Path(folder)
    runs = load_members(folder)
    first, *others = (run.build() for run in runs)
    predictor = Predictor(runs[0], first, tuple(others))
    split, task = source.dataset.splits[fold], source.dataset.task
    parts = {}
    for name, rows in (("valid", split.valid), ("test", split.test)):
        if len(rows):
            graphs = take_graphs(source.dataset.graphs, rows)
            parts[name] = HeldOut(graphs, rows, predictor.answer(graphs))
    found = None
    if "valid" in parts:
        valid = parts["valid"]
        found = calibrate(task, valid.graphs.y, valid.answer.values, valid.answer.std)
    if found is not None:
        # Where one part is both, its coverage would say nothing of new rows.
        if "test" in parts and not np.array_equal(split.valid, split.test):
            test = parts["test"]
            measured = measure_coverage(found, task, test.graphs.y, test.answer.values, test.answer.std)
            found = replace(found, coverage=measured)
        found.save(folder)
        judge = Predictor(runs[0], first, tuple(others), found)
        parts = {name: replace(part, answer=judge.judged(part.answer)) for name, part in parts.items()}
    write_text(folder / PREDICTIONS, predictions_table(task, parts, source, has_std=bool(others)))
    metrics = runs[0].metrics
    if (folder / ENSEMBLE).exists():
        metrics = ensemble_metrics([run.metrics for run in runs], task, parts)
        write_text(folder / METRICS, json.dumps(metrics, indent=2) + "\n")
    test_part = parts.get("test")
    scores = {} if test_part is None else target_scores(task, test_part.graphs.y, test_part.answer.values)
    return Outcome(found, scores, metrics)


def ensemble_metrics(members: list[dict[str, Any]], task: Task, parts: dict[str, HeldOut]) -> dict[str, Any]:
    """The figures of the mean of all members, in the form of a run's; ``members`` holds each one's test figure."""
    first = members[0]
    own = {name: headline(task, part.graphs.y, part.answer.values) for name, part in parts.items()}
    diverged = [one["diverged"] for one in members if "diverged" in one]
    return {key: value for key, value in first.items() if key != "diverged"} | {
        "valid": own.get("valid"),
        "test": own.get("test"),
        "members": [one["test"] for one in members],
        "best_epoch": max(one["best_epoch"] for one in members),
        "epochs": max(one["epochs"] for one in members),
        "seconds": sum(one["seconds"] for one in members),
        "parameters": {name: sum(one["parameters"][name] for one in members) for name in first["parameters"]},
        **({"diverged": min(diverged)} if diverged else {}),
    }


def predictions_table(task: Task, parts: dict[str, HeldOut], source: Source, *, has_std: bool) -> str:
    """The held-out rows as CSV: part, graph, line and SMILES where there are any, truth, and what `predict` has."""
    graphs = source.dataset.graphs
    lines = graphs.extras.get("line")
    per_node = targets_are_per_node(graphs)
    smiles = graphs.smiles
    bounds = any(part.answer.lower is not None or part.answer.labels is not None for part in parts.values())
    columns = AnswerColumns(task, std=has_std, bounds=bounds, picks="picked_atoms" if smiles else "picked_nodes")
    present = {"part": True, "graph": True, "node": per_node, "line": lines is not None, "smiles": smiles is not None}
    header = [name for name, there in present.items() if there]
    header += [f"true_{target}" for target in task.targets]
    text = io.StringIO()
    writer = row_writer(text)
    writer.writerow([*header, *columns.names(header)[:-1]])  # no row has an error
    for name, part in parts.items():
        counts = part.graphs.num_nodes if per_node else np.ones(len(part.rows), dtype=np.int64)
        owners = np.repeat(np.arange(len(part.rows)), counts)
        places = np.concatenate([np.arange(count) for count in counts]) if len(counts) else counts
        truth = part.graphs.y.reshape(len(owners), -1)
        for row, cells in enumerate(columns.cells(part.answer, owners)):
            graph = int(part.rows[owners[row]])
            about = [name, str(graph), *[str(places[row])] * per_node]
            about += [] if lines is None else [str(lines[graph])]
            about += [] if smiles is None else [smiles[graph]]
            writer.writerow([*about, *(written(task, value) for value in truth[row]), *cells[:-1]])
    return text.getvalue()


def written(task: Task, value: float) -> str:
    """A target as its file had it: a number, the name of a label, or nothing where it is not known."""
    if value != value:
        return ""
    if task.kind == "regression":
        return str(value)
    return task.classes[int(value)] if task.classes else str(int(value))
