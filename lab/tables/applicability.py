"""Error and coverage by distance to the training molecules: ``python -m lab.tables.applicability FOLDER``.

Trains, with the defaults, five random splits of FreeSolv and of ogbg-molesol, the scaffold split of ogbg-molesol and
six assays of MoleculeACE. Finished runs in the folder are kept, and calibrated anew by the code at hand.
"""

from __future__ import annotations

import argparse
import csv
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from lab.tables.splits import TABLES, split_file, split_words
from policylearn.data import data_root
from policylearn.prediction import finish
from policylearn.prediction.scores import PARTS, thirds
from policylearn.training import load_run, load_source
from policylearn.training.reevaluation import recall

ASSAYS = ("CHEMBL2835_Ki", "CHEMBL1871_Ki", "CHEMBL4203_Ki", "CHEMBL1862_Ki", "CHEMBL237_EC50", "CHEMBL231_Ki")
SEEDS = 5
FULLERENE = (
    "c12c3c4c5c1c1c6c7c2c2c8c3c3c9c4c4c%10c5c5c1c1c6c6c%11c7c2c2c7c8c3c3c8c9c4c4c9c%10c5c5c1c1c6c6c%11c2c2c7c3c3c8c4c4c9c5"
    "c1c1c6c2c3c41"
)
PROBES = {
    "sodium chloride": "[Na+].[Cl-]",
    "C60": FULLERENE,
    "chain of 500 carbons": "C" * 500,
    "aspirin": "CC(=O)Oc1ccccc1C(=O)O",
    "nicotine": "CN1CCCC1c1cccnc1",
    "chlorpromazine": "CN(C)CCCN1c2ccccc2Sc2ccc(Cl)cc21",
}


@dataclass(frozen=True)
class ThirdRows:
    """Held-back rows of one table or of several, by third of distance.

    Args:
        errors: of each third.
        inside: whether intervals hold the truth.
        scaled: mean widths in units of the targets' deviation, a number per run.
    """

    errors: list[NDArray[np.float64]]
    inside: list[NDArray[np.bool_]]
    scaled: list[list[float]]


def table_files(folder: Path, assays: Sequence[str]) -> Iterator[tuple[str, str, Path]]:
    """Name of the group, target and CSV of each table; of some assays, these alone."""
    for name in assays:
        yield "assays", "y", data_root() / "tables" / "moleculeace" / f"{name}.csv"
    if assays:
        return
    for seed in range(SEEDS):
        yield "FreeSolv", "expt", split_file(folder, TABLES["freesolv"], seed)
    scaffold = split_file(folder, TABLES["ogbg-molesol"], 0)
    for seed in range(SEEDS):
        yield "ogbg-molesol, random split", "y", shuffled(scaffold, folder / f"molesol-random-{seed}.csv", seed)
    yield "ogbg-molesol, scaffold split", "y", scaffold
    for name in ASSAYS:
        yield "six assays", "y", data_root() / "tables" / "moleculeace" / f"{name}.csv"


def shuffled(source: Path, path: Path, seed: int) -> Path:
    """The same rows with a random split, a tenth each to validate and to test."""
    with source.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    order, tenth = np.random.default_rng(seed).permutation(len(rows)), len(rows) // 10
    words = split_words(
        {"val": order[:tenth], "test": order[tenth : 2 * tenth], "train": order[2 * tenth :]}, len(rows)
    )
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(row | {"split": word} for row, word in zip(rows, words, strict=True))
    return path


def trained(folder: Path, table: Path, target: str) -> Path:
    """The run of a table, trained unless that was done before."""
    run = folder / "runs" / table.stem
    if not (run / "report.html").exists():
        words = ["train", str(table), "--target", target, "--data.split", "column", "--data.split_column", "split"]
        subprocess.run(
            [sys.executable, "-m", "policylearn", *words, "--fit.threads", "1", "-o", str(run)],
            check=True,
            stdout=subprocess.DEVNULL,
        )
    return run


def measured(folder: Path, assays: Sequence[str]) -> tuple[dict[str, ThirdRows], list[str]]:
    """The held-back rows of each group, and what the runs say of the probes."""
    groups: dict[str, ThirdRows] = {}
    probes: list[str] = []
    for group, target, table in table_files(folder, assays):
        run = trained(folder, table, target)
        config = load_run(run).config
        outcome = finish(run, [recall(run, load_source(config.data.replace(name=str(table))))])
        task, test = outcome.predictor.task, outcome.parts["test"]
        rows = groups.setdefault(group, ThirdRows([np.empty(0)] * 3, [np.empty(0, bool)] * 3, [[], [], []]))
        for at, one in enumerate(thirds(task, test.y, test.answer)):
            rows.errors[at] = np.concatenate([rows.errors[at], one.errors])
            rows.inside[at] = np.concatenate([rows.inside[at], one.inside.astype(bool)])
            rows.scaled[at].append(float(one.widths.mean() / np.nanstd(test.y)))
        if not run.name[-1].isdigit() or run.name.endswith("-0"):
            answer = outcome.predictor.answer(list(PROBES.values()))
            assert answer.near is not None
            width = np.asarray(answer.upper) - np.asarray(answer.lower)  # (probes, 1)
            told = zip(width[:, 0], answer.near.far, strict=True)
            cells = " | ".join(f"{one:.2f}{' (warned)' if far else ''}" for one, far in told)
            probes.append(f"| {table.stem} | {cells} |")
    return groups, probes


def table_lines(groups: dict[str, ThirdRows]) -> Iterable[str]:
    """ThirdRows, error, coverage and width of each third."""
    yield "| data, test rows | third | mean error | 90 % intervals held | mean width / deviation of targets |"
    yield "|---|---|---|---|---|"
    everything = ThirdRows(
        [np.concatenate([one.errors[at] for one in groups.values()]) for at in range(3)],
        [np.concatenate([one.inside[at] for one in groups.values()]) for at in range(3)],
        [[width for one in groups.values() for width in one.scaled[at]] for at in range(3)],
    )
    for name, rows in (groups | {"all": everything}).items():
        whole = np.concatenate(rows.inside)
        yield f"| {name}, {len(whole):,} | all | {np.concatenate(rows.errors).mean():.3f} | {whole.mean():.1%} | |"
        for at, part in enumerate(PARTS):
            width = np.mean(rows.scaled[at])
            yield f"| | {part} | {rows.errors[at].mean():.3f} | {rows.inside[at].mean():.1%} | {width:.2f} |"


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(prog="python -m lab.tables.applicability", description=__doc__)
    parser.add_argument("folder", type=Path, help="where tables and runs go")
    parser.add_argument("--assays", nargs="*", default=(), help="measure these assays alone")
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    groups, probes = measured(given.folder, given.assays)
    print("\n".join(table_lines(groups)))
    print(f"\n| width of the 90 % interval | {' | '.join(PROBES)} |\n|{'---|' * (len(PROBES) + 1)}")
    print("\n".join(probes))


if __name__ == "__main__":
    main()
