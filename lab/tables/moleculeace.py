"""Fifteen assays of MoleculeACE beside thirty published methods: ``python -m lab.tables.moleculeace run``.

``run`` trains with the defaults on the benchmark's split and keeps a record per assay; ``table`` writes the page.
Settings are decided by `lab.tables.decide`, on training rows alone.
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
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from policylearn.data import data_root, read_table
from policylearn.data.transforms.descriptors import Descriptors
from policylearn.data.transforms.fingerprint import Fingerprint
from policylearn.prediction.kernel_model import fit_kernel_model
from policylearn.settings.provenance import commit, describe_machine

RECORDS = Path("results/moleculeace")
PEERS = {"CheMeleon": "CheMeleon (foundation model)", "SVM+ECFP": "SVM on ECFP"}
"""Methods that the picture shows, with what they are called there."""
KINDS = (
    ("morgan",),
    ("morgan", "atom_pair"),
    ("morgan", "atom_pair", "torsion"),
    ("morgan", "feature", "atom_pair", "torsion", "path"),
)
"""Fingerprints that were compared for the kernel model."""
PAGE, PICTURE = Path("docs/assays.md"), Path("docs/pictures/assays.png")
Row = dict[str, str]
Figures = dict[str, Any]


@dataclass(frozen=True)
class Trained:
    """What a training wrote: metrics.json, the predicted test rows, and its processor seconds."""

    metrics: Figures
    answers: list[Row]
    cpu_seconds: float


def tables() -> dict[str, Path]:
    """The assays by name, the smallest first."""
    folder = data_root() / "tables" / "moleculeace"
    paths = sorted(folder.glob("CHEMBL*.csv"), key=lambda path: path.stat().st_size)
    found = {path.stem: path for path in paths}
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


def train(rows: Sequence[Row], targets: Sequence[str], words: Sequence[str], cache: Path | None = None) -> Trained:
    """Train by the command, in a process of its own.

    Args:
        rows: of the table, with their part in the column ``split``.
        targets: columns to predict.
        words: further options of ``policylearn train``.
        cache: folder in which descriptors are kept from run to run; a new one each time by default.
    """
    with tempfile.TemporaryDirectory() as name:
        table, run = write(Path(name) / "table.csv", rows), Path(name) / "run"
        command = ["-m", "policylearn", "train", str(table), "--target", *targets, "--data.split_column", "split"]
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(
            [sys.executable, *command, "-o", str(run), *words],
            check=True,
            env=os.environ | {"XDG_CACHE_HOME": str(cache or name)},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        metrics = json.loads((run / "metrics.json").read_text(encoding="utf-8"))
        answers = [row for row in read(run / "predictions.csv") if row["part"] == "test"]
    spent = (after.ru_utime + after.ru_stime) - (before.ru_utime + before.ru_stime)
    return Trained(metrics, answers, round(spent, 1))


def figures_of(rows: Sequence[Row], trained: Trained) -> Figures:
    """Errors and coverage of all test rows and of the activity cliffs."""
    answers = trained.answers
    cliff = [float(rows[int(row["graph"])]["cliff_mol"]) > 0 for row in answers]
    error = np.array([float(row["predicted_y"]) - float(row["true_y"]) for row in answers])
    inside = np.array([float(row["lower_y"]) <= float(row["true_y"]) <= float(row["upper_y"]) for row in answers])
    return {
        "rmse": float(np.sqrt((error**2).mean())),
        "cliff_rmse": float(np.sqrt((error[cliff] ** 2).mean())) if any(cliff) else None,
        "coverage": float(inside.mean()),
        "cliff_coverage": float(inside[cliff].mean()) if any(cliff) else None,
        "rows": len(answers),
    }


def keep(path: Path, figures: Figures, trained: Trained, command: str) -> None:
    """Write the record of a run."""
    parts = {name: trained.metrics.get(name) for name in ("alone", "shares")}
    source = {"command": command, "commit": commit(), "machine": describe_machine()}
    found = {**figures, **parts, "cpu_seconds": trained.cpu_seconds, **source}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    print(f"{path.parent.name} {path.stem}: {figures}, {trained.cpu_seconds:.0f} s of a core", flush=True)


def load(folder: Path) -> dict[str, dict[str, Any]]:
    """The records of one setting, by assay."""
    return {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.json"))}


def paired(better: Iterable[float], than: Iterable[float]) -> str:
    """How much lower the first errors are, in the mean over assays."""
    gain = np.array(list(than)) - np.array(list(better))
    return f"{gain.mean():+.4f} ± {gain.std(ddof=1) / np.sqrt(len(gain)):.4f}"


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


def compare_kinds(assays: dict[str, Path]) -> None:
    """Print the kernel model's exact leave-one-out error on training rows, by the kinds of fingerprints."""
    errors: dict[tuple[str, ...], list[float]] = {kinds: [] for kinds in KINDS}
    for path in assays.values():
        with tempfile.TemporaryDirectory() as name:
            rows = [row for row in read(path) if row["split"] == "train"]
            table = read_table(write(Path(name) / "train.csv", rows), targets="y")
        graphs = Descriptors().fit(table.graphs)(table.graphs)
        for kinds, found in errors.items():
            _, left_out = fit_kernel_model(table.task, Fingerprint(kinds=kinds)(graphs), np.arange(len(graphs)))
            found.append(float(np.sqrt(((left_out - graphs.y) ** 2).mean())))
    for kinds, found in errors.items():
        print(
            f"{', '.join(kinds)}: {np.mean(found):.4f}, better than {KINDS[0][0]} by {paired(found, errors[KINDS[0]])}"
        )


