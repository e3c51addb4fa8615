"""Slices of the packed arrays as PyG objects."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch_geometric.data import Batch, Data

from policylearn.data.packed import Array, DataError, PackedGraphs
from policylearn.data.subset import check_indices, targets_are_per_node
from policylearn.data.tensors import features, has_columns, integers, make_tensors, targets


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

    What it holds, and in which shapes, is what `make_tensors` says; a graph may come twice.
    """
    found = make_tensors(graphs, indices)
    batch = Batch(_base_cls=data_class(graphs), **found.named)
    # What PyG's own collation leaves behind for `to_data_list` and `get_example`.
    batch._num_graphs = len(found.ptr) - 1
    batch._slice_dict = {name: found.slices[name] for name in found.fields}
    batch._inc_dict = dict(found.increments)
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
