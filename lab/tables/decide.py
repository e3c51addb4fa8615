"""Decide between settings without test rows: ``python -m lab.tables.decide run --name learned --policy learned``.

Nineteen tables: the fifteen assays of MoleculeACE, FreeSolv, ogbg-molesol, ogbg-molbace and ogbg-moltox21. Their test
rows are left out, and what remains is cut again: a fifth of an assay's training rows, or the validation rows of the
others, take the place of the test rows. ``run`` trains a setting (further words are options of ``policylearn train``)
and keeps a record per table; ``table`` writes the settings side by side into the page on assays.
"""

from __future__ import annotations

import argparse
import io
from collections.abc import Iterator
from csv import DictReader
from pathlib import Path

import numpy as np

from lab.tables.inner_splits import inner_split
from lab.tables.moleculeace import Figures, Row, fill, keep, load, read, tables, train
from lab.tables.splits import TABLES, split_text

RECORDS = Path("results/decide")
DEFAULT = "default"


def inner_assay(rows: list[Row], seed: int) -> list[Row]:
    """The training rows of an assay, a fifth of them as the test part."""
    known = [row for row in rows if row["split"] == "train"]
    held = set(np.random.default_rng(seed).permutation(len(known))[: len(known) // 5].tolist())
    return [row | {"split": "test" if at in held else "train"} for at, row in enumerate(known)]


def inner_tables(seed: int) -> Iterator[tuple[str, tuple[str, ...], list[Row]]]:
    """Name, targets and rows of each table, the cheap ones first."""
    *small, largest = TABLES.values()
    for table in small:
        rows = list(DictReader(io.StringIO(split_text(table, seed))))
        yield table.name, table.targets, inner_split(rows, seed, by_scaffold=table.name != "freesolv")
    for name, path in tables().items():
        yield name, ("y",), inner_assay(read(path), seed)
    yield (
        largest.name,
        largest.targets,
        inner_split(list(DictReader(io.StringIO(split_text(largest, seed)))), seed, by_scaffold=True),
    )


def error(score: float, table: str) -> float:
    """What a lower value is better of: the RMSE, or what the ROC-AUC lacks to one."""
    return 1 - score if table in TABLES and TABLES[table].metric == "rocauc" else score


def gain(better: list[float], than: list[float]) -> str:
    """By how many percent the first errors are lower, in the mean over tables, with its standard error."""
    percent = 100 * np.log(np.array(than) / np.array(better))
    return f"{percent.mean():+.2f} ± {percent.std(ddof=1) / np.sqrt(len(percent)):.2f} %"


def decision_table(settings: dict[str, dict[str, Figures]]) -> str:
    """A line per setting: mean RMSE of the assays, the scores of the other tables, and the gain over the default."""
    base = settings[DEFAULT]
    names = ("setting", "tables", "assays", "network alone", "FreeSolv", "molesol", "molbace", "moltox21")
    lines = [
        "| " + " | ".join((*names, "better than the default by", "core s")) + " |",
        "|" + "---|" * (len(names) + 2),
    ]
    for name, found in sorted(settings.items(), key=lambda one: one[0] != DEFAULT):
        both = [table for table in base if table in found]
        assays = [found[table] for table in both if table not in TABLES]
        own = [f"{found[table]['score']:.3f}" if table in found else "" for table in TABLES]
        errors = [[error(one[table]["score"], table) for table in both] for one in (found, base)]
        cells = [
            name,
            str(len(both)),
            f"{np.mean([one['score'] for one in assays]):.4f}",
            f"{np.mean([one['alone']['network']['test'] for one in assays if one['alone']]):.4f}"
            if assays[0]["alone"]
            else "",
            *own,
            "" if name == DEFAULT else gain(*errors),
            f"{np.mean([found[table]['cpu_seconds'] for table in both]):.0f}",
        ]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("action", choices=("run", "table"))
    parser.add_argument("--name", default=DEFAULT, help="of the setting, under which records are kept")
    parser.add_argument("--seed", type=int, default=0, help="of the splits")
    parser.add_argument("--only", nargs="*", default=None, help="some tables")
    parser.add_argument(
        "--cache", type=Path, default=None, help="folder that keeps descriptors from setting to setting"
    )
    options, words = parser.parse_known_args()
    if options.action == "table":
        fill("inner", decision_table({path.name: load(path) for path in sorted(RECORDS.iterdir())}))
        return
    for name, targets, rows in inner_tables(options.seed):
        path = RECORDS / options.name / f"{name}.json"
        if (options.only is None or name in options.only) and not path.exists():
            trained = train(rows, targets, words, options.cache)
            figures = {
                "score": trained.metrics["test"],
                "metric": trained.metrics["metric"],
                "rows": len(trained.answers),
            }
            keep(
                path,
                figures,
                trained,
                f"python -m lab.tables.decide run --name {options.name} {' '.join(words)}".strip(),
            )


if __name__ == "__main__":
    main()
