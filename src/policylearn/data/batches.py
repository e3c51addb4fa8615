"""Slices of the packed arrays as PyG objects, without a Python loop over graphs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Batch, Data

from policylearn.data.packed import Array, PackedGraphs, as_table
from policylearn.data.subset import check_indices, gather, targets_are_per_node


def make_data(graphs: PackedGraphs, index: int) -> Data:
    """One graph as a PyG ``Data``, in the conventions of `make_batch`."""
    (row,) = check_indices(graphs, [index])
    nodes = slice(graphs.node_ptr[row], graphs.node_ptr[row + 1])
    edges = slice(graphs.edge_ptr[row], graphs.edge_ptr[row + 1])
    fields = {"x": features(graphs.x[nodes]), "edge_index": integers(graphs.edge_index[:, edges])}
    if has_columns(graphs.edge_attr):
        fields["edge_attr"] = features(graphs.edge_attr[edges])
    fields["y"] = targets(graphs.y[nodes] if targets_are_per_node(graphs) else graphs.y[row : row + 1])
    return Data(**fields)


def make_batch(graphs: PackedGraphs, indices: Array | Sequence[int]) -> Batch:
    """Several graphs as a PyG ``Batch``, equal to ``Batch.from_data_list`` over their `make_data`.

    Integer features become int64 and others float32, always with two axes; ``edge_attr`` is left out where the dataset
    has no edge features.

    Args:
        graphs: where to take them from.
        indices: which, in which order; a graph may come twice.

    Shapes:
        x ``(N, F)``, edge_index ``(2, E)``, edge_attr ``(E, D)``, batch ``(N,)``, ptr ``(G + 1,)``; y ``(G, K)``
        float32 for numbers or ``(G,)`` int64 for class ids (node-level: N rows).
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

    membership = torch.from_numpy(np.repeat(np.arange(len(rows)), np.diff(ptr)))
    batch = Batch(_base_cls=Data, **fields, batch=membership, ptr=node_slices)
    # What PyG's own collation leaves behind for `to_data_list` and `get_example`.
    batch._num_graphs = len(rows)
    batch._slice_dict = {name: slices[name] for name in fields}
    batch._inc_dict = increments
    return batch


def has_columns(values: Array) -> bool:
    """Whether there are features at all."""
    return values.ndim == 1 or values.shape[1] > 0


def integers(values: Array) -> Tensor:
    """Ids as PyG wants them, whatever narrow type they are stored in."""
    return torch.from_numpy(values.astype(np.int64))


def features(values: Array) -> Tensor:
    """Node or edge features as the network sees them, ``(rows,)`` or ``(rows, F)`` -> ``(rows, F)``."""
    table = as_table(values)
    whole = np.issubdtype(table.dtype, np.integer)
    return integers(table) if whole else torch.from_numpy(table.astype(np.float32))


def targets(values: Array) -> Tensor:
    """Class ids (a flat list of integers) as int64 ``(R,)``, anything else as float32 ``(R, K)``."""
    if values.ndim == 1 and np.issubdtype(values.dtype, np.integer):
        return integers(values)
    return torch.from_numpy(as_table(values).astype(np.float32))
