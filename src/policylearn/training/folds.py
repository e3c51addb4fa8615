"""k-fold protocols: the metric at the best epoch of the fold-averaged validation curve."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import lightning
import numpy as np

from policylearn.data import Split
from policylearn.settings.run_config import Keep, RunConfig
from policylearn.settings.run_files import FACTS, HISTORY, RunError
from policylearn.training.data_source import Source
from policylearn.training.fitting import Fitted, fit
from policylearn.training.processes import is_first_process
from policylearn.training.run_folder import new_folder
from policylearn.training.runs import save_metrics

CallbacksOf = Callable[[str], Sequence[lightning.Callback]]
"""The callbacks of one training, given its title."""
SHARED = ("metric", "higher_is_better", "parameters", "model", "policy", "picks", "mode", "estimator")
"""What the metrics of all folds have in common; 0.1 did not write all of it."""


@dataclass(frozen=True)
class FittedFolds:
    """A training of one split or of all folds, with the run of each."""

    folder: Path
    metrics: dict[str, Any]
    runs: tuple[Fitted, ...]


@dataclass(frozen=True)
class FoldFigure:
    """The result of k folds."""

    best_epoch: int  # of the mean validation curve, counted from 1
    epochs: int  # that every fold has run
    valid: float  # mean validation metric at the best epoch
    values: tuple[float, ...]  # the reported metric at that epoch, one per fold


def train(
    config: RunConfig,
    source: Source,
    folder: str | Path,
    *,
    resume: bool = False,
    callbacks_of: CallbacksOf = lambda _title: (),
) -> FittedFolds:
    """Train as the dataset's protocol says: on its one split, on the fold that was asked for, or on all folds.

    Args:
        config: the run.
        source: its data.
        folder: the run folder; each fold gets a folder in it.
        resume: continue where an earlier training stopped.
        callbacks_of: makes the callbacks of each training.
    """
    folder, splits = Path(folder), source.dataset.splits
    titles = [f"fold {fold + 1} of {len(splits)}" for fold in range(len(splits))]
    if len(splits) == 1 or config.data.fold is not None:
        fold = config.data.fold or 0
        if not 0 <= fold < len(splits):
            raise ValueError(f"'data.fold' must lie in 0 .. {len(splits) - 1} (got {fold})")
        callbacks = callbacks_of("training" if len(splits) == 1 else titles[fold])
        done = fit(config, source, folder, fold=fold, resume=resume, callbacks=callbacks)
        return FittedFolds(folder, done.metrics, (done,))
    if (folder / FACTS).exists():
        raise RunError(f"{folder}: holds one run and no folds; choose another folder with -o")
    parts, runs = parts_of(splits), []
    with new_folder(folder, resume=resume):
        for fold, title in enumerate(titles):
            inner, callbacks = folder / f"fold-{fold}", callbacks_of(title)
            begun = resume and inner.exists()
            runs.append(fit(config, source, inner, fold=fold, resume=begun, callbacks=callbacks, every_epoch=parts))
    metrics = runs[0].metrics
    if is_first_process():
        metrics = fold_metrics([run.folder for run in runs], metrics, parts[-1], config.fit.keep or "best")
        save_metrics(folder, metrics)
    return FittedFolds(folder, metrics, tuple(runs))


def parts_of(splits: Sequence[Split]) -> tuple[str, ...]:
    """What a k-fold protocol must evaluate after each epoch; the last of them is reported."""
    # Where the held-out fold is both, its validation curve is its test curve.
    both = all(np.array_equal(split.valid, split.test) for split in splits)
    return ("valid",) if both else ("valid", "test")


def combine_folds(
    valid: Sequence[Sequence[float]],
    reported: Sequence[Sequence[float]],
    *,
    higher_is_better: bool,
    keep: Keep = "best",
) -> FoldFigure:
    """Each fold's ``reported`` metric at the best epoch of the mean ``valid`` curve, or at the last.

    Folds that stopped early shorten all. Where no fold's validation part could be scored, the last epoch stands.
    """
    length = min(len(curve) for curve in valid)
    scored = [curve[:length] for curve in valid if not np.isnan(curve).any()]  # a fold of one class has no ROC-AUC
    mean = np.mean(scored, axis=0) if scored else np.full(length, np.nan)
    best = int(mean.argmax() if higher_is_better else mean.argmin())
    chosen = length - 1 if keep == "last" or not scored else best
    return FoldFigure(chosen + 1, length, float(mean[chosen]), tuple(float(curve[chosen]) for curve in reported))


def fold_metrics(folders: Sequence[Path], first: dict[str, Any], part: str, keep: Keep) -> dict[str, Any]:
    """The metrics of all folds from their histories; ``first`` are those of one, ``part`` is what is reported."""
    curves = [read_history(folder / HISTORY) for folder in folders]
    valid, reported = ([curve[name] for curve in curves] for name in ("valid", part))
    figure = combine_folds(valid, reported, higher_is_better=first["higher_is_better"], keep=keep)
    known = np.array([value for value in figure.values if not math.isnan(value)])
    return {key: first[key] for key in SHARED if key in first} | {
        "folds": [None if math.isnan(value) else value for value in figure.values],
        "best_epoch": figure.best_epoch,
        "epochs": figure.epochs,
        "valid": None if math.isnan(figure.valid) else figure.valid,
        "test": float(known.mean()) if len(known) else None,
        "test_deviation": float(known.std()) if len(known) else 0.0,
        "seconds": float(sum(sum(curve["seconds"]) for curve in curves)),
    }


def read_history(path: str | Path) -> dict[str, list[float]]:
    """The columns of a history.csv, empty cells left out."""
    header, *lines = Path(path).read_text(encoding="utf-8").splitlines()
    columns = zip(*(line.split(",") for line in lines), strict=True)
    named = zip(header.split(","), columns, strict=True)
    return {name: [float(cell) for cell in cells if cell] for name, cells in named}
