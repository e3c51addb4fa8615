"""Splits to choose settings by: no test row is in them, so that nothing can be chosen on test figures.

``python -m lab.tables.inner_splits SPLITS FOLDER`` reads what `lab.tables.splits` wrote, drops the test
rows, calls the validation rows test, and takes a ninth of the training rows to validate: at random on FreeSolv, as its
split is, and elsewhere scaffolds of few molecules, none of which is trained on. ``python -m lab compare
lab/comparisons/kept.yaml`` then trains on them.
"""

from __future__ import annotations

import random
from pathlib import Path

import cyclopts
import pandas as pd
from rdkit import Chem
from rdkit.Chem.Scaffolds import MurckoScaffold

from lab.tables.splits import TABLES, read_rows

PART = 9
"""One row in so many validates: a tenth of what splits of 80, 10 and 10 % leave without the test rows."""
LARGEST = 4
"""A scaffold with more than a fourth of that part stays in training."""


def inner_split(rows: pd.DataFrame, seed: int, *, by_scaffold: bool) -> pd.DataFrame:
    """The rows without the test part, each with its new part."""
    known = rows[rows["split"] != "test"].reset_index(drop=True)
    train = known.index[known["split"] == "train"].tolist()
    draw, count = random.Random(seed), len(train) // PART
    chosen = chosen_scaffolds(known["smiles"][train], draw, count) if by_scaffold else draw.sample(train, count)
    known["split"] = known["split"].map({"val": "test", "train": "train"})
    known.loc[chosen, "split"] = "val"
    return known


def chosen_scaffolds(smiles: pd.Series[str], draw: random.Random, count: int) -> list[int]:
    """Rows of scaffolds that are drawn until there are so many of them."""
    groups: dict[str, list[int]] = {}
    for row, text in smiles.items():
        readable = Chem.MolFromSmiles(text) is not None
        groups.setdefault(MurckoScaffold.MurckoScaffoldSmiles(text) if readable else "", []).append(row)  # type: ignore[no-untyped-call]
    names = sorted(groups)
    draw.shuffle(names)
    chosen: list[int] = []
    for name in names:
        if len(groups[name]) <= count // LARGEST and len(chosen) + len(groups[name]) <= count:
            chosen += groups[name]
    return chosen


def main(splits: Path, folder: Path) -> None:
    """Write a file for each that is there."""
    folder.mkdir(parents=True, exist_ok=True)
    for table in TABLES.values():
        for path in sorted(splits.glob(f"{table.name}-*.csv")):
            seed = int(path.stem.rsplit("-", 1)[1])
            inner = inner_split(read_rows(path), seed, by_scaffold=table.name != "freesolv")
            inner.to_csv(folder / path.name, index=False)


if __name__ == "__main__":
    cyclopts.run(main)
