"""The model card of a run: what it predicts, from which data, how well, within which limits, and how it was made."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from policylearn.data import Task
from policylearn.data.atomic import write_text
from policylearn.prediction.applicability import Domain
from policylearn.prediction.blend import ALONE, BLEND
from policylearn.prediction.calibration import Calibration
from policylearn.prediction.held_out import PREDICTIONS, HeldOut, read_held_out
from policylearn.prediction.scores import NAMES, headline
from policylearn.prediction.stored_arrays import reading
from policylearn.prediction.templates import render
from policylearn.settings.run_files import read_metrics
from policylearn.training.runs import Run, load_members

CARD = "model_card.md"
NOTES = "notes.json"
RESAMPLES = 100


@dataclass(frozen=True)
class RunNotes:
    """Remarks on a run."""

    command: str = ""  # as it was typed; empty where the run was trained from Python
    warnings: Sequence[str] = ()  # on the data: dropped rows, duplicates, salts, caveats

    def save(self, folder: Path) -> None:
        """Write them into a run folder."""
        write_text(folder / NOTES, json.dumps(asdict(self), indent=2) + "\n")


def read_notes(folder: Path) -> RunNotes:
    """Read them back; empty ones where the folder has none."""
    path = folder / NOTES
    if not path.is_file():
        return RunNotes()
    with reading(path):
        return msgspec.json.decode(path.read_bytes(), type=RunNotes)


def model_card(folder: Path, parts: dict[str, HeldOut] | None = None) -> str:
    """The card of a finished run or ensemble, as Markdown; without ``parts``, those of the folder."""
    runs = load_members(folder)
    task = runs[0].facts.task
    if parts is None:
        parts = read_held_out(folder, task) if (folder / PREDICTIONS).is_file() else {}
    run, notes = runs[0], read_notes(folder)
    data = run.facts.dataset
    return render(
        CARD,
        "prediction",
        run=run,
        facts=run.facts,
        task=task,
        data=data,
        fit=run.config.fit,
        members=len(runs),
        blended=(folder / BLEND).is_file(),
        remarks=[one for one in (data.get("caveat"), *notes.warnings) if one],
        figures=list(figures(folder, runs, parts)),
        domain=Domain.load(folder),
        notes=notes,
    )


def figures(folder: Path, runs: Sequence[Run], parts: Mapping[str, HeldOut]) -> Iterator[tuple[str, str]]:
    """Names and values: the metric, with its interval where there are held-out rows, each model alone, coverage."""
    run, task = runs[0], runs[0].facts.task
    metrics: dict[str, Any] = read_metrics(folder, {"format": run.facts.format}) or run.metrics
    better = "higher" if metrics["higher_is_better"] else "lower"
    for part in ("test", "valid"):
        if metrics.get(part) is None:
            continue
        said = f"{metrics[part]:.4g} ({better} is better)"
        ends = metric_interval(task, parts[part]) if part in parts else None
        if ends is not None:
            said += f"; 90 % interval {ends[0]:.4g} to {ends[1]:.4g} over {len(parts[part]):,} rows, by bootstrap"
        yield f"{part} {NAMES[metrics['metric']]}", said
    for name, found in metrics.get("alone", {}).items():
        if found.get("test") is not None:
            shares = metrics["shares"][name]
            yield f"{ALONE[name]} alone", f"{found['test']:.4g} on test; share {sum(shares) / len(shares):.0%}"
    calibration = Calibration.load(folder)
    if calibration is not None and calibration.coverage is not None:
        things, covered = "intervals" if calibration.kind == "interval" else "sets of labels", calibration.coverage
        held = f"held {covered.share:.1%} of {covered.labels:,} test labels"
        bounded = covered.level in calibration.bounded_levels()
        yield f"{covered.level:.0%} {things}", held if bounded else "none: too few labels in the validation part"


def metric_interval(task: Task, part: HeldOut) -> tuple[float, float] | None:
    """The 5th and 95th percentile of the metric over resampled rows; None where most of these have no metric."""
    draws = np.random.default_rng(0).integers(len(part), size=(RESAMPLES, len(part)))
    values = [headline(task, part.y[rows], part.answer.values[rows]) for rows in draws]
    known = [value for value in values if value is not None]
    if len(known) < RESAMPLES // 2:
        return None
    low, high = np.percentile(known, [5, 95])
    return float(low), float(high)
