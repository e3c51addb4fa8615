"""Slices of the packed arrays as tensors, without a Python loop over graphs and without PyG, slow to import."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from policylearn.data.packed import Array, PackedGraphs, as_table
from policylearn.data.subset import check_indices, gather, targets_are_per_node


@dataclass(frozen=True)
class GraphTensors:
    """Some graphs side by side, and what it takes to cut them apart again.

    Args:
        fields: features, edges, targets and structures, by their names in a PyG ``Batch``.
        pointers: where each graph's rows of a structure start, as ``<name>_ptr``.
        batch: the graph of each node.
        ptr: where the nodes of each graph start.
        slices: where each graph's rows of a field start.
        increments: what was added to each graph's ids of a field.

    Shapes:
        batch ``(N,)``, ptr, pointers and slices ``(G + 1,)``, increments ``(G,)``; fields as `make_tensors` says.
    """

    fields: Mapping[str, Tensor]
    pointers: Mapping[str, Tensor]
    batch: Tensor
    ptr: Tensor
    slices: Mapping[str, Tensor]
    increments: Mapping[str, Tensor]

    @property
    def named(self) -> dict[str, Tensor]:
        """All that a network reads, by name."""
        return {**self.fields, **self.pointers, "batch": self.batch, "ptr": self.ptr}


def make_tensors(graphs: PackedGraphs, indices: Array | Sequence[int]) -> GraphTensors:
    """Several graphs as tensors.

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
    shift = ptr[:-1]

    edge_index = np.empty((2, len(edge_rows)), dtype=np.int64)
    offset = np.repeat(shift, np.diff(edge_ptr))
    for end in range(2):  # local ids -> ids in the batch
        np.add(graphs.edge_index[end].take(edge_rows), offset, out=edge_index[end])

    per_node = targets_are_per_node(graphs)
    fields = {"x": features(graphs.x.take(node_rows, axis=0)), "edge_index": torch.from_numpy(edge_index)}
    if has_columns(graphs.edge_attr):
        fields["edge_attr"] = features(graphs.edge_attr.take(edge_rows, axis=0))
    fields["y"] = targets(graphs.y.take(node_rows if per_node else rows, axis=0))

    node_slices, edge_slices = torch.from_numpy(ptr), torch.from_numpy(edge_ptr)
    graph_slices = torch.arange(len(rows) + 1)
    slices = {"x": node_slices, "edge_index": edge_slices, "edge_attr": edge_slices}
    slices["y"] = node_slices if per_node else graph_slices
    nothing = torch.zeros(len(rows), dtype=torch.int64)
    increments = dict.fromkeys(fields, nothing) | {"edge_index": node_slices[:-1]}

    # Rows of every level and structure, then their values: one may point to another that comes after it.
    where = {"node": (node_rows, ptr), "edge": (edge_rows, edge_ptr), "graph": (rows, graph_slices.numpy())}
    for name, structure in graphs.structures.items():
        where[name] = where[structure.ptr] if isinstance(structure.ptr, str) else gather(structure.ptr, rows)
    pointers = {}
    for name, structure in graphs.structures.items():
        chosen, starts = where[name]
        values = structure.values.take(chosen, axis=0)
        slices[name], increments[name] = torch.from_numpy(starts), nothing
        if structure.points_to is None:
            fields[name] = features(values)
        else:
            first = where[structure.points_to][1][:-1]
            offset = np.repeat(first, np.diff(starts)).reshape(-1, *[1] * (values.ndim - 1))
            fields[name] = torch.from_numpy(values.astype(np.int64) + offset)
            increments[name] = torch.from_numpy(first)
        if not isinstance(structure.ptr, str):
            pointers[f"{name}_ptr"] = slices[name]

    membership = torch.from_numpy(np.repeat(np.arange(len(rows)), np.diff(ptr)))
    return GraphTensors(fields, pointers, membership, node_slices, slices, increments)


def has_columns(values: Array) -> bool:
    """Whether there are features at all."""
    return values.ndim == 1 or values.shape[1] > 0


def integers(values: Array) -> Tensor:
    """Ids as PyG wants them, whatever narrow type they are stored in."""
    return torch.from_numpy(values.astype(np.int64))


def features(values: Array) -> Tensor:
    """Features as the network sees them, ``(rows,)`` or ``(rows, F)`` -> ``(rows, F)``: int64 or float32."""
    table = as_table(values)
    whole = np.issubdtype(table.dtype, np.integer)
    return integers(table) if whole else torch.from_numpy(table.astype(np.float32))


def targets(values: Array) -> Tensor:
    """Class ids (a flat list of integers) as int64 ``(R,)``, anything else as floating point ``(R, K)``."""
    if values.ndim == 1 and np.issubdtype(values.dtype, np.integer):
        return integers(values)
    table = as_table(values)
    return torch.from_numpy(table.astype(np.float64 if table.dtype == np.float64 else np.float32))
