"""Splits to choose settings by: no test row is in them, so that nothing can be chosen on test figures.

``python -m lab.tables.inner_splits SPLITS FOLDER`` reads what `lab.tables.splits` wrote, drops the test
rows, calls the validation rows test, and takes a ninth of the training rows to validate: at random on FreeSolv, as its
split is, and elsewhere scaffolds of few molecules, none of which is trained on. ``python -m lab compare
lab/comparisons/kept.yaml`` then trains on them.
"""

from __future__ import annotations

import csv
import random
import sys
from pathlib import Path

from rdkit import Chem
from rdkit.Chem.Scaffolds import MurckoScaffold

from lab.tables.splits import TABLES

PART = 9
"""One row in so many validates: a tenth of what splits of 80, 10 and 10 % leave without the test rows."""
LARGEST = 4
"""A scaffold with more than a fourth of that part stays in training."""

Row = dict[str, str]


def inner_split(rows: list[Row], seed: int, *, by_scaffold: bool) -> list[Row]:
    """The rows without the test part, each with its new part."""
    known = [row for row in rows if row["split"] != "test"]
    train = [at for at, row in enumerate(known) if row["split"] == "train"]
    draw, count = random.Random(seed), len(train) // PART
    chosen = chosen_scaffolds(known, train, draw, count) if by_scaffold else set(draw.sample(train, count))
    return [row | {"split": _part(row["split"], at in chosen)} for at, row in enumerate(known)]


def chosen_scaffolds(rows: list[Row], train: list[int], draw: random.Random, count: int) -> set[int]:
    """Rows of scaffolds that are drawn until there are so many of them."""
    groups: dict[str, list[int]] = {}
    for at in train:
        readable = Chem.MolFromSmiles(rows[at]["smiles"]) is not None
        scaffold = MurckoScaffold.MurckoScaffoldSmiles(rows[at]["smiles"]) if readable else ""  # type: ignore[no-untyped-call]
        groups.setdefault(scaffold, []).append(at)
    names = sorted(groups)
    draw.shuffle(names)
    chosen: set[int] = set()
    for name in names:
        if len(groups[name]) <= count // LARGEST and len(chosen) + len(groups[name]) <= count:
            chosen |= set(groups[name])
    return chosen


def _part(before: str, chosen: bool) -> str:
    return "test" if before == "val" else "val" if chosen else "train"


def main(splits: Path, folder: Path) -> None:
    """Write a file for each that is there."""
    folder.mkdir(parents=True, exist_ok=True)
    for table in TABLES.values():
        for path in sorted(splits.glob(f"{table.name}-*.csv")):
            with path.open(newline="", encoding="utf-8") as file:
                rows = list(csv.DictReader(file))
            seed = int(path.stem.rsplit("-", 1)[1])
            inner = inner_split(rows, seed, by_scaffold=table.name != "freesolv")
            with (folder / path.name).open("w", newline="", encoding="utf-8") as file:
                writer = csv.DictWriter(file, list(inner[0]))
                writer.writeheader()
                writer.writerows(inner)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
