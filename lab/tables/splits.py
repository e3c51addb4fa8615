"""One CSV per table and seed (smiles, targets, split): the very file that every method reads.

Run with ``python -m lab.tables.splits FOLDER``. The tables of OGB keep their scaffold split, so that a seed
changes nothing but the methods' own randomness; FreeSolv has no official split and gets a random 80/10/10 one per
seed. The split says train, val or test, which policylearn and chemprop both understand.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import cyclopts
import numpy as np
import pandas as pd
from numpy.typing import NDArray
from rdkit import Chem, rdBase

from policylearn.data import data_root
from policylearn.data.atomic import write_text

Parts = dict[str, NDArray[Any]]
"""The rows of each part."""


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


def read_rows(path: Path) -> pd.DataFrame:
    """A CSV with its cells as they are written."""
    return pd.read_csv(path, dtype=str, keep_default_na=False)


def split_file(folder: Path, table: SplitTable, seed: int) -> Path:
    """The file of a table and a seed; written if it is not there."""
    path = folder / f"{table.name}-{seed}.csv"
    if not path.exists():
        write_text(path, split_text(table, seed))
    return path


def split_text(table: SplitTable, seed: int) -> str:
    """The CSV of a table and a seed.

    A row that RDKit cannot read (eight of moltox21) is left out: the methods that read SMILES could not use it, and
    all have to be scored on the same rows.
    """
    rows, parts = read_freesolv(seed) if table.name == "freesolv" else read_packed(table)
    rows["split"] = split_words(parts, len(rows))
    with rdBase.BlockLogs():  # of the rows left out
        readable = [Chem.MolFromSmiles(smiles) is not None for smiles in rows["smiles"]]
    return str(rows[readable].to_csv(index=False, lineterminator="\n"))


def read_freesolv(seed: int) -> tuple[pd.DataFrame, Parts]:
    """FreeSolv in the order of its file, and a random split: 514 rows to train, 64 to choose, 64 to report."""
    rows = read_rows(data_root() / "tables" / "freesolv.csv")[["smiles", "expt"]]
    order, tenth = np.random.default_rng(seed).permutation(len(rows)), len(rows) // 10
    return rows, {"val": order[:tenth], "test": order[tenth : 2 * tenth], "train": order[2 * tenth :]}


def read_packed(table: SplitTable) -> tuple[pd.DataFrame, Parts]:
    """SMILES, targets and split of a packed dataset; an empty cell is a missing label."""
    with np.load(data_root() / f"{table.name}.npz") as packed:
        smiles = [line.strip() for line in bytes(packed["smiles"]).decode().split("\n")]
        targets: NDArray[Any] = packed["y"]
        parts = {"train": packed["train"], "val": packed["valid"], "test": packed["test"]}
    rows = pd.DataFrame(targets, columns=list(table.targets))
    rows = rows if table.kind == "regression" else rows.astype("Int64")  # labels, some of which are missing
    rows.insert(0, "smiles", smiles)
    return rows, parts


def split_words(parts: Parts, rows: int) -> list[str]:
    """The part of each row; every row must be in exactly one."""
    order = np.concatenate(list(parts.values()))
    times = np.bincount(order, minlength=rows)
    if (times != 1).any():
        row = int(np.flatnonzero(times != 1)[0])
        raise ValueError(f"row {row} is in {times[row]} parts of the split; a row belongs to one part")
    words = np.repeat(list(parts), [len(part) for part in parts.values()])
    return [str(word) for word in words[np.argsort(order)]]


def main(folder: Path) -> None:
    """Write every file into a folder."""
    for table in TABLES.values():
        for seed in range(table.seeds):
            print(split_file(folder, table, seed))


if __name__ == "__main__":
    cyclopts.run(main)
