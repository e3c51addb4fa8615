"""From what a user hands in for prediction to packed graphs, checked against what the model knows."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import numpy as np

from policylearn.data import DataError, PackedGraphs
from policylearn.data.convert.stacking import pack_arrays
from policylearn.data.packed import Array, as_table
from policylearn.data.preparation import prepare_molecules
from policylearn.nn import Features

if TYPE_CHECKING:
    from torch_geometric.data import Batch, Data

Items: TypeAlias = "str | Data | Batch | PackedGraphs | Iterable[str] | Iterable[Data]"
"""One SMILES or many, a PyG ``Data`` or many, a PyG ``Batch``, or packed graphs."""


def pack_items(items: Items, *, molecules: bool, parents: bool = False) -> PackedGraphs | None:
    """Packed graphs of whatever was handed in, in its order; None where that is nothing.

    ``molecules`` says whether the model knows SMILES; for ``parents`` see `prepare_molecules`.
    """
    if isinstance(items, PackedGraphs):
        return items if len(items) else None
    if is_pyg(items, "Batch"):
        return unbatch(items)
    one = isinstance(items, str) or is_pyg(items, "Data")
    listed: list[Any] = [items] if one else list(cast(Iterable[Any], items))
    if not listed:
        return None
    texts = isinstance(listed[0], str)
    for position, item in enumerate(listed):
        fits = isinstance(item, str) if texts else is_pyg(item, "Data") and not is_pyg(item, "Batch")
        if not fits:
            raise DataError(
                f"entry {position} is a {type(item).__name__} ({str(item)[:40]!r});"
                " give SMILES alone, or torch_geometric.data.Data alone"
            )
    if not texts:
        from policylearn.data import pack_pyg

        return pack_pyg([without_targets(data) for data in listed], source="the input")
    if not molecules:
        raise DataError(
            "this run was trained on graphs and does not know how its features were made from molecules;"
            " give torch_geometric.data.Data with the same features"
        )
    found = prepare_molecules([text.strip() for text in listed], (), parents)
    for position, reason in found.problems.items():
        raise DataError(f"molecule {position}: {reason}")
    assert found.graphs is not None, "there is a molecule, and none has a problem"
    return found.graphs


def is_pyg(item: Any, name: str) -> bool:
    """Whether something is of that class of PyG; nothing is before PyG was imported, which takes two seconds."""
    module = sys.modules.get("torch_geometric.data")
    return module is not None and isinstance(item, getattr(module, name))


def without_targets(data: Data) -> Data:
    """A graph's structure and features alone: what else it carries may differ from graph to graph."""
    from torch_geometric.data import Data  # there already, as something is of it; a class made from it may want more

    kept = {key: data[key] for key in ("x", "edge_index", "edge_attr", "num_nodes") if key in data}
    return Data(**kept)


def unbatch(batch: Batch) -> PackedGraphs | None:
    """The graphs of a PyG ``Batch``, whether PyG collated it or somebody put it together by hand."""
    if batch.edge_index is None:
        raise DataError("the batch has no 'edge_index'; give an empty one of shape (2, 0) for graphs without edges")
    nodes = int(batch.num_nodes)
    owner = np.zeros(nodes, dtype=np.int64) if batch.batch is None else batch.batch.cpu().numpy()
    if len(owner) != nodes or (np.diff(owner) < 0).any():
        raise DataError("'batch' must give each node's graph, in rising order; sort the nodes by graph")
    count = len(batch.ptr) - 1 if batch.get("ptr") is not None else (int(owner.max()) + 1 if nodes else 0)
    if count == 0:
        return None
    node_ptr = np.searchsorted(owner, np.arange(count + 1))
    edge_index = batch.edge_index.cpu().numpy()
    if edge_index.size and not 0 <= edge_index.min() <= edge_index.max() < nodes:
        raise DataError(f"'edge_index' must hold node ids from 0 to {nodes - 1}; count them through the whole batch")
    of_edge = owner[edge_index[0]]
    order = np.argsort(of_edge, kind="stable")
    return pack_arrays(
        np.diff(node_ptr),
        np.bincount(of_edge, minlength=count),
        (edge_index - node_ptr[of_edge])[:, order],
        x=None if batch.x is None else batch.x.detach().cpu().numpy(),
        edge_attr=None if batch.edge_attr is None else batch.edge_attr.cpu().numpy()[order],
        y=None,
        source="the batch",
    )


def find_misfits(graphs: PackedGraphs, node_features: Features, edge_features: Features) -> dict[int, str]:
    """Why graphs cannot be predicted on, by their position; the features are those that the model expects."""
    found = _unknown(graphs.edge_attr, graphs.edge_ptr, edge_features, "edge_attr")
    found |= _unknown(graphs.x, graphs.node_ptr, node_features, "x")
    return found | {int(graph): "the graph has no nodes" for graph in np.flatnonzero(graphs.num_nodes == 0)}


def _unknown(values: Array, pointer: Array, features: Features, name: str) -> dict[int, str]:
    if not features.present or not len(values):
        return {}
    table = as_table(values)
    wanted = len(features.categorical) or features.real
    if table.shape[1] != wanted:
        raise DataError(f"'{name}' of the input has {table.shape[1]} columns; it needs the {wanted} of the training")
    if not features.categorical:
        return {}
    if np.issubdtype(table.dtype, np.floating):
        raise DataError(f"'{name}' of the input holds {table.dtype}, the model reads category ids; store integers")
    sizes = np.array(features.categorical)
    wrong = np.argwhere((table < 0) | (table >= sizes))[::-1]  # the first one of a graph is written last and stays
    owners = np.searchsorted(pointer, wrong[:, 0], side="right") - 1
    return {
        int(graph): f"'{name}' column {column} holds category {table[row, column]}, but the model knows 0 to"
        f" {sizes[column] - 1}; the input must be encoded as the training data was"
        for graph, (row, column) in zip(owners, wrong, strict=True)
    }
