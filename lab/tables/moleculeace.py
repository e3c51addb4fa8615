"""Fifteen assays of MoleculeACE beside thirty published methods: ``python -m lab.tables.moleculeace run``.

``run`` trains with the defaults on the benchmark's split and keeps a record per assay. ``inner`` decides between
settings without a look at a test row: the training rows are cut again, four fifths to learn from. ``table`` shows both.
The tables are read from ``POLICYLEARN_DATA/tables/moleculeace`` (``pip download MoleculeACE`` has them); they are CC
BY-SA data from ChEMBL and not part of this repository.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from policylearn.data import data_root
from policylearn.settings.provenance import commit, describe_machine

RECORDS = Path("results/moleculeace")
PEERS = ("CheMeleon", "SVM+ECFP", "RF", "Chemprop")
Row = dict[str, str]


def tables() -> dict[str, Path]:
    """The assays by name."""
    folder = data_root() / "tables" / "moleculeace"
    found = {path.stem: path for path in sorted(folder.glob("CHEMBL*.csv"))}
    if not found:
        raise SystemExit(f"{folder}: holds no assays; 'pip download MoleculeACE' has them as CSV files")
    return found


def read(path: Path) -> list[Row]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def write(path: Path, rows: Sequence[Row]) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return path


def inner_rows(rows: Sequence[Row], seed: int) -> list[Row]:
    """The training rows alone, a fifth of them as the test part."""
    train = [row for row in rows if row["split"] == "train"]
    held = set(np.random.default_rng(seed).permutation(len(train))[: len(train) // 5].tolist())
    return [row | {"split": "test" if at in held else "train"} for at, row in enumerate(train)]


def train(rows: Sequence[Row], words: Sequence[str]) -> dict[str, Any]:
    """Train in a process of its own; the figures, with the cliffs' and the processor seconds of all of it."""
    with tempfile.TemporaryDirectory() as name:
        table, run = write(Path(name) / "table.csv", rows), Path(name) / "run"
        command = ["-m", "policylearn", "train", str(table), "--target", "y", "--data.split_column", "split"]
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(
            [sys.executable, *command, "-o", str(run), "--no-baseline", *words],
            check=True,
            env=os.environ | {"XDG_CACHE_HOME": name},  # nothing is ready from an earlier run
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        metrics = json.loads((run / "metrics.json").read_text(encoding="utf-8"))
        answers = [row for row in read(run / "predictions.csv") if row["part"] == "test"]
    cliff = [float(rows[int(row["graph"])]["cliff_mol"]) > 0 for row in answers]
    error = np.array([float(row["predicted_y"]) - float(row["true_y"]) for row in answers])
    inside = np.array([float(row["lower_y"]) <= float(row["true_y"]) <= float(row["upper_y"]) for row in answers])
    spent = (after.ru_utime + after.ru_stime) - (before.ru_utime + before.ru_stime)
    return {
        "rmse": float(np.sqrt((error**2).mean())),
        "cliff_rmse": float(np.sqrt((error[cliff] ** 2).mean())) if any(cliff) else None,
        "coverage": float(inside.mean()),
        "cliff_coverage": float(inside[cliff].mean()) if any(cliff) else None,
        **{name: metrics.get(name) for name in ("network", "kernel", "kernel_share")},
        "rows": len(answers),
        "cpu_seconds": round(spent, 1),
        "command": f"python -m lab.tables.moleculeace run {' '.join(words)}".strip(),
        "commit": commit(),
        "machine": describe_machine(),
    }


def record(folder: Path, name: str, rows: Sequence[Row], words: Sequence[str]) -> None:
    """Train unless that was done before, and keep the record."""
    path = folder / f"{name}.json"
    if path.exists():
        return
    found = train(rows, words)
    folder.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    print(f"{folder.name} {name}: {found['rmse']:.4f}, {found['cpu_seconds']:.0f} s of a core", flush=True)


def load(folder: Path) -> dict[str, dict[str, Any]]:
    """The records of one setting, by assay."""
    return {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.json"))}


def paired(better: Iterable[float], than: Iterable[float]) -> str:
    """How much lower the first errors are, in the mean over assays."""
    gain = np.array(list(than)) - np.array(list(better))
    return f"{gain.mean():+.4f} ± {gain.std(ddof=1) / np.sqrt(len(gain)):.4f}"


def decision_table(folder: Path) -> str:
    """The settings that were compared on inner splits, beside the first."""
    settings = {one.name: load(one) for one in sorted(folder.iterdir())}
    base = "default" if "default" in settings else next(iter(settings))
    lines = ["| setting | assays | RMSE | network alone | kernel alone | better than the default by | core s |"]
    lines.append("|---|---|---|---|---|---|---|")
    for name, found in settings.items():
        both = sorted(set(found) & set(settings[base]))
        alone = [
            np.mean([found[one][which]["test"] for one in both if found[one][which]]) for which in ("network", "kernel")
        ]
        gain = (
            "-"
            if name == base
            else paired((found[one]["rmse"] for one in both), (settings[base][one]["rmse"] for one in both))
        )
        mean, seconds = (np.mean([found[one][key] for one in both]) for key in ("rmse", "cpu_seconds"))
        lines.append(
            f"| {name} | {len(both)} | {mean:.4f} | {alone[0]:.4f} | {alone[1]:.4f} | {gain} | {seconds:.0f} |"
        )
    return "\n".join(lines)


def test_table(folder: Path, published: Sequence[Row]) -> str:
    """Ours beside the published methods, on the test rows."""
    ours = load(folder)
    figures: dict[str, dict[str, dict[str, float]]] = {}
    for row in published:
        if row["assay"] in ours:
            figures.setdefault(row["method"], {})[row["assay"]] = {
                key: float(row[key]) for key in ("rmse", "cliff_rmse") if row[key]
            }
    whole = {method: found for method, found in figures.items() if len(found) == len(ours)}
    mean = {method: np.mean([one["rmse"] for one in found.values()]) for method, found in whole.items()}
    own = {
        key: np.mean([one[key] for one in ours.values()]) for key in ("rmse", "cliff_rmse", "cpu_seconds", "coverage")
    }
    lines = ["| method | mean RMSE | on cliffs | ours is better on |", "|---|---|---|---|"]
    lines.append(
        f"| **policylearn, defaults** ({own['cpu_seconds']:.0f} core s per assay) | **{own['rmse']:.3f}**"
        f" | **{own['cliff_rmse']:.3f}** | |"
    )
    for method in sorted(whole, key=lambda one: mean[one]):
        wins = sum(ours[assay]["rmse"] < one["rmse"] for assay, one in whole[method].items())
        cliffs = [one["cliff_rmse"] for one in whole[method].values() if "cliff_rmse" in one]
        lines.append(f"| {method} | {mean[method]:.3f} | {np.mean(cliffs):.3f} | {wins} of {len(ours)} |")
    lines.append(f"\n90 % intervals held {own['coverage']:.1%} of the test rows.")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("action", choices=("run", "inner", "table"))
    parser.add_argument("--name", default="default", help="of the setting, under which records are kept")
    parser.add_argument("--seed", type=int, default=0, help="of the inner split")
    parser.add_argument("--only", nargs="*", default=None, help="some assays")
    options, words = parser.parse_known_args()
    if options.action == "table":
        print(decision_table(RECORDS / "inner"), "\n")
        print(test_table(RECORDS / "test" / options.name, read(data_root() / "tables/moleculeace/published.csv")))
        return
    for name, path in sorted(tables().items(), key=lambda one: one[1].stat().st_size):
        if options.only and name not in options.only:
            continue
        if options.action == "run":
            record(RECORDS / "test" / options.name, name, read(path), words)
        else:
            record(RECORDS / "inner" / options.name, name, inner_rows(read(path), options.seed), words)


if __name__ == "__main__":
    main()
