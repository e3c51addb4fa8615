"""``policylearn info``: this installation, or one run."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from policylearn.cli.printing import print_table, warn
from policylearn.cli.registry import verb

if TYPE_CHECKING:
    from policylearn.settings.run_files import RunFiles

EXTRAS = {"serve": "fastapi", "ray": "ray", "tensorboard": "tensorboard", "wandb": "wandb"}
"""What ``pip install policylearn[EXTRA]`` brings."""

OWN_LINES = {"metric", "higher_is_better", "valid", "test", "best_epoch", "epochs", "seconds"} | {
    "model", "policy", "picks", "mode", "estimator",
}  # fmt: skip
"""Metrics that have lines of their own."""


@verb("info")
def info(run: Path | None = None, /) -> None:
    """Show the installed versions, or the data, settings and metrics of a run.

    Args:
        run: a run folder or packed file; none for the installation.
    """
    from rich.console import Console

    from policylearn.settings.run_files import batch_warning, read_run_files
    from policylearn.training.packed_run import run_folder

    if run is None:
        print_rows("policylearn", installation())
        return
    with run_folder(run) as whole:
        folder, parts = find_parts(whole)
        found = read_run_files(folder)
        print_rows(str(run), describe(found, whole, parts))
    facts, console = found.facts, Console(markup=False)
    if facts["dataset"].get("caveat"):
        warn(f"{facts['dataset']['name']}: {facts['dataset']['caveat']}", console)
    if facts["depends_on_batch"]:
        warn(batch_warning(run, found.config, facts["evaluation_batch_size"]), console)


def print_rows(title: str, rows: Iterable[tuple[str, str]]) -> None:
    """Print names and values."""
    from rich.table import Table

    table = Table(title=title, show_header=False, title_justify="left")
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in rows:
        table.add_row(name, value)
    print_table(table)


def installation() -> Iterable[tuple[str, str]]:
    """What is installed and what is there to work with; nothing heavy is imported for it."""
    import os
    from importlib.metadata import version
    from importlib.util import find_spec

    from policylearn.data import CATALOG, data_root
    from policylearn.settings.provenance import system, versions

    yield from versions("numba").items()
    yield "system", f"{system()}, {os.cpu_count()} cores"
    for extra, package in EXTRAS.items():
        installed = find_spec(package) is not None
        yield f"extra '{extra}'", f"{package} {version(package)}" if installed else f"not installed: {package}"
    root = data_root()
    yield "data root", str(root) + ("" if root.is_dir() else " (not there yet)")
    there = [name for name, entry in CATALOG.items() if (root / entry.file).exists()]
    yield "datasets there", ", ".join(there) or "none"
    yield "datasets absent", ", ".join(name for name in CATALOG if name not in there) or "none"


def find_parts(folder: Path) -> tuple[Path, int]:
    """The folder to read, and of how many folds or members it is the first; 0 for a run by itself."""
    from policylearn.settings.run_files import FACTS

    for pattern, first in (("fold-*", "fold-0"), ("member-*", "member-1")):
        if (folder / first / FACTS).exists() and not (folder / FACTS).exists():
            return folder / first, sum((path / FACTS).exists() for path in folder.glob(pattern))
    return folder, 0


def describe(found: RunFiles, folder: Path, parts: int) -> Iterable[tuple[str, str]]:
    """Names and values that summarise a run, or the first of so many folds or members (``parts``) of a folder."""
    from policylearn.settings.run_files import ENSEMBLE, METRICS, read_metrics

    config, facts, task, data = found.config, found.facts, found.facts["task"], found.facts["dataset"]
    if parts:
        kind, whole = ("members", ENSEMBLE) if found.folder.name.startswith("member-") else ("folds", METRICS)
        yield "runs", f"{parts} {kind}{'' if (folder / whole).exists() else ', not all finished'}"
    fold = "" if facts["fold"] is None or parts else f", fold {facts['fold']}"
    yield "data", f"{data['name']}, {data['graphs']:,} graphs{fold}, fingerprint {data['fingerprint'][:12]}"
    names = f" ({', '.join(task['classes'])})" if task["classes"] else ""
    yield "task", f"{task['kind']} of {', '.join(task['targets'])}{names}, one prediction per {task['level']}"
    yield "input", "SMILES, or graphs with OGB's features" if facts["featuriser"] else "graphs with the same features"
    for stored in facts.get("transforms", ()):  # of what one has learned, only how much
        settings = {key: len(value) if isinstance(value, list) else value for key, value in stored.items()}
        yield f"transform {settings.pop('name')}", shown(settings)
    yield "model", config.model
    yield from ((key, shown(value)) for key, value in config.system.items() if isinstance(value, dict) and value)
    yield "settings", shown({key: value for key, value in config.system.items() if not isinstance(value, dict)})
    fit = config.fit
    yield "training", f"{fit.epochs} epochs of batches of {fit.batch_size}, seed {fit.seed}"
    metrics = read_metrics(folder, facts) if parts else found.metrics
    yield from figures(metrics) if metrics else [("metrics", "none: the run has not finished")]
    yield "evaluation", f"batches of {facts['evaluation_batch_size']}, {facts['threads']} threads"
    yield "trained with", shown(facts["versions"])
    yield "trained on", facts["machine"]
    yield "format", str(facts["format"])


def figures(metrics: dict[str, Any]) -> Iterable[tuple[str, str]]:
    """Metrics of a run."""
    better = "higher" if metrics["higher_is_better"] else "lower"
    yield f"valid {metrics['metric']}", f"{shown(metrics['valid'])} ({better} is better)"
    yield f"test {metrics['metric']}", shown(metrics["test"])
    yield "epoch kept", f"{metrics['best_epoch']} of {metrics['epochs']}, {metrics['seconds']:.0f} s in all"
    yield from ((key.replace("_", " "), shown(value)) for key, value in metrics.items() if key not in OWN_LINES)


def shown(value: Any) -> str:
    """A value as text, numbers with six digits."""
    if isinstance(value, dict):
        inner = ((name, shown(one)) for name, one in value.items())
        return ", ".join(f"{name} ({text})" if ", " in text else f"{name} {text}" for name, text in inner)
    if isinstance(value, list):
        return ", ".join(map(shown, value))
    if isinstance(value, bool) or not isinstance(value, int | float):
        return "none" if value is None else str(value)
    return f"{value:,}" if isinstance(value, int) else f"{value:.6g}"
