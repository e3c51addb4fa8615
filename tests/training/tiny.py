"""A run small enough for tests: random molecules, a tiny network."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from policylearn.data import PackedGraphs
from policylearn.settings import RunConfig, changed
from tests.molecule_graphs import molecule_like


def write_graphs(path: Path, count: int = 60, *, seed: int = 0, node_level: bool = False) -> Path:
    """Molecule-like graphs whose target is the number of edges per node (node level: each node's degree)."""
    graphs = molecule_like(count, np.random.default_rng(seed), mean_nodes=9)
    if node_level:
        degree = np.zeros(len(graphs.x), dtype=np.float32)
        first = np.repeat(graphs.node_ptr[:-1], graphs.num_edges)
        np.add.at(degree, graphs.edge_index[1] + first, 1)
        y = degree[:, None]
    else:
        y = (graphs.num_edges / graphs.num_nodes).astype(np.float32)[:, None]
    order = np.random.default_rng(seed).permutation(count)
    cut, end = int(count * 0.6), int(count * 0.8)
    extras = {"train": order[:cut], "valid": order[cut:end], "test": order[end:]}
    arrays = (graphs.x, graphs.edge_index, graphs.edge_attr, graphs.node_ptr, graphs.edge_ptr)
    PackedGraphs(*arrays, y, extras).validate().save(path)
    return path


OF_POLICY = {"learned": {"picks": 2, "node_dropout": 0.3}, "full": {}, "none": {}}


def tiny_config(path: Path | str, **changes: dict) -> RunConfig:
    """A run of a few steps; changes are laid over its settings, group by group."""
    policy = changes.get("selection", {}).get("name", "learned")
    base = {
        "data": {"name": str(path)},
        "prediction": {"channels": 8, "layers": 2, "dropout": 0.1},
        "selection": OF_POLICY.get(policy, {"picks": 2}),
        "fit": {"epochs": 6, "batch_size": 12, "threads": 1, "checkpoint_seconds": 0.0},
    }
    if changes.get("model", "policy-learn") != "policy-learn":
        del base["prediction"], base["selection"]
    for part, values in changes.items():
        base[part] = base.get(part, {}) | values if isinstance(values, dict) else values
    return changed(RunConfig(), base)
