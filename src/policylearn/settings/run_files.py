"""The plain files of a run folder: configuration, facts and metrics, read without building anything."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from policylearn.settings.old_versions import upgraded
from policylearn.settings.run_config import RunConfig, changed, read_yaml
from policylearn.settings.schema import ConfigError

FORMAT = 4
"""Of the files of a run folder: 3 counts epochs from 1, 4 keeps the settings of the model under 'system'."""
FROM_ONE = 3
WEIGHTS, CONFIG, METRICS, HISTORY = "model.safetensors", "config.yaml", "metrics.json", "history.csv"
FACTS = "run.json"
ENSEMBLE = "ensemble.json"
"""Names the members of a finished ensemble; a folder without it holds one run, folds, or nothing that has finished."""


class RunError(ValueError):
    """A run folder that cannot be used; the message says why and what to do."""


@dataclass(frozen=True)
class RunFiles:
    """What a run folder says; ``metrics`` are empty where the run has not finished."""

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
    content = read_yaml(folder / CONFIG)
    if "depends_on_batch" not in facts:
        facts["depends_on_batch"] = _depended_on_batch(content)
    try:
        content = upgraded(content, estimator=True)
    except ConfigError as error:
        raise RunError(f"{folder}: {error}") from None
    config = changed(RunConfig(), content, str(folder / CONFIG))
    return RunFiles(folder, config, facts, read_metrics(folder, facts))


def read_metrics(folder: Path, facts: dict[str, Any]) -> dict[str, Any]:
    """What came out, epochs counted from 1; empty where the run has not finished. ``facts`` may be those of a fold."""
    if not (folder / METRICS).exists():
        return {}
    metrics = _read_json(folder / METRICS)
    if facts.get("format", 0) < FROM_ONE and "best_epoch" in metrics:
        metrics["best_epoch"] += 1
    return metrics


def batch_warning(folder: Path, config: RunConfig, batch_size: int) -> str:
    """What to say of a model whose outputs depend on the batch."""
    return (
        f"{folder}: norms or draws of the model '{config.model}' look at the whole batch, so each prediction depends on"
        f" the other graphs of its batch; batches are cut in the order of the input, {batch_size} graphs each as in the"
        " run's evaluation, whatever batch size is asked for"
    )


def _depended_on_batch(content: dict[str, Any]) -> bool:
    """What older versions did not write down: whether norms took their statistics from the batch in evaluation."""
    selection, prediction = content.get("selection", {}), content.get("prediction", {})
    learned = selection.get("name", "learned") == "learned"
    in_policy = learned and selection.get("mode") == "paper" and selection.get("picks", 2) > 0
    return in_policy or (prediction.get("norm", "batch") == "batch" and not prediction.get("track_running_stats", True))


def _read_json(path: Path) -> dict[str, Any]:
    try:
        content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise RunError(f"{path}: is no valid JSON ({error}); restore the file or train again") from error
    return content
