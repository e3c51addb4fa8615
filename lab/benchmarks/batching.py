"""Batches by slicing the packed arrays, against PyG's DataLoader on the same graphs.

Run with ``python -m lab.benchmarks.batching``. Both walk the same graphs turn by turn in one process, so that a busy
machine slows both alike.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterable

import torch
from rich.console import Console
from rich.table import Table
from torch_geometric.loader import DataLoader

from policylearn.data import BatchLoader, Dataset, load_dataset, make_data

BATCH_SIZE = 128
ROUNDS = 7
WANTED = 3.0


def seconds(loader: Iterable[object]) -> float:
    """How long one walk over all batches takes."""
    start = time.perf_counter()
    for _ in loader:
        pass
    return time.perf_counter() - start


def compare(dataset: Dataset, rounds: int = ROUNDS) -> dict[str, list[float]]:
    """Seconds an epoch over the training graphs, turn by turn."""
    train = dataset.splits[0].train
    ours = BatchLoader(dataset.graphs, train, batch_size=BATCH_SIZE, shuffle=True)
    bucketed = BatchLoader(dataset.graphs, train, batch_size=BATCH_SIZE, shuffle=True, bucket=20)
    pyg = DataLoader([make_data(dataset.graphs, i) for i in train.tolist()], batch_size=BATCH_SIZE, shuffle=True)
    loaders: dict[str, Iterable[object]] = {
        "policylearn": ours,
        "policylearn, by size": bucketed,
        "PyG DataLoader": pyg,
    }
    times: dict[str, list[float]] = {name: [] for name in loaders}
    for turn in range(rounds + 1):
        for name, loader in loaders.items():
            spent = seconds(loader)
            if turn:  # the first turn only warms up
                times[name].append(spent)
    return times


def main() -> None:
    """Print the comparison on ZINC, and fail where it is below the wanted factor."""
    torch.set_num_threads(1)
    dataset = load_dataset("zinc")
    times = compare(dataset)
    graphs = len(dataset.splits[0].train)
    pyg = times["PyG DataLoader"]
    table = Table(title=f"one epoch over {graphs:,} graphs of ZINC, batch size {BATCH_SIZE}, {ROUNDS} turns")
    for heading in ("loader", "median ms", "spread ms", "graphs per second", "against PyG"):
        table.add_column(heading, justify="left" if heading == "loader" else "right")
    for name, spent in times.items():
        median = statistics.median(spent)
        factor = statistics.median(theirs / mine for theirs, mine in zip(pyg, spent, strict=True))
        spread = f"{1000 * min(spent):.0f} to {1000 * max(spent):.0f}"
        table.add_row(name, f"{1000 * median:.1f}", spread, f"{graphs / median:,.0f}", f"{factor:.1f} x")
    Console(width=100).print(table)
    factor = statistics.median(theirs / mine for theirs, mine in zip(pyg, times["policylearn"], strict=True))
    if factor < WANTED:
        raise SystemExit(f"only {factor:.1f} times as fast as PyG's DataLoader; {WANTED:.0f} times are wanted")


if __name__ == "__main__":
    main()
