"""How much memory a training step takes, estimated from a few graphs before the first one, and what is free."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import psutil
import torch
from torch import Tensor, nn

from policylearn.data import BatchLoader, Dataset, PackedGraphs, Split
from policylearn.data.packed import Array
from policylearn.models import GraphModel, chosen_system
from policylearn.settings.notes import RunNote
from policylearn.settings.run_config import RunConfig
from policylearn.settings.run_files import RunError

GIGABYTE = 1e9
PROBE_ROWS = 20_000
"""Rows, one per node and copy, of the graphs that are tried."""
PROBE_GRAPHS = 16
WEIGHT_COPIES = 4
"""Weights, gradients, and the two moments of Adam."""
VALUES_PER_LAYER = 60
"""Numbers per row and channel that a layer keeps at the very most, both networks together."""
SURELY_FREE = 0.1
"""Where even that many would take no more than this share of what is free, no graph is tried."""
MANY_NODES = 1000
"""A model with as many copies of a graph of so many nodes holds a full bag."""
BYTES = 4
"""Of a number in single precision."""
GROUP = Path("/sys/fs/cgroup")


def check_memory(config: RunConfig, dataset: Dataset, split: Split, make_model: Callable[[], nn.Module]) -> None:
    """Raise a `RunError` where a training step is estimated to take more memory than is free.

    Args:
        config: the run.
        dataset: with the structures that the model reads.
        split: whose training graphs are looked at.
        make_model: makes a model to try a few graphs with.
    """
    free = free_bytes()
    if upper_bound(config, dataset, split) < SURELY_FREE * free:
        return
    with torch.random.fork_rng(devices=[]), warnings.catch_warnings():
        warnings.simplefilter("ignore", RunNote)  # the model that is trained says it again
        needed = estimate_bytes(config, dataset, split, make_model())
    if needed > free:
        system, settings = chosen_system(config)
        raise RunError(
            f"a training step of {config.fit.batch_size} graphs with {system.label_of(settings)} takes about"
            f" {needed / GIGABYTE:.2g} GB, and {free / GIGABYTE:.2g} GB are free; lower --fit.batch_size, the number of"
            " picks, channels or layers, or say --fit.check_memory false if you know better"
        )


def estimate_bytes(config: RunConfig, dataset: Dataset, split: Split, model: nn.Module) -> float:
    """Bytes of a step: what a few graphs keep per row, times the rows of a large batch."""
    rows = rows_of_graphs(config, dataset.graphs.num_nodes[split.train])
    tried = probe_graphs(rows)
    kept = kept_bytes(model, dataset, split.train[tried])
    weights = sum(weight.numel() * weight.element_size() for weight in model.parameters())
    # On the way back, gradients take the place of what was kept and is given up again.
    step = kept / float(rows[tried].sum()) * rows_of_batch(config, rows)
    return (step + WEIGHT_COPIES * weights) * (2 if config.fit.precision == "64-true" else 1)


def upper_bound(config: RunConfig, dataset: Dataset, split: Split) -> float:
    """Bytes that a step surely does not take, from the number of its rows alone."""
    rows = rows_of_graphs(config, dataset.graphs.num_nodes[split.train])
    settings = chosen_system(config)[1]
    network = getattr(settings, "prediction", settings)
    width = getattr(network, "channels", 300) * (getattr(network, "layers", 10) + 1)
    return 8.0 * VALUES_PER_LAYER * float(width) * rows_of_batch(config, rows)


def rows_of_batch(config: RunConfig, rows: Array) -> float:
    """Rows of a batch of usual graphs, as large as one in a thousand is by chance; the largest graph at least."""
    size = min(config.fit.batch_size, len(rows))
    return max(float(rows.mean()) * size + 3 * float(rows.std()) * math.sqrt(size), float(rows.max()))


def rows_of_graphs(config: RunConfig, nodes: Array) -> Array:
    """Rows of each graph: its nodes, once per copy.

    Args:
        config: says how many copies there are.
        nodes: of each graph, ``(G,)``.
    """
    system, settings = chosen_system(config)
    copies = {int(size): system.copies(settings, int(size)) for size in np.unique(nodes)}
    return np.array([size * copies[size] for size in nodes.tolist()], dtype=np.float64)


def probe_graphs(rows: Array) -> Array:
    """Which graphs are tried: those of usual size, as many as keep the trial small; one at least.

    Shapes:
        rows ``(G,)``; the result holds positions.
    """
    order = np.argsort(np.abs(rows - np.median(rows)), kind="stable")[:PROBE_GRAPHS]
    order = order[np.argsort(rows[order], kind="stable")]
    count = max(1, int((np.cumsum(rows[order]) <= PROBE_ROWS).sum()))
    if len(rows) and rows[order[0]] > PROBE_ROWS:
        order = np.array([int(rows.argmin())])
    return np.sort(order[:count])


def kept_bytes(model: nn.Module, dataset: Dataset, graphs: Array) -> int:
    """Bytes that a step on these graphs keeps for its way back."""
    (batch,) = BatchLoader(dataset.graphs, graphs, batch_size=len(graphs))
    sizes: dict[int, int] = {}

    def keep(value: Tensor) -> Tensor:
        storage = value.untyped_storage()
        sizes[storage.data_ptr()] = storage.nbytes()
        return value

    step_model: GraphModel = model  # type: ignore[assignment]
    held: Sequence[object]
    with torch.random.fork_rng(devices=[]), torch.autograd.graph.saved_tensors_hooks(keep, lambda value: value):
        model.train()
        held = [step_model.objective(batch, batch.y, dataset.task.loss_terms)]  # a freed place would be counted twice
    del held
    own = {weight.untyped_storage().data_ptr() for weight in model.parameters()}
    return sum(size for place, size in sizes.items() if place not in own)


def free_bytes() -> float:
    """Memory that this process can still take: of the machine, and of the group that it is held to."""
    free = float(psutil.virtual_memory().available)
    try:
        limit, used, stat = (
            (GROUP / name).read_text(encoding="utf-8") for name in ("memory.max", "memory.current", "memory.stat")
        )
    except OSError:
        return free
    if limit.strip() == "max":
        return free
    figures = dict(line.split() for line in stat.splitlines())
    files = float(figures.get("inactive_file", 0))  # which the system gives up as soon as it is asked to
    return min(free, float(limit) - float(used) + files)


def memory_note(config: RunConfig, graphs: PackedGraphs) -> str:
    """What a step of a full bag holds, in words; empty for models that hold few copies of a graph."""
    system, settings = chosen_system(config)
    most = getattr(settings, "max_rows", None)
    if most is None or system.copies(settings, MANY_NODES) < MANY_NODES:
        return system.note
    rows = np.sort(rows_of_graphs(config, graphs.num_nodes))[::-1]
    size = min(config.fit.batch_size, len(rows))
    usual, worst, width = round(float(rows.mean()) * size), int(rows[:size].sum()), getattr(settings, "channels", None)
    megabytes = f", about {usual * width * BYTES / 1e6:,.0f} MB per layer" if isinstance(width, int) else ""
    text = (
        f"a batch of {size} graphs has about {usual:,} pairs of nodes{megabytes}, at worst {worst:,}"
        f" (max_rows is {most:,}); for less, lower --fit.batch_size, or take a policy with few picks"
    )
    return f"{system.note}; {text}" if system.note else text
