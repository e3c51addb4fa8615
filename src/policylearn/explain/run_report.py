"""The page of a run: what it learned, how good it is, where it errs and what it looks at, in one HTML file."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from policylearn.data import DataError, PackedGraphs, Task, take_graphs
from policylearn.data.atomic import write_text
from policylearn.data.packed import Array
from policylearn.data.scaffolds import scaffold
from policylearn.explain import charts
from policylearn.explain.molecules import molecule_svg
from policylearn.explain.picks import PickedAnswers, PickedGraph, picked_answers, picks_nodes, prediction_text
from policylearn.prediction.answer import Answer, compare
from policylearn.prediction.held_out import HeldOut, read_held_out, target_text
from policylearn.prediction.model_card import figures, read_notes
from policylearn.prediction.predictor import BatchWarning, Predictor, load
from policylearn.prediction.scores import NAMES, target_scores, thirds
from policylearn.prediction.templates import render
from policylearn.settings.run_files import HISTORY, read_metrics
from policylearn.training import load_source
from policylearn.training.folds import read_history
from policylearn.training.runs import Run, load_members

REPORT = "report.html"
WORST, DRAWN, SCAFFOLDS, CURVES = 8, 6, 8, 6
MOST_COMPARED = 1000
"""Graphs whose error with and without picks is compared."""
MOST_DOTS = 3000
"""Dots of a parity plot; beyond, a page grows and nothing more can be seen."""


def write_run_report(
    folder: str | Path,
    path: Path | None = None,
    *,
    parts: dict[str, HeldOut] | None = None,
    predictor: Predictor | None = None,
    graphs: PackedGraphs | None = None,
) -> Path:
    """Write the page of a finished run or ensemble, by default to ``report.html`` in its folder.

    Args:
        folder: of the run; all that is not given is read from there.
        path: of the page.
        parts: the held-out rows.
        predictor: of the run.
        graphs: all graphs of its data, with the structures that the model reads.
    """
    folder = Path(folder)
    runs = load_members(folder)
    task = runs[0].facts.task
    parts = read_held_out(folder, task) if parts is None else parts
    shown = parts.get("test") or parts["valid"]
    if shown.answer.lower is not None and not np.isfinite(shown.answer.lower).any():
        shown = replace(shown, answer=replace(shown.answer, lower=None, upper=None))
    error, unit = row_errors(task, shown)
    molecules, reads_smiles = bool(shown.smiles), runs[0].facts.featuriser is not None
    predictor, unread = predictor or load_quietly(folder), ""
    try:
        found = held_out_picks(predictor, shown, graphs)
    except (DataError, OSError) as missing:  # the folder does not hold the data of a run on packed graphs
        found, unread = None, str(missing)
    gain = np.zeros(0) if found is None else gain_by_picks(found, shown)
    drawn = [] if found is None else most_changed(found, shown, gain, reads_smiles)
    text = render(
        "run.html",
        "explain",
        title=f"{runs[0].facts.dataset['name']}: {', '.join(task.targets)}",
        part="test" if "test" in parts else "validation",
        figures=list(figures(folder, runs, {})),
        run=runs[0],
        metrics=read_metrics(folder, {"format": runs[0].facts.format}) or runs[0].metrics,
        metric=NAMES[task.metric],
        members=[one.metrics["test"] for one in runs],
        scores=score_table(task, parts),
        plots=list(plots_of(task, shown)),
        curves=list(learning_curves(runs)),
        unit=unit,
        thirds=thirds(task, shown.y, shown.answer),
        warned=0 if shown.answer.near is None else int(shown.answer.near.far.sum()),
        scaffolds=scaffold_rows(shown, error) if molecules else [],
        worst=worst_molecules(task, shown, error) if molecules else [],
        picks=[(truth, one) for truth, one in drawn if one.steps],
        effect=effect_of_picks(gain, float(np.nanmedian(error))) if gain.any() else "",
        noun="atom" if reads_smiles else "node",
        unread=unread,
        draw=molecule_svg,
        notes=read_notes(folder),
    )
    target = path or folder / REPORT
    write_text(target, text)
    return target


def load_quietly(folder: str | Path) -> Predictor:
    """The predictor, without the warning on batches that the command has already given."""
    with warnings.catch_warnings(action="ignore", category=BatchWarning):
        return load(folder)


def score_table(task: Task, parts: dict[str, HeldOut]) -> tuple[list[str], list[list[str]]]:
    """Headings and rows: target, part, labels and scores."""
    found = {name: target_scores(task, part.y, part.answer.values) for name, part in parts.items()}
    known = {score for by_target in found.values() for scores in by_target.values() for score in scores}
    names = [name for name in NAMES if name in known]
    rows = []
    for part, by_target in found.items():
        labels = (~np.isnan(parts[part].y)).sum(axis=0)
        for at, (target, scores) in enumerate(by_target.items()):
            cells = [f"{scores[name]:.3f}" if name in scores else "-" for name in names]
            rows.append([target, part, str(labels[at]), *cells])
    return ["target", "part", "labels", *(NAMES[name] for name in names)], rows


def plots_of(task: Task, part: HeldOut) -> Iterator[tuple[str, str]]:
    """Titles and charts: parity and residuals, or ROC and PR curves."""
    if task.kind != "regression":
        yield from ranking_plots(task, part)
        return
    answer = part.answer
    for at, target in enumerate(task.targets[:CURVES]):
        rows = np.flatnonzero(~np.isnan(part.y[:, at]))[:MOST_DOTS]
        if not len(rows):
            continue
        truth, said, ends = part.y[rows, at], answer.values[rows, at], None
        if answer.lower is not None and answer.upper is not None:
            ends = np.stack([answer.lower[rows, at], answer.upper[rows, at]], axis=1)
        name = f"{target}: predicted against measured"
        points = np.stack([truth, said], axis=1)
        yield name, charts.scatter(points, ("measured", "predicted"), name, intervals=ends)
        name = f"{target}: residuals"
        yield name, charts.histogram(said - truth, ("predicted - measured", "rows"), name)


def ranking_plots(task: Task, part: HeldOut) -> Iterator[tuple[str, str]]:
    """ROC and PR curves, a line per target or class that has both answers."""
    from sklearn.metrics import precision_recall_curve, roc_curve

    if task.kind == "classes":
        pairs = {name: (part.y[:, 0] == at, part.answer.values[:, at]) for at, name in enumerate(task.classes)}
    else:
        known = ~np.isnan(part.y)
        pairs = {
            name: (part.y[known[:, at], at] > 0.5, part.answer.values[known[:, at], at])
            for at, name in enumerate(task.targets)
        }
    usable = [(name, *pair) for name, pair in pairs.items() if 0 < pair[0].sum() < len(pair[0])][:CURVES]
    if not usable:
        return
    roc, precision = {}, {}
    for name, truth, chance in usable:
        wrong, right, _ = roc_curve(truth, chance)
        exact, found, _ = precision_recall_curve(truth, chance)
        roc[name] = np.stack([wrong, right], axis=1)
        precision[name] = np.stack([found[::-1], exact[::-1]], axis=1)
    yield "ROC", charts.lines(roc, ("false positive rate", "true positive rate"), "ROC curve", diagonal=True)
    yield "Precision and recall", charts.lines(precision, ("recall", "precision"), "precision and recall")


def learning_curves(runs: Sequence[Run]) -> Iterator[tuple[str, str]]:
    """Loss and validation metric over the epochs, a line per member."""
    histories = [read_history(run.folder / HISTORY) for run in runs if (run.folder / HISTORY).is_file()]
    metric = NAMES[runs[0].facts.task.metric]
    for name, column in (("training loss", "loss"), (f"validation {metric}", "valid")):
        curves = {
            f"member {number + 1}" if len(histories) > 1 else name: np.array(list(enumerate(history[column], start=1)))
            for number, history in enumerate(histories)
            if np.isfinite(history[column]).any()  # no metric of a part with one class
        }
        if curves:
            yield name, charts.lines(curves, ("epoch", name), f"{name} over epochs")


def row_errors(task: Task, part: HeldOut) -> tuple[Array, str]:
    """How wrong each row is, ``(R,)``, NaN without a label, and in which unit."""
    known, errors, _, _ = compare(task, part.y, part.answer)
    unit = "mean |error|" if task.kind == "regression" else "1 - probability of the truth"
    if task.kind == "regression" and len(task.targets) > 1:
        errors, unit = errors / np.nanstd(part.y, axis=0).clip(min=1e-12), f"{unit} in standard deviations"
    count = known.sum(axis=1)
    return np.where(count > 0, np.where(known, errors, 0).sum(axis=1) / count.clip(min=1), np.nan), unit


def held_out_picks(predictor: Predictor, part: HeldOut, graphs: PackedGraphs | None) -> PickedAnswers | None:
    """The picks on the first graphs of a part; None for models without picks, and for tasks on nodes."""
    if predictor.task.level == "node" or not picks_nodes(predictor.model):  # before molecules are described
        return None
    rows = np.array(part.about["graph"][:MOST_COMPARED], dtype=np.int64)
    if graphs is not None:
        return picked_answers(predictor, take_graphs(graphs, rows))
    if predictor.run.facts.featuriser is not None:
        items: Any = part.smiles[:MOST_COMPARED]
    else:
        items = take_graphs(load_source(predictor.run.config.data).dataset.graphs, rows)
    prepared = predictor.prepare(items)
    return None if prepared is None else picked_answers(predictor, prepared)


def gain_by_picks(found: PickedAnswers, part: HeldOut) -> Array:
    """How much lower the network's error is with its picks than without, per graph; 0 without a label.

    Empty where the network cannot be asked without picks.
    """
    if not len(found.values):
        return np.zeros(0)
    y = part.y[: found.values.shape[1]]
    without, with_picks = (
        row_errors(found.task, HeldOut({}, y, Answer(one, [])))[0] for one in (found.values[0], found.values[-1])
    )
    gain: Array = np.nan_to_num(without - with_picks)
    return gain


def most_changed(found: PickedAnswers, part: HeldOut, gain: Array, molecules: bool) -> list[tuple[str, PickedGraph]]:
    """The graphs whose error falls most by the picks, with their truth; a molecule that comes twice is drawn once."""
    order = np.argsort(-gain, kind="stable").tolist() or range(len(found.traces))
    names = part.smiles if molecules else [f"graph {graph}" for graph in part.about["graph"]]
    once: dict[str, int] = {}
    for row in order:
        once.setdefault(names[row], row)
    rows = list(once.values())[:DRAWN]
    return [(truths(found.task, part, row), found.draw(row, names[row], molecule=molecules)) for row in rows]


def effect_of_picks(gain: Array, typical: float) -> str:
    """On how many molecules the picks matter: they change the error by more than the typical error."""
    better, worse = int((gain > typical).sum()), int((gain < -typical).sum())
    return (
        f"The network was asked with and without its picks on {len(gain)} of these graphs. By more than the median"
        f" error of {typical:.3g}, picks lower the error on {better} and raise it on {worse}."
    )


def scaffold_rows(part: HeldOut, error: Array) -> list[dict[str, Any]]:
    """The most frequent cores with the mean error of their molecules, the worst first."""
    groups: dict[str, list[float]] = {}
    for text, value in zip(part.smiles, error.tolist(), strict=True):
        if value == value:
            groups.setdefault(scaffold(text), []).append(value)
    common = sorted(groups.items(), key=lambda item: -len(item[1]))[:SCAFFOLDS]
    rows = [{"smiles": core, "molecules": len(own), "error": float(np.mean(own))} for core, own in common]
    return sorted(rows, key=lambda row: -row["error"])


def worst_molecules(task: Task, part: HeldOut, error: Array) -> list[dict[str, str]]:
    """The rows with the largest errors."""
    order = [int(row) for row in np.argsort(-np.nan_to_num(error, nan=-1.0)) if error[row] == error[row]][:WORST]
    return [
        {
            "smiles": part.smiles[row],
            "truth": truths(task, part, row),
            "said": prediction_text(task, part.answer.values[row]),
        }
        for row in order
    ]


def truths(task: Task, part: HeldOut, row: int) -> str:
    """The true values of a row in words."""
    number = task.kind == "regression"
    named = (f"{y:.6g}" if number and y == y else target_text(task, at, y) for at, y in enumerate(part.y[row]))
    return ", ".join(one or "-" for one in named)
