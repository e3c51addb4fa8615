"""The plain files of a run folder: configuration, facts and metrics, read without building anything."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from policylearn.settings.parsing import read_config
from policylearn.settings.run_config import POLICY, RunConfig

FORMAT = 3
FROM_ONE = 3
"""The format from which on epochs are counted from 1."""
WEIGHTS, CONFIG, METRICS, HISTORY, FACTS, CURVES = (
    "model.safetensors",
    "config.yaml",
    "metrics.json",
    "history.csv",
    "run.json",
    "curves.png",
)


ENSEMBLE = "ensemble.json"
"""Names the members of a finished ensemble; a folder without it holds one run, folds, or nothing that has finished."""


class RunError(ValueError):
    """A run folder that cannot be used; the message says why and what to do."""


@dataclass(frozen=True)
class RunFiles:
    """What a run folder says.

    Args:
        folder: where it is.
        config: the run.
        facts: what else it remembers, as written.
        metrics: what came out; empty where it has not finished.
    """

    folder: Path
    config: RunConfig
    facts: dict[str, Any]
    metrics: dict[str, Any]


def read_run_files(folder: str | Path) -> RunFiles:
    """Read a run folder, all but its weights."""
    folder = Path(folder)
    if not folder.is_dir():
        raise RunError(f"{folder}: no such run folder; give the folder that 'policylearn train' printed")
    if not (folder / FACTS).exists():
        folds = sorted(path.name for path in folder.glob("fold-*"))
        hint = (
            f"give one of its folds, such as {folder / folds[0]}" if folds else "it may not have finished: use --resume"
        )
        raise RunError(f"{folder}: holds no {FACTS}; {hint}")
    facts = _read_json(folder / FACTS)
    if facts.get("format", 0) > FORMAT:
        raise RunError(
            f"{folder}: was written in format {facts['format']} by policylearn"
            f" {facts.get('versions', {}).get('policylearn', '?')}, and this version reads up to {FORMAT};"
            " install a newer policylearn"
        )
    config = read_config(folder / CONFIG)
    facts.setdefault("depends_on_batch", _depended_on_batch(config))
    return RunFiles(folder, config, facts, read_metrics(folder, facts))


def read_metrics(folder: Path, facts: dict[str, Any]) -> dict[str, Any]:
    """What came out, epochs counted from 1; empty where the run has not finished.

    Args:
        folder: of the run, or of its folds.
        facts: of the run, or of one of its folds.
    """
    if not (folder / METRICS).exists():
        return {}
    metrics = _read_json(folder / METRICS)
    if facts.get("format", 0) < FROM_ONE and "best_epoch" in metrics:
        metrics["best_epoch"] += 1
    return metrics


def batch_warning(folder: Path, config: RunConfig, batch_size: int) -> str:
    """What to say of a model whose outputs depend on the batch.

    Args:
        folder: of the run.
        config: the run.
        batch_size: of its evaluation.
    """
    if config.model != POLICY:
        reason = f"is '{config.model}', whose norms or draws look at the whole batch"
    else:
        reason = _batch_reason(config)
    return (
        f"{folder}: the model {reason}, so each prediction depends on the other graphs of its batch;"
        f" batches are cut in the order of the input, {batch_size} graphs each as in the run's evaluation, whatever"
        " batch size is asked for"
    )


def _batch_reason(config: RunConfig) -> str:
    paper = config.selection.learns and config.selection.mode == "paper"
    return "was trained in 'paper' mode" if paper else "has batch norms without running statistics"


def _depended_on_batch(config: RunConfig) -> bool:
    """What version 0.1 did not write down: whether norms took their statistics from the batch in evaluation."""
    selection, prediction = config.selection, config.prediction
    in_policy = selection.learns and selection.mode == "paper" and selection.picks > 0
    return in_policy or (prediction.norm == "batch" and not prediction.track_running_stats)


def _read_json(path: Path) -> dict[str, Any]:
    try:
        content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise RunError(f"{path}: is no valid JSON ({error}); restore the file or train again") from error
    return content
