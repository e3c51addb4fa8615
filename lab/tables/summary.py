"""The methods side by side on each table: score, cost and rank, on the seeds that all of them have.

``python -m lab.tables.summary [--against PEER] [FOLDER ...]`` prints Markdown from the records in the folders,
``results/peers`` unless others are named. A record is a line of ``FOLDER/TABLE.jsonl`` with at least peer, seed, test
and cpu_seconds, so that further methods can be set beside the peers.

The standard error is over seeds. On a table with an official split it tells how much a method's own randomness matters,
and not what another test part would give; on FreeSolv each seed is another split, and the paired difference takes out
what makes a split hard for all.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import rankdata

from lab.bench.machine import PROJECT
from lab.tables.splits import TABLES, SplitTable


@dataclass(frozen=True)
class Line:
    """One method on one table.

    Args:
        test: mean over seeds, and its standard error.
        difference: mean paired difference to the method of comparison, positive where this one is better, and its
            standard error.
        cpu_seconds: mean over seeds.
        rank: of the mean score among the methods of the table, 1 for the best; equal scores share a rank.
    """

    peer: str
    test: tuple[float, float]
    difference: tuple[float, float]
    cpu_seconds: float
    rank: float


def read(folders: Iterable[Path], table: str) -> dict[str, dict[int, dict[str, Any]]]:
    """Records of a table by method and seed."""
    found: dict[str, dict[int, dict[str, Any]]] = {}
    for path in (folder / f"{table}.jsonl" for folder in folders):
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        for number, row in enumerate(map(json.loads, lines), start=1):
            if row["seed"] in found.setdefault(row["peer"], {}):
                raise ValueError(
                    f"{path}, line {number}: {row['peer']} with seed {row['seed']} is there twice; keep one"
                )
            found[row["peer"]][row["seed"]] = row
    return found


def mean_and_error(values: Iterable[float]) -> tuple[float, float]:
    """Mean, and its standard error: NaN for fewer than two values."""
    given = np.array(list(values))
    return float(given.mean()), float(given.std(ddof=1) / math.sqrt(len(given))) if len(given) > 1 else math.nan


def compare(
    table: SplitTable, records: Mapping[str, Mapping[int, Mapping[str, Any]]], against: str
) -> tuple[list[int], list[Line]]:
    """The seeds that all methods share, and one line per method, best first."""
    seeds = sorted(set.intersection(*(set(runs) for runs in records.values())))
    if not seeds:
        return [], []
    sign = -1 if table.kind == "regression" else 1
    scores = {peer: np.array([runs[seed]["test"] for seed in seeds]) for peer, runs in records.items()}
    ranks = rankdata([-sign * score.mean() for score in scores.values()])
    lines = [
        Line(
            peer,
            mean_and_error(score),
            mean_and_error(sign * (score - scores[against])) if against in scores else (math.nan, math.nan),
            mean_and_error(records[peer][seed]["cpu_seconds"] for seed in seeds)[0],
            float(rank),
        )
        for (peer, score), rank in zip(scores.items(), ranks, strict=True)
    ]
    return seeds, sorted(lines, key=lambda line: line.rank)


def markdown(table: SplitTable, seeds: list[int], lines: list[Line], against: str) -> str:
    """One table."""
    rows = [
        f"**{table.name}**, test {table.metric}, {len(seeds)} of {table.seeds} seeds",
        "",
        f"| method | {table.metric} | better than {against} by | CPU s | rank |",
        "|---|---|---|---|---|",
    ]
    for line in lines:
        compared = line.peer != against and not math.isnan(line.difference[0])
        gain = f"{line.difference[0]:+.3f} ± {line.difference[1]:.3f}" if compared else ""
        score = f"{line.test[0]:.3f} ± {line.test[1]:.3f}"
        rows.append(f"| {line.peer} | {score} | {gain} | {line.cpu_seconds:.0f} | {line.rank:g} |")
    return "\n".join([*rows, ""])


def main() -> None:
    """Print every table that has runs, and the mean rank over the tables where all methods have been run."""
    parser = argparse.ArgumentParser(prog="python -m lab.tables.summary", description=__doc__.partition("\n")[0])
    parser.add_argument("folders", nargs="*", type=Path, default=[PROJECT / "results" / "peers"])
    parser.add_argument("--against", default="chemprop", help="method that the others are compared with, seed by seed")
    given = parser.parse_args()
    records = {name: read(given.folders, name) for name in TABLES}
    methods = sorted({peer for found in records.values() for peer in found})
    ranks: dict[str, list[float]] = {peer: [] for peer in methods}
    for name, found in records.items():
        seeds, lines = compare(TABLES[name], found, given.against) if found else ([], [])
        if not seeds:
            print(f"**{name}**: no seed has been run with every method\n")
            continue
        print(markdown(TABLES[name], seeds, lines, given.against))
        if len(lines) == len(methods):
            for line in lines:
                ranks[line.peer].append(line.rank)
    counted = max(map(len, ranks.values()), default=0)
    if counted:
        means = sorted((sum(places) / counted, peer) for peer, places in ranks.items())
        print(
            f"Mean rank, tables with every method ({counted} of {len(TABLES)}): "
            + ", ".join(f"{peer} {rank:.2f}" for rank, peer in means)
        )


if __name__ == "__main__":
    main()
