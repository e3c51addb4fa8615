"""``policylearn info``: this installation, or one run."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from policylearn.cli.options import Flag
from policylearn.cli.printing import print_table, warn
from policylearn.cli.registry import verb

if TYPE_CHECKING:
    from rich.table import Table

    from policylearn.settings.run_config import RunConfig
    from policylearn.settings.run_files import RunFiles

EXTRAS = {"serve": "fastapi", "tensorboard": "tensorboard", "wandb": "wandb"}
"""What ``pip install policylearn[EXTRA]`` brings."""


@verb("info")
def info(run: Path | None = None, /, *, devices: Flag = False) -> None:
    """Say what is installed, or what a run was trained on and how well.

    Args:
        run: a run folder or packed file; none for the installation.
        devices: ask torch what it can run on, which takes seconds.
    """
    from rich.console import Console

    from policylearn.settings.run_files import batch_warning, read_run_files
    from policylearn.training.packed_run import run_folder

    if run is None:
        print_table(two_columns("policylearn", [*installation(), *(list_devices() if devices else ())]))
        return
    with run_folder(run) as whole:
        folder, parts = find_parts(whole)
        found = read_run_files(folder)
        print_table(two_columns(str(run), describe(found, whole, parts)))
    facts, console = found.facts, Console(markup=False)
    if facts["dataset"].get("caveat"):
        warn(f"{facts['dataset']['name']}: {facts['dataset']['caveat']}", console)
    if facts["depends_on_batch"]:
        warn(batch_warning(run, found.config, facts["evaluation_batch_size"]), console)


def two_columns(title: str, rows: Iterable[tuple[str, str]]) -> Table:
    """Names and values."""
    from rich.markup import escape
    from rich.table import Table

    table = Table(title=escape(title), show_header=False, title_justify="left")
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in rows:
        table.add_row(name, escape(value))
    return table


def installation() -> Iterable[tuple[str, str]]:
    """What is installed and what is there to work with; nothing heavy is imported for it."""
    import os
    import platform
    from importlib.metadata import version
    from importlib.util import find_spec

    from policylearn.data import CATALOG, data_root
    from policylearn.settings.provenance import versions

    yield from versions("numba").items()
    yield "Python", f"{platform.python_version()} on {platform.system()} {platform.machine()}"
    yield "cores", str(os.cpu_count())
    for extra, package in EXTRAS.items():
        there = find_spec(package) is not None
        yield f"extra '{extra}'", f"{package} {version(package)}" if there else f"not installed: {package}"
    root = data_root()
    yield "data root", str(root) + ("" if root.is_dir() else " (not there yet)")
    present = {name: (root / entry.file).exists() for name, entry in CATALOG.items()}
    yield "datasets there", ", ".join(name for name, there in present.items() if there) or "none"
    yield "datasets absent", ", ".join(name for name, there in present.items() if not there) or "none"


def list_devices() -> Iterable[tuple[str, str]]:
    """What a model can run on here."""
    import torch

    from policylearn.fast import has_numba, wanted_kernels

    gpus = [torch.cuda.get_device_name(index) for index in range(torch.cuda.device_count())]
    metal = ["mps"] if torch.backends.mps.is_available() else []
    yield "devices", ", ".join(["cpu", *gpus, *metal])
    yield "torch threads", str(torch.get_num_threads())
    compiled = "compiled by numba on the CPU" if has_numba() else ""
    kernels = compiled or "plain PyTorch, as numba cannot be imported"
    yield "kernels", f"{kernels} (POLICYLEARN_KERNELS is {wanted_kernels()})"


def find_parts(folder: Path) -> tuple[Path, int]:
    """The folder to read, and of how many folds or members it is the first; 0 for a run by itself."""
    from policylearn.settings.run_files import FACTS

    for pattern, first in (("fold-*", "fold-0"), ("member-*", "member-1")):
        if (folder / first / FACTS).exists() and not (folder / FACTS).exists():
            return folder / first, sum((path / FACTS).exists() for path in folder.glob(pattern))
    return folder, 0


def describe(found: RunFiles, folder: Path, parts: int) -> Iterable[tuple[str, str]]:
    """A run in short.

    Args:
        found: the run, or the first of its folds or members.
        folder: of all of them together.
        parts: how many folds or members there are.
    """
    from policylearn.settings.run_files import ENSEMBLE, read_metrics

    config, facts, task = found.config, found.facts, found.facts["task"]
    metrics = read_metrics(folder, facts) if parts else found.metrics
    data = facts["dataset"]
    fold = "" if facts["fold"] is None or found.folder.name == "fold-0" else f", fold {facts['fold']}"
    if parts and found.folder.name.startswith("member-"):
        whole = "" if (folder / ENSEMBLE).exists() else ", not all finished"
        yield "ensemble", f"{parts} members that differ by their seed{whole}"
    elif parts:
        yield "folds", f"{parts}{'' if metrics else ', not all finished'}"
    yield "data", f"{data['name']}, {data['graphs']:,} graphs{fold}, fingerprint {data['fingerprint'][:12]}"
    names = f" ({', '.join(task['classes'])})" if task["classes"] else ""
    yield "task", f"{task['kind']} of {', '.join(task['targets'])}{names}, one prediction per {task['level']}"
    yield "input", "SMILES, or graphs with OGB's features" if facts["featuriser"] else "graphs with the same features"
    if facts.get("transforms"):
        yield "transforms", "; ".join(shown_transform(stored) for stored in facts["transforms"])
    yield from describe_model(config)
    fit = config.fit
    yield "training", f"{fit.epochs} epochs of batches of {fit.batch_size}, seed {fit.seed}"
    yield from figures(metrics)
    yield "evaluation", f"batches of {facts['evaluation_batch_size']}, {facts['threads']} threads"
    yield "trained with", ", ".join(f"{name} {version}" for name, version in facts["versions"].items())
    yield "trained on", facts["machine"]
    yield "format", str(facts["format"])


def describe_model(config: RunConfig) -> Iterable[tuple[str, str]]:
    """The model and its settings, those of a group on a line of their own."""
    yield "model", config.model
    for key, value in config.system.items():
        if isinstance(value, dict) and value:
            yield key, ", ".join(f"{name} {shown}" for name, shown in value.items())
    plain = {key: value for key, value in config.system.items() if not isinstance(value, dict)}
    if plain:
        yield "settings", ", ".join(f"{name} {shown}" for name, shown in plain.items())


def shown_transform(stored: dict[str, Any]) -> str:
    """A transform in short; of lists, such as what it learned, only their length."""
    parts = [
        f"{len(value)} {key}" if isinstance(value, list) else f"{key} {value}"
        for key, value in stored.items()
        if key != "name"
    ]
    return f"{stored['name']} ({', '.join(parts)})" if parts else str(stored["name"])


def figures(metrics: dict[str, Any]) -> Iterable[tuple[str, str]]:
    """What came out."""
    if not metrics:
        yield "metrics", "none: the run has not finished"
        return
    better = "higher" if metrics["higher_is_better"] else "lower"
    deviation = f" ± {metrics['test_deviation']:.4g} over {len(metrics['folds'])} folds" if "folds" in metrics else ""
    unscored = metrics.get("unscored", {})
    for part, more in (("valid", f" ({better} is better)"), ("test", deviation)):
        value = metrics[part]
        told = f"{value:.6g}{more}" if value is not None else f"none: {unscored.get(part, 'no part could be scored')}"
        yield f"{part} {metrics['metric']}", told
    if "members" in metrics:
        each = ", ".join("-" if one is None else f"{one:.4g}" for one in metrics["members"])
        yield f"test {metrics['metric']} of each", each
    if "diverged" in metrics:
        yield "ended early", f"the loss became NaN in epoch {metrics['diverged']}"
    yield "epoch kept", f"{metrics['best_epoch']} of {metrics['epochs']}, {metrics['seconds']:.0f} s in all"
    counts = metrics["parameters"]
    yield "weights", f"{counts['prediction']:,} prediction + {counts['selection']:,} selection"
