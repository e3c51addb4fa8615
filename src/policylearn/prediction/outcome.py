"""What a training leaves besides its weights: predictions on its validation and test rows, and their calibration."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from policylearn.data import PackedGraphs, Task, take_graphs
from policylearn.data.packed import Array
from policylearn.data.subset import targets_of
from policylearn.prediction.answer import combine_members
from policylearn.prediction.blend import FittedBlend, can_blend, fit_blend
from policylearn.prediction.calibration import calibrate, measure_coverage
from policylearn.prediction.distances import find_distances
from policylearn.prediction.held_out import HeldOut, write_held_out
from policylearn.prediction.predictor import Predictor
from policylearn.prediction.scores import Scores, headline, target_scores
from policylearn.training.fitting import Fitted, Trained
from policylearn.training.runs import load_run, save_metrics


@dataclass(frozen=True)
class Outcome:
    """How good a finished run or ensemble is."""

    folder: Path
    metrics: dict[str, Any]  # what metrics.json says; an ensemble's own
    predictor: Predictor
    parts: dict[str, HeldOut]  # the validation and test rows
    scores: dict[str, Scores]  # of the test part, by target


def finish(folder: str | Path, runs: Sequence[Fitted]) -> Outcome:
    """Calibrate on the validation rows, measure on the test rows, and write it all down.

    The folder gets ``predictions.csv`` and ``calibration.json``; that of an ensemble also its ``metrics.json``. The
    ``runs`` are the one run, or the members of the ensemble, all just trained.
    """
    folder, members = Path(folder), [in_memory(run) for run in runs]
    first, loaded = members[0], load_run(runs[0].folder)
    task, graphs, split = loaded.facts.task, first.graphs, first.split
    answers = {}
    for part in first.answers:
        said = [one.answers[part] for one in members]
        answers[part] = combine_members([one.values for one in said], [one.picks for one in said])
    blended, left_out = None, None
    if "valid" in answers and can_blend(task, graphs, split.train):
        network = {part: one.values for part, one in answers.items()}
        blended = fit_blend(task, graphs, split, network, seed=loaded.config.fit.seed)
        answers = {part: replace(one, values=blended.answers[part]) for part, one in answers.items()}
        left_out = blended.left_out
        blended.model.save(folder)
    known = find_distances(loaded.facts, first, answers, left_out)
    if known is not None:
        known.domain.save(folder)
        answers = {part: replace(answer, near=known.near[part]) for part, answer in answers.items()}
    y = {part: targets_of(graphs, one.rows) for part, one in first.answers.items()}
    calibration = None
    if "valid" in answers:
        slopes, blind = ((), ()) if known is None else (known.slopes, known.blind)
        calibration = calibrate(task, y["valid"], answers["valid"], slopes, blind)
    if calibration is not None:
        answers = {part: calibration.bound(task, answer) for part, answer in answers.items()}
        if "test" in answers and not np.array_equal(split.valid, split.test):  # else it would say nothing of new rows
            calibration = replace(calibration, coverage=measure_coverage(task, y["test"], answers["test"]))
        calibration.save(folder)
    parts = {name: HeldOut.of(name, graphs, first.answers[name].rows, answer) for name, answer in answers.items()}
    domain, others = None if known is None else known.domain, tuple(one.model.eval() for one in members[1:])
    write_held_out(folder, task, parts, domain)
    blend = None if blended is None else blended.model
    predictor = Predictor(loaded, first.model.eval(), others, calibration, blend, domain)
    metrics = runs[0].metrics
    if len(runs) > 1:
        metrics = ensemble_metrics([run.metrics for run in runs], task, parts)
    if blended is not None:
        metrics = metrics | blend_figures(task, blended, parts)
    test = parts.get("test")
    if test is not None and "group" in test.about:
        metrics = metrics | {"groups": group_figures(task, test)}
    if metrics is not runs[0].metrics:
        save_metrics(folder, metrics)
    scores = {} if test is None else target_scores(task, test.y, test.answer.values)
    return Outcome(folder, metrics, predictor, parts, scores)


def group_figures(task: Task, part: HeldOut) -> dict[str, dict[str, Any]]:
    """The task's metric and the number of rows of each group of a part."""
    groups = np.array(part.about["group"])
    found = {}
    for name in sorted(set(groups.tolist())):
        rows = groups == name
        found[name] = {"metric": headline(task, part.y[rows], part.answer.values[rows]), "rows": int(rows.sum())}
    return found


def blend_figures(task: Task, blended: FittedBlend, parts: dict[str, HeldOut]) -> dict[str, Any]:
    """What the run's metrics say of a blend: the figures of all together, those of each alone, and their shares."""
    alone = {
        name: {part: headline(task, parts[part].y, said[name]) for part, said in blended.alone.items()}
        for name in blended.model.shares
    }
    together = {name: headline(task, part.y, part.answer.values) for name, part in parts.items()}
    return together | {"alone": alone, "shares": dict(blended.model.shares)}


def in_memory(run: Fitted) -> Trained:
    """What a run that has just ended holds, or a `ValueError`."""
    if run.trained is None:
        raise ValueError(f"{run.folder}: had been finished before; 'training.reevaluation.recall' reads it back")
    return run.trained


def ensemble_metrics(members: Sequence[dict[str, Any]], task: Task, parts: dict[str, HeldOut]) -> dict[str, Any]:
    """The figures of the mean of all members, in the form of a run's; ``members`` holds each one's test figure."""
    first = members[0]
    own = {name: headline(task, part.y, part.answer.values) for name, part in parts.items()}
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


def blended_metric(predictor: Predictor, graphs: PackedGraphs, rows: Array) -> float:
    """The task's metric of all models together, on some of the graphs, which have their structures."""
    values = predictor.answer_prepared(take_graphs(graphs, rows)).values
    value = headline(predictor.task, targets_of(graphs, rows), values)
    if value is None:
        raise ValueError(f"'{predictor.task.metric}' cannot be computed on these {len(rows)} rows")
    return value


def fold_figures(metrics: dict[str, Any], outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """The figures of all folds, where models answer beside their networks; else those of the networks, as they are."""
    if not all("shares" in one.metrics for one in outcomes):
        return metrics
    found = dict(metrics)
    each = {part: [one.metrics.get(part) for one in outcomes] for part in ("valid", "test")}
    for part, values in each.items():
        found[part] = _mean(values)
    names = outcomes[0].metrics["shares"]
    found["alone"] = {
        name: {part: _mean([one.metrics["alone"][name].get(part) for one in outcomes]) for part in each}
        for name in names
    }
    found["shares"] = {
        name: np.mean([one.metrics["shares"][name] for one in outcomes], axis=0).tolist() for name in names
    }
    return found | {"folds": each["test"], "test_deviation": float(np.std([v for v in each["test"] if v is not None]))}


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if len(known) == len(values) else None
