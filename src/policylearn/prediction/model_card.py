"""The model card of a run: what it predicts, from which data, how well, within which limits, and how it was made."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from policylearn.data import Task
from policylearn.prediction.applicability import Domain
from policylearn.prediction.blend import ALONE, BLEND
from policylearn.prediction.calibration import Calibration
from policylearn.prediction.held_out import PREDICTIONS, HeldOut, read_held_out
from policylearn.prediction.run_notes import read_notes
from policylearn.prediction.scores import NAMES, headline
from policylearn.settings.run_files import read_metrics
from policylearn.training.members import load_members
from policylearn.training.runs import Run

CARD = "model_card.md"
RESAMPLES = 100


def model_card(folder: Path, parts: dict[str, HeldOut] | None = None) -> str:
    """The card of a finished run or ensemble, as Markdown.

    Args:
        folder: of the run.
        parts: its held-out rows, where they are in memory; None reads them from the folder, if they are there.
    """
    runs = load_members(folder)
    task = runs[0].facts.task
    if parts is None:
        parts = read_held_out(folder, task) if (folder / PREDICTIONS).is_file() else {}
    sections = {
        "What it predicts": predicts(folder, runs),
        "Data": data(folder, runs[0]),
        "How good it is": figures(folder, runs, parts),
        "Limits": limits(folder, runs[0]),
        "How it was made": made(folder, runs[0]),
    }
    body = "\n\n".join(
        f"## {title}\n\n" + "\n".join(f"- {line}" for line in lines) for title, lines in sections.items()
    )
    return f"# {runs[0].facts.dataset['name']}: {', '.join(task.targets)}\n\n{body}\n"


def predicts(folder: Path, runs: Sequence[Run]) -> Iterator[str]:
    """Task and model."""
    run, task = runs[0], runs[0].facts.task
    names = f" ({', '.join(task.classes)})" if task.classes else ""
    yield f"{task.kind} of {', '.join(task.targets)}{names}, one prediction per {task.level}"
    yield "from SMILES" if run.facts.featuriser else "from graphs with the features of the training data"
    members = f", ensemble of {len(runs)}" if len(runs) > 1 else ""
    beside = ", with a kernel model and boosted trees beside it" if (folder / BLEND).is_file() else ""
    yield f"model {run.config.model}, {run.label}{members}{beside}"


def data(folder: Path, run: Run) -> Iterator[str]:
    """Name, size, fingerprint and remarks."""
    known = run.facts.dataset
    yield f"{known['name']}, {known['graphs']:,} graphs"
    yield f"fingerprint `{known['fingerprint']}` (graphs, targets and split)"
    if known.get("caveat"):
        yield str(known["caveat"])
    for warning in read_notes(folder).warnings:
        yield " ".join(warning.split())


def figures(folder: Path, runs: Sequence[Run], parts: dict[str, HeldOut]) -> Iterator[str]:
    """The metric with its interval, the baseline, and the coverage of intervals."""
    run, task = runs[0], runs[0].facts.task
    metrics: dict[str, Any] = read_metrics(folder, {"format": run.facts.format}) or run.metrics
    better = "higher" if metrics["higher_is_better"] else "lower"
    for part in ("test", "valid"):
        if metrics.get(part) is None:
            continue
        said = f"{part} {NAMES[metrics['metric']]} {metrics[part]:.4g} ({better} is better"
        ends = metric_interval(task, parts[part]) if part in parts else None
        rows = (
            f"; 90 % interval {ends[0]:.4g} to {ends[1]:.4g} over {len(parts[part]):,} rows, by bootstrap"
            if ends
            else ""
        )
        yield f"{said}{rows})"
    alone = {ALONE[name]: own["test"] for name, own in metrics.get("alone", {}).items() if own.get("test") is not None}
    if alone:
        yield "alone on the same test part: " + ", ".join(f"{name} {value:.4g}" for name, value in alone.items())
    found = Calibration.load(folder)
    if found is not None and found.coverage is not None:
        things, covered = "intervals" if found.kind == "interval" else "sets of labels", found.coverage
        yield f"{covered.level:.0%} {things} held {covered.share:.1%} of {covered.labels:,} test labels"


def metric_interval(task: Task, part: HeldOut) -> tuple[float, float] | None:
    """The 5th and 95th percentile of the metric over resampled rows; None where most of these have no metric."""
    draw = np.random.default_rng(0)
    values = []
    for _ in range(RESAMPLES):
        rows = draw.integers(len(part), size=len(part))
        value = headline(task, part.y[rows], part.answer.values[rows])
        values += [] if value is None else [value]
    if len(values) < RESAMPLES // 2:
        return None
    low, high = np.percentile(values, [5, 95])
    return float(low), float(high)


def limits(folder: Path, run: Run) -> Iterator[str]:
    """Where predictions should not be relied on."""
    domain = Domain.load(folder)
    if domain is not None and domain.has_similarity:
        yield (
            "a molecule whose largest Tanimoto similarity to a training molecule (Morgan counts) is at most"
            f" {domain.least_similarity:.2f} is far outside: it gets a warning, and its prediction is a guess"
        )
    elif domain is None:
        yield "distances to the training data are not known, so nothing warns of unfamiliar inputs"
    if run.facts.parents:
        yield "salts and charged molecules are read as their parent"
    if run.facts.depends_on_batch:
        yield "a prediction depends on the other graphs of its batch"
    yield "intervals hold the stated share for inputs drawn like the validation rows, and not for other chemistry"
    yield "figures are of one split of one dataset; measure on data of your own before you rely on them"


def made(folder: Path, run: Run) -> Iterator[str]:
    """Command, training and versions."""
    notes, fit = read_notes(folder), run.config.fit
    if notes.command:
        yield f"`{notes.command}`"
    if fit.start is not None:
        yield f"started from the weights of {fit.start}{', which were frozen' if fit.freeze else ''}"
    yield f"{fit.epochs} epochs of batches of {fit.batch_size}, seed {fit.seed}, on {run.facts.machine}"
    yield ", ".join(f"{name} {version}" for name, version in run.facts.versions.items())
