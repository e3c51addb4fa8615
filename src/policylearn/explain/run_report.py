"""The page of a run: what it learned, how good it is, where it errs and what it looks at, in one HTML file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from policylearn.data import Task
from policylearn.data.atomic import write_text
from policylearn.data.scaffolds import scaffold
from policylearn.explain import charts
from policylearn.explain.molecules import molecule_svg, picked_molecules
from policylearn.prediction.answer_columns import AnswerColumns
from policylearn.prediction.blend import ALONE
from policylearn.prediction.calibration import Calibration
from policylearn.prediction.distance_thirds import thirds
from policylearn.prediction.held_out import HeldOut, read_held_out, written
from policylearn.prediction.predictor import Predictor, load
from policylearn.prediction.run_notes import read_notes
from policylearn.prediction.scores import NAMES, target_scores
from policylearn.settings.run_files import HISTORY, read_metrics
from policylearn.training.folds import read_history
from policylearn.training.members import load_members
from policylearn.training.runs import Run

REPORT = "report.html"
WORST, DRAWN, SCAFFOLDS, CURVES = 8, 6, 8, 6
MOST_DOTS = 3000
"""Dots of a parity plot; beyond, a page grows and nothing more can be seen."""


@dataclass(frozen=True)
class ErrorCard:
    """A molecule with what was said of it."""

    smiles: str
    svg: str
    truth: str
    said: str
    error: float


@dataclass(frozen=True)
class ScaffoldRow:
    """The test molecules that share a core."""

    smiles: str
    svg: str
    molecules: int
    error: float


def write_run_report(
    folder: str | Path,
    path: Path | None = None,
    *,
    parts: dict[str, HeldOut] | None = None,
    predictor: Predictor | None = None,
) -> Path:
    """Write the page of a finished run or ensemble.

    Args:
        folder: of the run; it needs no data, as it holds its own held-out rows.
        path: where to; None is ``report.html`` in the folder.
        parts: the held-out rows, where they are in memory; None reads them from the folder.
        predictor: the model, likewise.
    """
    folder = Path(folder)
    runs = load_members(folder)
    task = runs[0].facts.task
    parts = read_held_out(folder, task) if parts is None else parts
    shown = parts.get("test") or parts["valid"]
    error, unit = row_errors(task, shown)
    molecules, reads_smiles = bool(shown.smiles), runs[0].facts.featuriser is not None
    text = render(
        "run.html",
        title=f"{runs[0].facts.dataset['name']}: {', '.join(task.targets)}",
        part="test" if "test" in parts else "validation",
        facts=list(facts_of(folder, runs)),
        scores=score_rows(task, parts),
        score_names=score_names(task, parts),
        plots=list(plots_of(task, shown)),
        curves=list(learning_curves(runs)),
        unit=unit,
        distances=list(distance_rows(task, shown)),
        warned=0 if shown.answer.near is None else int(shown.answer.near.far.sum()),
        scaffolds=scaffold_rows(shown, error) if molecules else [],
        worst=worst_cards(task, shown, error) if molecules else [],
        picks=drawn_picks(predictor or load_quietly(folder), shown) if molecules and reads_smiles else [],
        molecules=molecules,
        reads_smiles=reads_smiles,
        notes=read_notes(folder),
        versions=runs[0].facts.versions,
        machine=runs[0].facts.machine,
    )
    target = path or folder / REPORT
    write_text(target, text)
    return target


def render(template: str, **values: Any) -> str:
    """A page of ours; every value is escaped unless it is one of our own drawings."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    pages = Environment(
        loader=PackageLoader("policylearn.explain", "pages"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return pages.get_template(template).render(**values)


def load_quietly(folder: str | Path) -> Predictor:
    """The predictor, without the warning on batches that the command has already given."""
    folder = Path(folder)
    import warnings

    from policylearn.prediction.predictor import BatchWarning

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BatchWarning)
        return load(folder)


