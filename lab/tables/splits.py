"""One CSV per table and seed (smiles, targets, split): the very file that every method reads.

Run with ``python -m lab.tables.splits FOLDER``. The tables of OGB keep their scaffold split, so that a seed
changes nothing but the methods' own randomness; FreeSolv has no official split and gets a random 80/10/10 one per
seed. The split says train, val or test, which policylearn and chemprop both understand.
"""

from __future__ import annotations

import argparse
import csv
import io
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from rdkit import Chem, rdBase

from policylearn.data import data_root

Rows = list[tuple[str, tuple[str, ...]]]
"""SMILES and the cells of the targets."""


@dataclass(frozen=True)
class SplitTable:
    """What a run on a table needs to know.

    Args:
        targets: names of the columns to predict.
        kind: regression is scored by the root mean squared error, classification by the ROC-AUC.
        seeds: how many runs per method.
    """

    name: str
    targets: tuple[str, ...]
    kind: Literal["regression", "classification"]
    seeds: int

    @property
    def metric(self) -> str:
        return {"regression": "rmse", "classification": "rocauc"}[self.kind]


TABLES = {
    table.name: table
    for table in (
        SplitTable("freesolv", ("expt",), "regression", seeds=10),
        SplitTable("ogbg-molesol", ("y",), "regression", seeds=10),
        SplitTable("ogbg-molbace", ("y",), "classification", seeds=5),
        SplitTable("ogbg-moltox21", tuple(f"y{task}" for task in range(12)), "classification", seeds=3),
    )
}
"""Cheap ones first."""


def split_file(folder: Path, table: SplitTable, seed: int) -> Path:
    """The file of a table and a seed; written if it is not there."""
    path = folder / f"{table.name}-{seed}.csv"
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        part = path.with_suffix(".part")
        part.write_text(split_text(table, seed), encoding="utf-8")
        part.replace(path)  # another process must never read half a file
    return path


def split_text(table: SplitTable, seed: int) -> str:
    """The CSV of a table and a seed.

    A row that RDKit cannot read (eight of moltox21) is left out: the methods that read SMILES could not use it, and
    all have to be scored on the same rows.
    """
    rows, split = read_freesolv(seed) if table.name == "freesolv" else read_packed(table)
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(("smiles", *table.targets, "split"))
    with rdBase.BlockLogs():  # of the rows left out
        for (smiles, cells), part in zip(rows, split, strict=True):
            if Chem.MolFromSmiles(smiles) is not None:
                writer.writerow((smiles, *cells, part))
    return text.getvalue()


def read_freesolv(seed: int) -> tuple[Rows, list[str]]:
    """FreeSolv in the order of its file, and a random split: 514 rows to train, 64 to choose, 64 to report."""
    with (data_root() / "tables" / "freesolv.csv").open(encoding="utf-8", newline="") as file:
        rows: Rows = [(row["smiles"], (row["expt"],)) for row in csv.DictReader(file)]
    order, tenth = np.random.default_rng(seed).permutation(len(rows)), len(rows) // 10
    parts = {"val": order[:tenth], "test": order[tenth : 2 * tenth], "train": order[2 * tenth :]}
    return rows, split_words(parts, len(rows))


def read_packed(table: SplitTable) -> tuple[Rows, list[str]]:
    """SMILES, targets and split of a packed dataset; an empty cell is a missing label."""
    with np.load(data_root() / f"{table.name}.npz") as packed:
        smiles = [line.strip() for line in bytes(packed["smiles"]).decode().split("\n")]
        targets: NDArray[Any] = packed["y"]
        parts = {"train": packed["train"], "val": packed["valid"], "test": packed["test"]}
    write: Callable[[Any], str] = str if table.kind == "regression" else lambda value: str(int(value))
    cells = [tuple("" if np.isnan(value) else write(value) for value in row) for row in targets]
    return list(zip(smiles, cells, strict=True)), split_words(parts, len(smiles))


def split_words(parts: dict[str, NDArray[Any]], rows: int) -> list[str]:
    """The part of each row; every row must be in exactly one."""
    words = [""] * rows
    for word, indices in parts.items():
        for index in indices.tolist():
            if words[index]:
                raise ValueError(f"row {index} is in {words[index]} and in {word}; a row belongs to one part")
            words[index] = word
    if "" in words:
        raise ValueError(f"row {words.index('')} is in no part; the split must name every row")
    return words


def main() -> None:
    """Write every file."""
    parser = argparse.ArgumentParser(prog="python -m lab.tables.splits", description=__doc__)
    parser.add_argument("folder", type=Path, help="where the files go")
    folder = parser.parse_args().folder
    for table in TABLES.values():
        for seed in range(table.seeds):
            print(split_file(folder, table, seed))


if __name__ == "__main__":
    main()
