"""Slices of the packed arrays as PyG objects, without a Python loop over graphs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Batch, Data

from policylearn.data.packed import Array, DataError, PackedGraphs, as_table
from policylearn.data.subset import check_indices, gather, targets_are_per_node


class GraphData(Data):  # type: ignore[misc]
    """A graph with ids in its structures: PyG's own collation shifts them as `make_batch` does."""

    def __inc__(self, key: str, value: Any, *args: Any, **kwargs: Any) -> Any:
        known = self._store.__dict__.get("_points_to")
        if known is None:
            raise DataError(f"'{key}' of a graph that was taken out of a batch cannot be batched again; use make_batch")
        target = known.get(key)
        if target is None:
            return super().__inc__(key, value, *args, **kwargs)
        if target in ("node", "edge"):
            return self.num_nodes if target == "node" else self.num_edges
        return len(self[target])


def make_data(graphs: PackedGraphs, index: int) -> Data:
    """One graph as a PyG ``Data``, in the conventions of `make_batch`, without the ``_ptr`` of structures."""
    (row,) = check_indices(graphs, [index])
    nodes = slice(graphs.node_ptr[row], graphs.node_ptr[row + 1])
    edges = slice(graphs.edge_ptr[row], graphs.edge_ptr[row + 1])
    fields = {"x": features(graphs.x[nodes]), "edge_index": integers(graphs.edge_index[:, edges])}
    if has_columns(graphs.edge_attr):
        fields["edge_attr"] = features(graphs.edge_attr[edges])
    fields["y"] = targets(graphs.y[nodes] if targets_are_per_node(graphs) else graphs.y[row : row + 1])
    for name, structure in graphs.structures.items():
        pointer = structure.pointer(graphs.node_ptr, graphs.edge_ptr)
        rows = structure.values[pointer[row] : pointer[row + 1]]
        fields[name] = features(rows) if structure.points_to is None else integers(rows)
    data = data_class(graphs)(**fields)
    data._points_to = points_to(graphs)
    return data


def make_batch(graphs: PackedGraphs, indices: Array | Sequence[int]) -> Batch:
    """Several graphs as a PyG ``Batch``, equal to ``Batch.from_data_list`` over their `make_data`.

    Integer features become int64 and others float32, always with two axes; ``edge_attr`` is left out where the dataset
    has no edge features. So do structures, each an attribute of its own name; one that points to something keeps its
    axes and holds ids in the batch. Where the rows of a structure are neither nodes, edges nor graphs, ``<name>_ptr``
    says where each graph's rows start.

    Args:
        graphs: where to take them from.
        indices: which, in which order; a graph may come twice.

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
    batch = Batch(_base_cls=data_class(graphs), **fields, **pointers, batch=membership, ptr=node_slices)
    # What PyG's own collation leaves behind for `to_data_list` and `get_example`.
    batch._num_graphs = len(rows)
    batch._slice_dict = {name: slices[name] for name in fields}
    batch._inc_dict = increments
    return batch


def add_index(batch: Batch, rows: Array) -> Batch:
    """The batch of `make_batch` with ``index`` (G,): the positions of its graphs in the packed graphs."""
    batch.index = torch.from_numpy(rows)
    batch._slice_dict["index"] = torch.arange(len(rows) + 1)
    batch._inc_dict["index"] = torch.zeros(len(rows), dtype=torch.int64)
    return batch


def points_to(graphs: PackedGraphs) -> dict[str, str]:
    """Which structures hold ids, and of what."""
    return {name: item.points_to for name, item in graphs.structures.items() if item.points_to is not None}


def data_class(graphs: PackedGraphs) -> type[Data]:
    """PyG's own class, unless there are ids that it would not shift."""
    return GraphData if points_to(graphs) else Data


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
    """Class ids (a flat list of integers) as int64 ``(R,)``, anything else as float32 ``(R, K)``."""
    if values.ndim == 1 and np.issubdtype(values.dtype, np.integer):
        return integers(values)
    return torch.from_numpy(as_table(values).astype(np.float32))