def facts_of(folder: Path, runs: Sequence[Run]) -> Iterator[tuple[str, str]]:
    """The figures at the top."""
    run = runs[0]
    metrics = read_metrics(folder, {"format": run.facts.format}) or run.metrics
    better = "higher" if metrics["higher_is_better"] else "lower"
    for part in ("test", "valid"):
        if metrics.get(part) is not None:
            yield f"{part} {NAMES[metrics['metric']]}", f"{metrics[part]:.4g} ({better} is better)"
    for name, found in metrics.get("alone", {}).items():
        if found.get("test") is not None:
            shares = metrics["shares"][name]
            yield f"{ALONE[name]} alone", f"{found['test']:.4g} on test; share {sum(shares) / len(shares):.0%}"
    found = Calibration.load(folder)
    if found is not None and found.coverage is not None:
        things = "intervals" if found.kind == "interval" else "sets of labels"
        yield (
            f"{found.coverage.level:.0%} {things}",
            f"held {found.coverage.share:.1%} of {found.coverage.labels} test labels",
        )
    yield "data", f"{run.facts.dataset['name']}, {run.facts.dataset['graphs']:,} graphs"
    yield "model", f"{run.config.model}, {run.label}"
    if len(runs) > 1:
        yield (
            "ensemble",
            f"{len(runs)} members, {NAMES[metrics['metric']]} of each: "
            + ", ".join("-" if one.metrics["test"] is None else f"{one.metrics['test']:.4g}" for one in runs),
        )
    yield (
        "training",
        f"weights kept of epoch {metrics['best_epoch']} of {metrics['epochs']}, {metrics['seconds']:.0f} s",
    )


def score_names(task: Task, parts: dict[str, HeldOut]) -> list[str]:
    """The headings of the table of scores."""
    found = {
        name
        for part in parts.values()
        for one in target_scores(task, part.y, part.answer.values).values()
        for name in one
    }
    return [shown for name, shown in NAMES.items() if name in found]


def score_rows(task: Task, parts: dict[str, HeldOut]) -> list[tuple[str, str, int, list[str]]]:
    """Target, part, labels and scores."""
    names = score_names(task, parts)
    rows = []
    for name, part in parts.items():
        for at, (target, scores) in enumerate(target_scores(task, part.y, part.answer.values).items()):
            written = {NAMES[key]: f"{value:.3f}" for key, value in scores.items()}
            labels = int((~np.isnan(part.y[:, at])).sum())
            rows.append((target, name, labels, [written.get(heading, "-") for heading in names]))
    return rows


def plots_of(task: Task, part: HeldOut) -> Iterator[tuple[str, str]]:
    """Titles and charts: parity and residuals, or ROC and PR curves."""
    if task.kind != "regression":
        yield from ranking_plots(task, part)
        return
    for at, target in enumerate(task.targets[:CURVES]):
        rows = np.flatnonzero(~np.isnan(part.y[:, at]))[:MOST_DOTS]
        if not len(rows):
            continue
        points = list(zip(part.y[rows, at].tolist(), part.answer.values[rows, at].tolist(), strict=True))
        ends: list[tuple[float, float]] = []
        if part.answer.lower is not None and part.answer.upper is not None:
            ends = list(zip(part.answer.lower[rows, at].tolist(), part.answer.upper[rows, at].tolist(), strict=True))
        name = f"{target}: predicted against measured"
        yield name, charts.scatter(points, ("measured", "predicted"), name, intervals=ends)
        residuals = (part.answer.values[rows, at] - part.y[rows, at]).tolist()
        name = f"{target}: residuals"
        yield name, charts.histogram(residuals, ("predicted - measured", "rows"), name)


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
        roc[name] = list(zip(wrong.tolist(), right.tolist(), strict=True))
        exact, found, _ = precision_recall_curve(truth, chance)
        precision[name] = list(zip(found[::-1].tolist(), exact[::-1].tolist(), strict=True))
    yield "ROC", charts.lines(roc, ("false positive rate", "true positive rate"), "ROC curve", diagonal=True)
    yield "Precision and recall", charts.lines(precision, ("recall", "precision"), "precision and recall")


