"""Error and coverage by distance to the training molecules: ``python -m lab.tables.applicability FOLDER``.

Trains, with the defaults, five random splits of FreeSolv and of ogbg-molesol, the scaffold split of ogbg-molesol and
six assays of MoleculeACE. Finished runs in the folder are kept, and calibrated anew by the code at hand.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from lab.tables.splits import TABLES, random_parts, read_rows, split_file, split_words
from policylearn.data import data_root
from policylearn.prediction import finish
from policylearn.prediction.scores import PARTS, thirds
from policylearn.training import load_run, load_source
from policylearn.training.reevaluation import recall
from policylearn.wording import markdown_table

ASSAYS = ("CHEMBL2835_Ki", "CHEMBL1871_Ki", "CHEMBL4203_Ki", "CHEMBL1862_Ki", "CHEMBL237_EC50", "CHEMBL231_Ki")
SEEDS = 5


def table_files(folder: Path, assays: Sequence[str]) -> Iterator[tuple[str, str, Path]]:
    """Name of the group, target and CSV of each table; of some assays, these alone."""
    if not assays:
        for seed in range(SEEDS):
            yield "FreeSolv", "expt", split_file(folder, TABLES["freesolv"], seed)
        scaffold = split_file(folder, TABLES["ogbg-molesol"], 0)
        for seed in range(SEEDS):
            rows, path = read_rows(scaffold), folder / f"molesol-random-{seed}.csv"
            rows["split"] = split_words(random_parts(len(rows), seed), len(rows))
            rows.to_csv(path, index=False)
            yield "ogbg-molesol, random split", "y", path
        yield "ogbg-molesol, scaffold split", "y", scaffold
    for name in assays or ASSAYS:
        yield "assays" if assays else "six assays", "y", data_root() / "tables" / "moleculeace" / f"{name}.csv"


def trained(folder: Path, table: Path, target: str) -> Path:
    """The run of a table, trained unless that was done before."""
    run = folder / "runs" / table.stem
    if not (run / "report.html").exists():
        words = ["train", str(table), "--target", target, "--data.split", "column", "--data.split_column", "split"]
        command = [sys.executable, "-m", "policylearn", *words, "--fit.threads", "1", "-o", str(run)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return run


def held_back_rows(run: Path, table: Path) -> pd.DataFrame:
    """The test rows of a run: third of distance, error, whether the interval holds the truth, and its scaled width."""
    config = load_run(run).config
    outcome = finish(run, [recall(run, load_source(config.data.replace(name=str(table))))])
    test = outcome.parts["test"]
    found = []
    for third in thirds(outcome.predictor.task, test.y, test.answer):
        rows = pd.DataFrame({"third": third.name, "error": third.errors, "inside": third.inside.astype(bool)})
        found.append(rows.assign(width=third.widths.mean() / np.nanstd(test.y)))
    return pd.concat(found)


def table_of(rows: pd.DataFrame) -> str:
    """Error, coverage and width of each group and third; the mean width counts every run alike."""
    lines = []
    for name, group in [*rows.groupby("group", sort=False), ("all", rows)]:
        lines.append((f"{name}, {len(group):,}", "all", f"{group.error.mean():.3f}", f"{group.inside.mean():.1%}", ""))
        for part in PARTS:
            own = group[group.third == part]
            width = own.groupby("run").width.first().mean()
            lines.append(("", part, f"{own.error.mean():.3f}", f"{own.inside.mean():.1%}", f"{width:.2f}"))
    headings = ("data, test rows", "third", "mean error", "90 % intervals held", "mean width / deviation of targets")
    return markdown_table(headings, lines)


def main() -> None:
    """Train what is missing and print the table."""
    parser = argparse.ArgumentParser(prog="python -m lab.tables.applicability", description=__doc__)
    parser.add_argument("folder", type=Path, help="where tables and runs go")
    parser.add_argument("--assays", nargs="*", default=(), help="measure these assays alone")
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    found = []
    for group, target, table in table_files(given.folder, given.assays):
        rows = held_back_rows(trained(given.folder, table, target), table)
        found.append(rows.assign(group=group, run=table.stem))
    print(table_of(pd.concat(found)))


if __name__ == "__main__":
    main()
