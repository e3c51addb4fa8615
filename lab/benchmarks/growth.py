"""Cost against nodes, edges, picks, channels, layers and batch, in both phases: ``python -m lab.benchmarks.growth``.

One setting is changed at a time from a base: the learned policy with its default estimator, T = 2, 2 layers of 32
channels. Nodes: one sparse random graph with 2 edges per node. Edges: one graph of 1,000 nodes, up to half of all
pairs. The others: a batch of 16 sparse graphs of 25 nodes. All sizes of an axis take turns; times are those of one
processor with one thread, the exponent is the slope of a least-squares line through the logarithms of the upper half of
the sizes, where what every call costs no longer counts. Memory is the most that one step adds to what the process held.
``--table`` writes table and picture into the docs.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch_geometric.data import Batch

from lab.bench.interleave import TimedStep, interleave
from lab.bench.memory import forget_peak, peak, resident
from lab.bench.record import fit_exponent
from lab.benchmarks.machine import PROJECT, RESULTS, keep
from lab.benchmarks.page import PAGE, with_table
from policylearn.data import make_batch
from policylearn.data.convert.stacking import pointer
from policylearn.data.packed import PackedGraphs
from policylearn.data.pictures import new_picture
from policylearn.fast import accelerate, model_threads, while_training
from policylearn.models import ModelConfig, NetworkConfig, PolicyConfig, build_model, calibrate
from policylearn.wording import markdown_table

NAME = "growth"
PICTURE = PROJECT / "docs" / "pictures" / "growth.png"
HEADINGS = ("axis", "phase", "from", "to", "ms, first to last", "exponent", "MiB, first to last")
BASE = {"nodes": 25, "edges": 50, "picks": 2, "channels": 32, "layers": 2, "batch": 16}


@dataclass(frozen=True)
class Axis:
    """One setting over its sizes, with what is fixed for it."""

    name: str
    sizes: tuple[int, ...]
    fixed: dict[str, int]
    train_up_to: int | None = None


AXES = (
    Axis("nodes", (1_000, 10_000, 100_000, 1_000_000), {"batch": 1}, 100_000),
    Axis("edges", (2_000, 8_000, 32_000, 128_000, 250_000), {"nodes": 1_000, "batch": 1}),
    Axis("picks", (1, 2, 4, 8, 16), {}),
    Axis("channels", (16, 32, 64, 128, 256), {}),
    Axis("layers", (1, 2, 4, 8, 16), {}),
    Axis("batch", (8, 32, 128, 512), {}),
)


def random_graphs(count: int, nodes: int, edges: int) -> Batch:
    """Graphs of so many nodes and about so many undirected edges each."""
    draw = np.random.default_rng(0)
    ends = draw.integers(nodes, size=(count, 2, edges))
    both = np.concatenate([ends, ends[:, ::-1]], axis=2)
    packed = PackedGraphs(
        x=np.ones((count * nodes, 1), dtype=np.float32),
        edge_index=both.transpose(1, 0, 2).reshape(2, -1),
        edge_attr=np.empty((both.shape[0] * both.shape[2], 0), dtype=np.uint8),
        node_ptr=pointer([nodes] * count),
        edge_ptr=pointer([2 * edges] * count),
        y=np.zeros((count, 1), dtype=np.float32),
    )
    return make_batch(packed, range(count))


def make_step(values: dict[str, int], phase: str) -> Callable[[int], None]:
    """A training step (without the optimiser) or inference, run once so that everything is compiled."""
    torch.manual_seed(0)
    network = NetworkConfig(layers=values["layers"], channels=values["channels"])
    model = accelerate(build_model(ModelConfig(prediction=network, policy=PolicyConfig(picks=values["picks"]))))
    small = random_graphs(2, 25, 50)
    generator = torch.Generator().manual_seed(0)
    calibrate(model, [small], generator=generator)
    batch = random_graphs(values["batch"], values["nodes"], values["edges"])

    def losses(output: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return (output - y).abs(), torch.ones_like(output, dtype=torch.bool)

    def train(_turn: int) -> None:
        model.train()
        with while_training(model):
            model.objective(batch, batch.y, losses, generator=generator).loss.backward()  # type: ignore[no-untyped-call]
        model.zero_grad()

    def infer(_turn: int) -> None:
        model.eval()
        with model_threads(model), torch.no_grad():
            model(batch)

    return train if phase == "training" else infer


def measure(axis: Axis, phase: str, rounds: int) -> dict[str, Any]:
    """One axis in one phase: milliseconds of every round of each size, and memory."""
    sizes = [size for size in axis.sizes if phase == "inference" or size <= (axis.train_up_to or size)]
    steps = {}
    for size in sizes:
        values = BASE | axis.fixed | {axis.name: size}
        if axis.name == "nodes":
            values["edges"] = 2 * size
        steps[size] = make_step(values, phase)
    entries = [TimedStep(size, step, rounds, warm=size < 100_000) for size, step in steps.items()]
    spent = interleave(entries, clock=time.process_time)
    memory = []
    for step in steps.values():
        # What the C library keeps of earlier steps would hide what this one needs.
        ctypes.CDLL(None).malloc_trim(0)
        before = resident()
        forget_peak()
        step(0)
        memory.append(peak() - before)
    ms = {size: [1000 * value for value in values] for size, values in spent.items()}
    print(axis.name, phase, {size: round(statistics.median(values), 1) for size, values in ms.items()}, flush=True)
    return {"axis": axis.name, "phase": phase, "sizes": sizes, "ms": list(ms.values()), "peak_bytes": memory}


def exponent(result: dict[str, Any]) -> float:
    """Of the upper half of the sizes, at least two."""
    medians = [statistics.median(values) for values in result["ms"]]
    half = max(2, -(-len(medians) // 2))
    return fit_exponent(result["sizes"][-half:], medians[-half:])


def table(record: dict[str, Any]) -> str:
    """The record as documents hold it."""
    rows = []
    for result in record["results"]:
        medians = [statistics.median(values) for values in result["ms"]]
        mebibytes = [value / 2**20 for value in result["peak_bytes"]]
        rows.append(
            (
                result["axis"], result["phase"], f"{result['sizes'][0]:,}", f"{result['sizes'][-1]:,}",
                f"{medians[0]:,.1f} to {medians[-1]:,.0f}", f"{exponent(result):.2f}",
                f"{mebibytes[0]:,.0f} to {mebibytes[-1]:,.0f}",
            )
        )  # fmt: skip
    return markdown_table(HEADINGS, rows)


def draw(record: dict[str, Any], path: Path) -> None:
    """Time against size, a panel per axis. Writes a PNG."""
    with new_picture(path, 10, 6) as figure:
        panels = figure.subplots(2, 3).flatten()
        for panel, axis in zip(panels, AXES, strict=True):
            for result in record["results"]:
                if result["axis"] == axis.name:
                    medians = [statistics.median(values) for values in result["ms"]]
                    label = f"{result['phase']}: exponent {exponent(result):.2f}"
                    panel.plot(result["sizes"], medians, "o-", label=label)
            panel.set(xscale="log", yscale="log", xlabel=axis.name, ylabel="ms of a processor")
            panel.legend(fontsize=8)
            panel.grid(alpha=0.3)


def written(page: str, record: Path = RESULTS / f"{NAME}.json") -> str:
    """The page with the table of the record."""
    return with_table(page, NAME, table(json.loads(record.read_text())))


def main(words: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--table", action="store_true", help="write the last record into the docs instead")
    options = parser.parse_args(words)
    if options.table:
        PAGE.write_text(written(PAGE.read_text()))
        draw(json.loads((RESULTS / f"{NAME}.json").read_text()), PICTURE)
        return
    torch.set_num_threads(1)
    load = os.getloadavg()[0]
    results = [measure(axis, phase, options.rounds) for axis in AXES for phase in ("training", "inference")]
    command = f"python -m lab.benchmarks.growth --rounds {options.rounds}"
    print(keep(NAME, {"command": command, "load": [load, os.getloadavg()[0]], "base": BASE, "results": results}))


if __name__ == "__main__":
    main()
