"""k-fold protocols: the metric at the best epoch of the fold-averaged validation curve."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import lightning
import numpy as np

from policylearn.data import Split
from policylearn.data.atomic import write_text
from policylearn.settings.run_config import Keep, RunConfig
from policylearn.settings.run_files import FACTS, HISTORY, METRICS, RunError
from policylearn.training.data_source import Source
from policylearn.training.fitting import Fitted, fit
from policylearn.training.processes import is_first_process
from policylearn.training.run_folder import new_folder

CallbacksOf = Callable[[str], Sequence[lightning.Callback]]
"""The callbacks of one training, given its title."""


@dataclass(frozen=True)
class FittedFolds:
    """A training of one split or of all folds, with the run of each."""

    folder: Path
    metrics: dict[str, Any]
    runs: tuple[Fitted, ...]


@dataclass(frozen=True)
class FoldFigure:
    """What k folds give together.

    Args:
        best_epoch: of the mean validation curve, counted from 1.
        epochs: how many all folds ran.
        valid: the mean validation metric there.
        values: the reported metric there, one per fold.
    """

    best_epoch: int
    epochs: int
    valid: float
    values: tuple[float, ...]


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
    if len(splits) == 1 or config.data.fold is not None:
        fold = config.data.fold or 0
        if not 0 <= fold < len(splits):
            raise ValueError(f"'data.fold' must lie in 0 .. {len(splits) - 1} (got {fold})")
        title = "training" if len(splits) == 1 else f"fold {fold + 1} of {len(splits)}"
        done = fit(config, source, folder, fold=fold, resume=resume, callbacks=callbacks_of(title))
        return FittedFolds(folder, done.metrics, (done,))
    if (folder / FACTS).exists():
        raise RunError(f"{folder}: holds one run and no folds; choose another folder with -o")
    parts = parts_of(splits)
    done_folds: list[Fitted] = []
    with new_folder(folder, resume=resume):
        for fold in range(len(splits)):
            title = f"fold {fold + 1} of {len(splits)}"
            inner = folder / f"fold-{fold}"
            begun = resume and inner.exists()
            done_folds.append(
                fit(config, source, inner, fold=fold, resume=begun, callbacks=callbacks_of(title), every_epoch=parts)
            )
    if not is_first_process():
        return FittedFolds(folder, done_folds[0].metrics, tuple(done_folds))
    metrics = fold_metrics(
        [done.folder for done in done_folds], done_folds[0].metrics, parts[-1], config.fit.keep or "best"
    )
    write_text(folder / METRICS, json.dumps(metrics, indent=2) + "\n")
    return FittedFolds(folder, metrics, tuple(done_folds))


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
    """The protocol's figure: each fold's metric at the best epoch of the mean validation curve, or at the last.

    Args:
        valid: the validation curve of each fold.
        reported: the curve of what is reported, likewise; folds that stopped early shorten all. Where no fold's
            validation part could be scored, the last epoch stands.
        higher_is_better: of the metric.
        keep: which epoch.
    """
    length = min(len(curve) for curve in valid)
    scored = [curve[:length] for curve in valid if not np.isnan(curve).any()]  # a fold of one class has no ROC-AUC
    if not scored:
        return FoldFigure(length, length, math.nan, tuple(float(curve[length - 1]) for curve in reported))
    mean = np.mean(scored, axis=0)
    best = int(mean.argmax() if higher_is_better else mean.argmin())
    chosen = length - 1 if keep == "last" else best
    return FoldFigure(chosen + 1, length, float(mean[chosen]), tuple(float(curve[chosen]) for curve in reported))


def fold_metrics(folders: Sequence[Path], first: dict[str, Any], part: str, keep: Keep) -> dict[str, Any]:
    """The protocol's figure from the folds' histories.

    Args:
        folders: one per fold.
        first: the metrics of one of them, for what all share.
        part: whose metric is reported.
        keep: at which epoch.
    """
    curves = [read_history(folder / HISTORY) for folder in folders]
    figure = combine_folds(
        [curve["valid"] for curve in curves],
        [curve[part] for curve in curves],
        higher_is_better=first["higher_is_better"],
        keep=keep,
    )
    chosen = np.array(figure.values)
    shared = {
        key: first[key]
        for key in ("metric", "higher_is_better", "parameters", "model", "policy", "picks", "mode", "estimator")
        if key in first  # 0.1 knew no other models
    }
    known = chosen[~np.isnan(chosen)]
    return shared | {
        "folds": [None if math.isnan(value) else value for value in chosen.tolist()],
        "best_epoch": figure.best_epoch,
        "epochs": figure.epochs,
        "valid": None if math.isnan(figure.valid) else figure.valid,
        "test": float(known.mean()) if len(known) else None,
        "test_deviation": float(known.std()) if len(known) else 0.0,
        "seconds": float(sum(sum(curve["seconds"]) for curve in curves)),
    }


def read_history(path: str | Path) -> dict[str, list[float]]:
    """The columns of a history.csv, empty cells left out."""
    path = Path(path)
    header, *lines = path.read_text(encoding="utf-8").splitlines()
    names = header.split(",")
    columns = zip(*(line.split(",") for line in lines), strict=True)
    return {name: [float(cell) for cell in cells if cell] for name, cells in zip(names, columns, strict=True)}


def read_curve(path: str | Path) -> dict[str, list[float]]:
    """A history's curves with as few digits as single precision needs; losses, which are only looked at, fewer.

    Records have counted epochs from 0 from the start; histories count from 1, and those of older runs from 0.
    """
    history = read_history(path)
    curve: dict[str, list[float]] = {"epoch": list(range(len(history["epoch"])))}
    curve["loss"] = [float(f"{value:.5g}") for value in history["loss"]]
    for part in ("valid", "test"):
        if history[part]:
            curve[part] = [float(str(np.float32(value))) for value in history[part]]
    return curve
