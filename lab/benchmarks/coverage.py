"""How often intervals and label sets hold the truth: random splits of tables of molecules, several seeds each.

Run with ``python -m lab.benchmarks.coverage``; nothing but ``policylearn train`` is used, with its defaults for a table
unless ``--settings`` says otherwise.
The seed is that of the split and of the weights. A training that is there already is not run again, so a stopped study
goes on; ``results/bench/coverage.json`` holds what was found.
"""

from __future__ import annotations

import argparse
import csv
import json
import statistics
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from lab.benchmarks.machine import PROJECT, keep
from policylearn.cli import main as policylearn
from policylearn.data import load_dataset
from policylearn.prediction.calibration import CALIBRATION

SETS = ("ogbg-molesol", "ogbg-molbace")
SEEDS = range(5)
OUTPUT = PROJECT / "results" / "bench" / "coverage.json"


def write_table(name: str, folder: Path) -> tuple[Path, list[str]]:
    """A dataset as a user would have it: a CSV of SMILES and targets; with the names of the targets."""
    path = folder / f"{name}.csv"
    dataset = load_dataset(name)
    graphs, targets = dataset.graphs, list(dataset.task.targets)
    assert graphs.smiles is not None
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["smiles", *targets])
        for smiles, values in zip(graphs.smiles, graphs.y.reshape(len(graphs), -1), strict=True):
            writer.writerow([smiles, *("" if np.isnan(value) else value for value in values)])
    return path, targets


def measure(
    table: Path, targets: list[str], seed: int, members: int, folder: Path, settings: list[str]
) -> dict[str, Any]:
    """Train where that is not done yet, and read what the run says of its coverage."""
    run = folder / "-".join([table.stem, str(members), *(word.strip("-") for word in settings), f"seed{seed}"])
    if not (run / CALIBRATION).exists():
        words = ["train", str(table), "--target", *targets, "--data.split", "random", "--data.split_seed", str(seed)]
        words += ["--seed", str(seed), "--no-baseline", "--fit.threads", "1", "-o", str(run)]
        words += ["--ensemble", str(members), *settings]
        if policylearn([*words, *["--resume"] * run.exists()]):
            raise SystemExit(f"{run}: the training failed")
    calibration = json.loads((run / CALIBRATION).read_text())
    metrics = json.loads((run / "metrics.json").read_text())
    return {
        "dataset": table.stem,
        "members": members,
        "settings": settings,
        "seed": seed,
        "kind": calibration["kind"],
        "calibrated_on": calibration["labels"],
        **calibration["coverage"],
        "metric": metrics["metric"],
        "test": metrics["test"],
    }


def show(rows: list[dict[str, Any]]) -> Table:
    """Mean coverage of each dataset and kind of model."""
    table = Table(title="what 90 % intervals and sets held on test parts")
    for column in ("dataset", "members", "settings", "seeds", "coverage", "mean", "size", "test metric"):
        table.add_column(column, justify="left" if column == "dataset" else "right")
    studies = {(row["dataset"], row["members"], tuple(row["settings"])) for row in rows}
    for dataset, members, settings in sorted(studies):
        study = (dataset, members, list(settings))
        mine = [row for row in rows if (row["dataset"], row["members"], row["settings"]) == study]
        table.add_row(
            dataset,
            str(members),
            " ".join(settings),
            str(len(mine)),
            " ".join(f"{row['share']:.3f}" for row in mine),
            f"{statistics.mean(row['share'] for row in mine):.3f}",
            f"{statistics.mean(row['size'] for row in mine):.2f}",
            f"{mine[0]['metric']} {statistics.mean(row['test'] for row in mine):.3f}",
        )
    return table


def main() -> None:
    """Train, measure and write down."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--datasets", nargs="+", default=list(SETS))
    parser.add_argument("--ensemble", type=int, default=1, help="members of each model")
    parser.add_argument("--runs", type=Path, default=PROJECT / "runs" / "coverage", help="where trainings are kept")
    parser.add_argument("--settings", nargs=argparse.REMAINDER, default=[], help="further words of the training, last")
    options = parser.parse_args()
    options.runs.mkdir(parents=True, exist_ok=True)
    known = json.loads(OUTPUT.read_text())["rows"] if OUTPUT.exists() else []
    for name in options.datasets:
        table, targets = write_table(name, options.runs)
        for seed in SEEDS:
            row = measure(table, targets, seed, options.ensemble, options.runs, options.settings)
            key = ("dataset", "members", "settings", "seed")
            known = [old for old in known if any(old[part] != row[part] for part in key)] + [row]
            keep(OUTPUT.stem, {"rows": known})
    Console(width=120).print(show(known))


if __name__ == "__main__":
    main()
