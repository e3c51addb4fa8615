"""Slices of the packed arrays as PyG objects."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torch_geometric.data import Batch, Data

from policylearn.data.packed import Array, PackedGraphs
from policylearn.data.tensors import make_tensors


class GraphData(Data):  # type: ignore[misc]
    """A graph with ids in its structures: PyG's own collation shifts them as `make_batch` does."""

    def __inc__(self, key: str, value: Any, *args: Any, **kwargs: Any) -> Any:
        target = self._points_to.get(key)
        if target is None:
            return super().__inc__(key, value, *args, **kwargs)
        if target in ("node", "edge"):
            return self.num_nodes if target == "node" else self.num_edges
        return len(self[target])


def make_data(graphs: PackedGraphs, index: int) -> Data:
    """One graph as a PyG ``Data``, in the conventions of `make_batch`, without ``batch`` and pointers."""
    ids = {name: item.points_to for name, item in graphs.structures.items() if item.points_to is not None}
    pointers = ["batch", "ptr", *(f"{name}_ptr" for name in graphs.structures)]
    fields = {name: values for name, values in make_tensors(graphs, [index]).items() if name not in pointers}
    if not ids:
        return Data(**fields)
    data = GraphData(**fields)
    data._points_to = ids
    return data


def make_batch(graphs: PackedGraphs, indices: Array | Sequence[int]) -> Batch:
    """Several graphs as a PyG ``Batch`` with the fields of ``Batch.from_data_list`` over their `make_data`.

    What it holds, and in which shapes, is what `make_tensors` says; a graph may come twice. `make_data` gives single
    graphs; PyG's ``to_data_list`` knows only batches that PyG has put together.
    """
    return Batch(**make_tensors(graphs, indices))
