"""Choose settings without test rows: ``python -m lab.tables.decide run --name learned --policy learned``.

Nineteen tables: the fifteen assays of MoleculeACE, FreeSolv, ogbg-molesol, ogbg-molbace and ogbg-moltox21. Their test
rows are left out, and a fifth of an assay's training rows, or the validation rows of the other tables, are tested in
their place. ``run`` trains a setting, whose further words are options of ``policylearn train``, and keeps a record per
table; ``table`` writes the settings side by side into the page on assays.
"""

from __future__ import annotations

import argparse
import io
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd

from lab.pages import replace_between
from lab.tables.inner_splits import inner_split
from lab.tables.moleculeace import PAGE, keep, load, tables, train
from lab.tables.splits import TABLES, SplitTable, read_rows, split_text
from policylearn.wording import markdown_table

RECORDS = Path("results/decide")
DEFAULT = "default"
PARTS = ("network", "kernel", "trees")


def inner_assay(rows: pd.DataFrame, seed: int) -> pd.DataFrame:
    """The training rows of an assay, a fifth of them as the test part."""
    known = rows[rows["split"] == "train"].reset_index(drop=True)
    known.loc[np.random.default_rng(seed).permutation(len(known))[: len(known) // 5], "split"] = "test"
    return known


def inner_table(table: SplitTable, seed: int) -> pd.DataFrame:
    """The rows of another table without its test part; its validation rows are tested."""
    rows = pd.read_csv(io.StringIO(split_text(table, seed)), dtype=str, keep_default_na=False)
    return inner_split(rows, seed, by_scaffold=table.name != "freesolv")


def inner_tables(seed: int = 0) -> Iterator[tuple[str, tuple[str, ...], pd.DataFrame]]:
    """Name, targets and rows of each table, the largest last."""
    *small, largest = TABLES.values()
    for table in small:
        yield table.name, table.targets, inner_table(table, seed)
    for path in tables():
        yield path.stem, ("y",), inner_assay(read_rows(path), seed)
    yield largest.name, largest.targets, inner_table(largest, seed)


def errors(records: pd.DataFrame) -> pd.Series[float]:
    """What is better the lower it is: the RMSE, or what the ROC-AUC lacks to one."""
    return records["score"].where(records["metric"] != "rocauc", 1 - records["score"])


def mean_alone(records: pd.DataFrame, part: str) -> str:
    """The mean score of one model of the blend by itself; empty for runs without it."""
    scores = [alone[part]["test"] for alone in records["alone"] if alone and part in alone]
    return f"{np.mean(scores):.4f}" if scores else ""


def decision_table(settings: dict[str, pd.DataFrame]) -> str:
    """A line per setting: errors on the tables that all settings have, and its gain over the default on all its own."""
    base = settings[DEFAULT]
    shared = base.index[[all(name in found.index for found in settings.values()) for name in base.index]]
    names = ("setting", "tables", "assays", *(f"{part} alone" for part in PARTS), *TABLES, "better by", "core s")
    lines = []
    for name, found in sorted(settings.items(), key=lambda one: (one[0] != DEFAULT, one[0])):
        gain = 100 * np.log(errors(base) / errors(found)).dropna()
        both = found.loc[shared]
        assays = both[~both.index.isin(TABLES)]
        cells = [
            name,
            str(len(gain)),
            f"{assays['score'].mean():.4f}",
            *(mean_alone(assays, part) for part in PARTS),
            *(f"{both['score'][table]:.3f}" if table in both.index else "" for table in TABLES),
            "" if name == DEFAULT else f"{gain.mean():+.2f} ± {gain.sem():.2f} %",
            f"{both['cpu_seconds'].mean():.0f}",
        ]
        lines.append(cells)
    return markdown_table(names, lines)


def main() -> None:
    """Run one action."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("action", choices=("run", "table"))
    parser.add_argument("--name", default=DEFAULT, help="of the setting, under which records are kept")
    parser.add_argument("--only", nargs="*", default=(), help="some tables")
    parser.add_argument("--cache", type=Path, help="folder that keeps descriptors from setting to setting")
    options, words = parser.parse_known_args()
    if options.action == "table":
        table = decision_table({path.name: load(path) for path in RECORDS.iterdir()})
        replace_between(PAGE, "<!-- inner -->\n", f"{table}\n", "<!-- /inner -->")
        return
    for name, targets, rows in inner_tables():
        path = RECORDS / options.name / f"{name}.json"
        if (not options.only or name in options.only) and not path.exists():
            keep(path, train(rows, targets, words, options.cache)[0])


if __name__ == "__main__":
    main()
