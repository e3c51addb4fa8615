"""``policylearn info``: this installation, or one run."""

from __future__ import annotations

import json
from argparse import Namespace
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from policylearn.cli.command import Command, Parser
from policylearn.cli.printing import print_table, warn

if TYPE_CHECKING:
    from rich.table import Table

    from policylearn.settings import NetworkConfig
    from policylearn.settings.run_config import RunConfig
    from policylearn.settings.run_files import RunFiles

HELP = "show this installation, or what a run was trained on and how well"

EXTRAS = {"serve": "fastapi", "tensorboard": "tensorboard", "wandb": "wandb"}
"""What ``pip install policylearn[EXTRA]`` brings."""


def add_options(parser: Parser) -> None:
    """Options of the verb."""
    parser.add_argument(
        "run", type=Path | None, nargs="?", default=None, help="a run folder; none for the installation"
    )
    parser.add_argument("--devices", action="store_true", help="ask torch what it can run on, which takes seconds")


def run(options: Namespace) -> int:
    """Print one table, and a warning where there is one."""
    from rich.console import Console

    console = Console()
    if options.run is None:
        rows = [*installation(), *(devices() if options.devices else ())]
        print_table(two_columns("policylearn", rows))
        return 0
    from policylearn.settings.run_files import batch_warning, read_run_files

    folder, folds = find_folds(options.run)
    found = read_run_files(folder)
    facts = found.facts
    print_table(two_columns(str(options.run), describe(found, folds)))
    if facts["dataset"].get("caveat"):
        warn(f"{facts['dataset']['name']}: {facts['dataset']['caveat']}", console)
    if facts["depends_on_batch"]:
        warn(batch_warning(folder, found.config, facts["evaluation_batch_size"]), console)
    return 0


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


def devices() -> Iterable[tuple[str, str]]:
    """What a model can run on here."""
    import torch

    from policylearn.fast import has_numba, product_source, wanted_kernels

    gpus = [torch.cuda.get_device_name(index) for index in range(torch.cuda.device_count())]
    metal = ["mps"] if torch.backends.mps.is_available() else []
    yield "devices", ", ".join(["cpu", *gpus, *metal])
    yield "torch threads", str(torch.get_num_threads())
    compiled = f"compiled by numba on the CPU, products by {product_source()}" if has_numba() else ""
    kernels = compiled or "plain PyTorch, as numba cannot be imported"
    yield "kernels", f"{kernels} (POLICYLEARN_KERNELS is {wanted_kernels()})"


def find_folds(folder: Path) -> tuple[Path, dict[str, Any] | None]:
    """The folder to read and, where it is one of several folds, the metrics of all of them together."""
    from policylearn.settings.run_files import FACTS, METRICS

    first = folder / "fold-0"
    if (folder / FACTS).exists() or not (folder / METRICS).exists() or not first.is_dir():
        return folder, None
    return first, json.loads((folder / METRICS).read_text(encoding="utf-8"))


def describe(found: RunFiles, folds: dict[str, Any] | None) -> Iterable[tuple[str, str]]:
    """A run in short."""
    config, facts, task = found.config, found.facts, found.facts["task"]
    metrics = found.metrics if folds is None else folds
    data = facts["dataset"]
    fold = "" if facts["fold"] is None or folds else f", fold {facts['fold']}"
    yield "data", f"{data['name']}, {data['graphs']:,} graphs{fold}, fingerprint {data['fingerprint'][:12]}"
    names = f" ({', '.join(task['classes'])})" if task["classes"] else ""
    yield "task", f"{task['kind']} of {', '.join(task['targets'])}{names}, one prediction per {task['level']}"
    yield "input", "SMILES, or graphs with OGB's features" if facts["featuriser"] else "graphs with the same features"
    if facts.get("transforms"):
        yield "transforms", "; ".join(shown_transform(stored) for stored in facts["transforms"])
    yield from (describe_system if config.model != "policy" else describe_policy)(config)
    fit = config.fit
    yield "training", f"{fit.epochs} epochs of batches of {fit.batch_size}, seed {fit.seed}"
    yield from figures(metrics)
    yield "evaluation", f"batches of {facts['evaluation_batch_size']}, {facts['threads']} threads"
    yield "trained with", ", ".join(f"{name} {version}" for name, version in facts["versions"].items())
    yield "trained on", facts["machine"]
    yield "format", str(facts["format"])


def describe_system(config: RunConfig) -> Iterable[tuple[str, str]]:
    """A system and its settings."""
    yield "model", config.model
    yield "settings", ", ".join(f"{key} {value}" for key, value in config.system.items())


def describe_policy(config: RunConfig) -> Iterable[tuple[str, str]]:
    """A policy and its networks."""
    selection = config.selection
    picks = f", {selection.picks} picks" if selection.counts_picks else ""
    learned = f", mode {selection.mode}, estimator {selection.estimator}" if selection.learns else ""
    yield "policy", f"{selection.name}{picks}{learned}"
    yield "prediction network", network(config.prediction)
    if selection.learns:
        norm = "batch norm over the whole bag" if selection.mode == "paper" else f"{selection.norm} norm"
        yield "selection network", f"{network(selection.network or config.prediction, norm)}"
    yield "pooling, readout", f"{config.pooling} over copies, {config.readout} over nodes"


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
    yield f"valid {metrics['metric']}", f"{metrics['valid']:.6g} ({better} is better)"
    yield f"test {metrics['metric']}", f"{metrics['test']:.6g}{deviation}"
    yield "best epoch", f"{metrics['best_epoch'] + 1} of {metrics['epochs']}, {metrics['seconds']:.0f} s in all"
    counts = metrics["parameters"]
    yield "weights", f"{counts['prediction']:,} prediction + {counts['selection']:,} selection"


def network(config: NetworkConfig, norm: str | None = None) -> str:
    """A network in short."""
    residual = ", residual" if config.residual else ""
    dropout = f", dropout {config.dropout:g}" if config.dropout else ""
    frozen = "" if config.track_running_stats or norm else " without running statistics"
    shown = norm or f"{config.norm} norm{frozen}"
    return f"{config.layers} layers of {config.conv}, {config.channels} channels, {shown}{residual}{dropout}"


COMMAND = Command("info", HELP, add_options, run)
