"""The methods side by side on each table: score, cost and rank, on the seeds that all of them have.

``python -m lab.tables.summary [--against PEER] [FOLDER ...]`` prints Markdown from the records in the folders,
``results/peers`` unless others are named. A record is a line of ``FOLDER/TABLE.jsonl`` with at least peer, seed, test
and cpu_seconds, so that further methods can be set beside the peers.

The standard error is over seeds. On a table with an official split it tells how much a method's own randomness matters,
and not what another test part would give; on FreeSolv each seed is another split, and the paired difference takes out
what makes a split hard for all.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

import cyclopts
import pandas as pd

from lab.provenance import PROJECT
from lab.tables.splits import TABLES, SplitTable
from policylearn.wording import markdown_table

RECORDS = PROJECT / "results" / "peers"
FIELDS = ["peer", "seed", "test", "cpu_seconds"]


def read(folders: Iterable[Path], table: str) -> pd.DataFrame:
    """The records of a table, a row per method and seed."""
    paths = [path for folder in folders if (path := folder / f"{table}.jsonl").exists()]
    lines = [json.loads(line) for path in paths for line in path.read_text(encoding="utf-8").splitlines()]
    records = pd.DataFrame(lines, columns=FIELDS)
    twice = records[records.duplicated(["peer", "seed"])]
    if len(twice):
        peer, seed = twice.iloc[0][["peer", "seed"]]
        raise ValueError(f"{table}.jsonl: {peer} with seed {seed} is there twice; keep one")
    return records


def compare(table: SplitTable, records: pd.DataFrame, against: str) -> tuple[list[int], pd.DataFrame]:
    """The seeds that all methods share, and a row per method, best first.

    Columns are the mean of the score, of its gain over the method of comparison (positive is better) and of the
    processor seconds, standard errors (NaN for one seed), and the rank of the mean score; equal scores share a rank.
    """
    scores = records.pivot_table(index="seed", columns="peer", values="test").dropna()
    seconds = records.pivot_table(index="seed", columns="peer", values="cpu_seconds").loc[scores.index]
    sign = -1 if table.kind == "regression" else 1
    gains = sign * scores.sub(scores.get(against, float("nan")), axis=0)
    methods = pd.DataFrame(
        {
            "test": scores.mean(),
            "error": scores.sem(),
            "gain": gains.mean(),
            "gain_error": gains.sem(),
            "cpu_seconds": seconds.mean(),
            "rank": (-sign * scores.mean()).rank(),
        }
    )
    return scores.index.tolist(), methods.sort_values("rank", kind="stable")


def markdown(table: SplitTable, seeds: list[int], methods: pd.DataFrame, against: str) -> str:
    """One table."""
    rows = []
    for peer, line in methods.iterrows():
        compared = peer != against and not pd.isna(line["gain"])
        gain = f"{line['gain']:+.3f} ± {line['gain_error']:.3f}" if compared else ""
        score = f"{line['test']:.3f} ± {line['error']:.3f}"
        rows.append((str(peer), score, gain, f"{line['cpu_seconds']:.0f}", f"{line['rank']:g}"))
    headings = ("method", table.metric, f"better than {against} by", "CPU s", "rank")
    title = f"**{table.name}**, test {table.metric}, {len(seeds)} of {table.seeds} seeds"
    return f"{title}\n\n{markdown_table(headings, rows)}\n"


def main(*folders: Path, against: str = "chemprop") -> None:
    """Print every table that has runs, and the mean rank over the tables where all methods have been run.

    Args:
        folders: of the records; results/peers by default.
        against: method that the others are compared with, seed by seed.
    """
    ranks = {}
    for name, table in TABLES.items():
        seeds, methods = compare(table, read(folders or [RECORDS], name), against)
        ranks[name] = methods["rank"]
        print(markdown(table, seeds, methods, against) if seeds else f"**{name}**: no seed has every method\n")
    whole = pd.DataFrame(ranks).dropna(axis=1)  # tables with every method
    if not whole.empty:
        means = ", ".join(f"{peer} {rank:.2f}" for peer, rank in whole.mean(axis=1).sort_values().items())
        print(f"Mean rank, tables with every method ({whole.shape[1]} of {len(TABLES)}): {means}")


if __name__ == "__main__":
    cyclopts.run(main)