def learning_curves(runs: Sequence[Run]) -> Iterator[tuple[str, str]]:
    """Loss and validation metric over the epochs, a line per member."""
    histories = [read_history(run.folder / HISTORY) for run in runs if (run.folder / HISTORY).is_file()]
    metric = NAMES[runs[0].facts.task.metric]
    for name, column in (("training loss", "loss"), (f"validation {metric}", "valid")):
        curves = {
            f"member {number + 1}" if len(histories) > 1 else name: list(enumerate(history[column], start=1))
            for number, history in enumerate(histories)
            if np.isfinite(history[column]).any()  # no metric of a part with one class
        }
        if curves:
            yield name, charts.lines(curves, ("epoch", name), f"{name} over epochs")


def row_errors(task: Task, part: HeldOut) -> tuple[np.ndarray[Any, Any], str]:
    """How wrong each row is, ``(R,)``, NaN without a label, and in which unit."""
    with np.errstate(invalid="ignore"):
        if task.kind == "regression":
            error = np.abs(part.answer.values - part.y)
            if len(task.targets) > 1:
                error = error / np.nanstd(part.y, axis=0).clip(min=1e-12)
            unit = "mean |error|" if len(task.targets) == 1 else "mean |error| in standard deviations"
        elif task.kind == "binary":
            error, unit = np.abs(part.answer.values - part.y), "1 - probability of the truth"
        else:
            rows = np.arange(len(part.y))
            error = 1 - part.answer.values[rows, part.y[:, 0].astype(np.int64)][:, None]
            unit = "1 - probability of the truth"
    known = (~np.isnan(error)).sum(axis=1)
    return np.where(known > 0, np.nansum(error, axis=1) / known.clip(min=1), np.nan), unit


def distance_rows(task: Task, part: HeldOut) -> Iterator[list[str]]:
    """Part, similarities, labels, mean error, and share of the truth that intervals or sets hold."""
    for one in thirds(task, part):
        inside = f"{one.inside.mean():.1%}" if len(one.inside) else "-"
        error = f"{one.errors.mean():.3f}" if len(one.errors) else "-"
        yield [one.name, "{:.2f} to {:.2f}".format(*one.similarity), str(len(one.errors)), error, inside]


def scaffold_rows(part: HeldOut, error: np.ndarray[Any, Any]) -> list[ScaffoldRow]:
    """The most frequent cores with the mean error of their molecules, the worst first."""
    groups: dict[str, list[float]] = {}
    for text, value in zip(part.smiles, error.tolist(), strict=True):
        if value == value:
            groups.setdefault(scaffold(text), []).append(value)
    common = sorted(groups.items(), key=lambda item: -len(item[1]))[:SCAFFOLDS]
    rows = [
        ScaffoldRow(
            core or "no rings", molecule_svg(core, size=(150, 110)) if core else "", len(one), float(np.mean(one))
        )
        for core, one in common
    ]
    return sorted(rows, key=lambda row: -row.error)


def worst_cards(task: Task, part: HeldOut, error: np.ndarray[Any, Any]) -> list[ErrorCard]:
    """The rows with the largest errors."""
    order = [int(row) for row in np.argsort(-np.nan_to_num(error, nan=-1.0)) if error[row] == error[row]][:WORST]
    return [
        ErrorCard(
            part.smiles[row],
            molecule_svg(part.smiles[row]),
            ", ".join(written(task, at, value) or "-" for at, value in enumerate(part.y[row])),
            described(task, part.answer.values[row]),
            float(error[row]),
        )
        for row in order
    ]


def described(task: Task, values: np.ndarray[Any, Any]) -> str:
    """A prediction in words."""
    if task.kind == "regression":
        return ", ".join(f"{value:.4g}" for value in values)
    names = AnswerColumns(task).subjects()
    return ", ".join(f"{name} {value:.1%}" for name, value in zip(names, values, strict=True))


def drawn_picks(predictor: Predictor, part: HeldOut) -> list[Any]:
    """Some molecules with what the policy picks in them; none where it picks nothing in particular."""
    found = picked_molecules(predictor, list(dict.fromkeys(part.smiles))[:DRAWN])
    return [one for one in found if one.steps]