def draw(folder: Path, published: Sequence[Row]) -> None:
    """One dot per assay: ours against two published methods; below the line ours is better."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    ours = {name: one["rmse"] for name, one in load(folder).items()}
    figure, axes = pyplot.subplots(figsize=(4.6, 4.4))
    for method, title in PEERS.items():
        found = {row["assay"]: float(row["rmse"]) for row in published if row["method"] == method}
        both = [name for name in ours if name in found]
        wins = sum(ours[name] < found[name] for name in both)
        axes.scatter(
            [found[n] for n in both], [ours[n] for n in both], label=f"{title}: better on {wins} of {len(both)}"
        )
    ends = (0.35, 0.95)
    axes.plot(ends, ends, color="grey", linewidth=1)
    axes.set(xlabel="published method, test RMSE", ylabel="policylearn, test RMSE", xlim=ends, ylim=ends)
    axes.legend(loc="upper left", frameon=False, fontsize=8)
    figure.tight_layout()
    figure.savefig(PICTURE, dpi=150)
    pyplot.close(figure)


def fill(name: str, table: str) -> None:
    """Write a table into the page, between its markers."""
    text = PAGE.read_text(encoding="utf-8")
    before, rest = text.split(f"<!-- {name} -->", 1)
    text = f"{before}<!-- {name} -->\n{table}\n<!-- /{name} -->{rest.split(f'<!-- /{name} -->', 1)[1]}"
    PAGE.write_text(text, encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("action", choices=("run", "kinds", "table"))
    parser.add_argument("--name", default="default", help="of the setting, under which records are kept")
    parser.add_argument("--only", nargs="*", default=None, help="some assays")
    options, words = parser.parse_known_args()
    folder = RECORDS / "test" / options.name
    if options.action == "table":
        published = read(data_root() / "tables" / "moleculeace" / "published.csv")
        fill("test", test_table(folder, published))
        draw(folder, published)
        return
    if options.action == "kinds":
        compare_kinds(tables())
        return
    for name, path in tables().items():
        if (options.only is None or name in options.only) and not (folder / f"{name}.json").exists():
            rows = read(path)
            trained = train(rows, ["y"], words)
            command = f"python -m lab.tables.moleculeace run {' '.join(words)}".strip()
            keep(folder / f"{name}.json", figures_of(rows, trained), trained, command)


if __name__ == "__main__":
    main()
