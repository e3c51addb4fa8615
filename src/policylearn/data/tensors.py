"""Slices of the packed arrays as tensors, without a Python loop over graphs and without PyG, slow to import."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from policylearn.data.packed import Array, PackedGraphs, as_table
from policylearn.data.subset import check_indices, gather, targets_are_per_node


def make_tensors(graphs: PackedGraphs, indices: Array | Sequence[int]) -> dict[str, Tensor]:
    """Several graphs side by side as tensors, by their names in a PyG ``Batch``.

    Integer features become int64 and others float32, always with two axes; ``edge_attr`` is left out where the dataset
    has no edge features. So do structures, each an attribute of its own name; one that points to something keeps its
    axes and holds ids in the batch. Where the rows of a structure are neither nodes, edges nor graphs, ``<name>_ptr``
    says where each graph's rows start. A graph may come twice.

    Shapes:
        x ``(N, F)``, edge_index ``(2, E)``, edge_attr ``(E, D)``, batch ``(N,)``, ptr ``(G + 1,)``; y ``(G, K)``
        float32 for numbers or ``(G,)`` int64 for class ids (node-level: N rows); structures ``(R, F)`` or ``(R,)``
        with pointers ``(G + 1,)``.
    """
    rows = check_indices(graphs, indices)
    node_rows, ptr = gather(graphs.node_ptr, rows)
    edge_rows, edge_ptr = gather(graphs.edge_ptr, rows)
    edge_index = graphs.edge_index.take(edge_rows, axis=1) + np.repeat(ptr[:-1], np.diff(edge_ptr))
    fields = {"x": features(graphs.x.take(node_rows, axis=0)), "edge_index": torch.from_numpy(edge_index)}
    if graphs.edge_attr.ndim == 1 or graphs.edge_attr.shape[1]:
        fields["edge_attr"] = features(graphs.edge_attr.take(edge_rows, axis=0))
    fields["y"] = targets(graphs.y.take(node_rows if targets_are_per_node(graphs) else rows, axis=0))

    # Rows of every level and structure, then their values: one may point to another that comes after it.
    where = {"node": (node_rows, ptr), "edge": (edge_rows, edge_ptr), "graph": (rows, np.arange(len(rows) + 1))}
    for name, structure in graphs.structures.items():
        where[name] = where[structure.ptr] if isinstance(structure.ptr, str) else gather(structure.ptr, rows)
    for name, structure in graphs.structures.items():
        chosen, starts = where[name]
        values = structure.values.take(chosen, axis=0)
        if structure.points_to is None:
            fields[name] = features(values)
        else:
            first = where[structure.points_to][1][:-1]
            offset = np.repeat(first, np.diff(starts)).reshape(-1, *[1] * (values.ndim - 1))
            fields[name] = torch.from_numpy(values.astype(np.int64) + offset)
        if not isinstance(structure.ptr, str):
            fields[f"{name}_ptr"] = torch.from_numpy(starts)
    fields["batch"] = torch.from_numpy(np.repeat(np.arange(len(rows)), np.diff(ptr)))
    fields["ptr"] = torch.from_numpy(ptr)
    return fields


def features(values: Array) -> Tensor:
    """Features as the network sees them, ``(rows,)`` or ``(rows, F)`` -> ``(rows, F)``: int64 or float32."""
    table = as_table(values)
    return torch.from_numpy(table.astype(np.int64 if np.issubdtype(table.dtype, np.integer) else np.float32))


def targets(values: Array) -> Tensor:
    """Class ids (a flat list of integers) as int64 ``(R,)``, anything else as floating point ``(R, K)``."""
    if values.ndim == 1 and np.issubdtype(values.dtype, np.integer):
        return torch.from_numpy(values.astype(np.int64))
    table = as_table(values)
    return torch.from_numpy(table.astype(np.float64 if table.dtype == np.float64 else np.float32))
