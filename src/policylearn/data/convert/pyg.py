"""Any PyG dataset, or a list of ``Data``, into the packed form."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import torch
from torch_geometric.data import Data

from policylearn.data.convert.stacking import pack_arrays
from policylearn.data.packed import Array, DataError, PackedGraphs, smiles_bytes
from policylearn.settings import Level


def pack_pyg(dataset: Iterable[Any], *, level: Level | None = None, source: str = "the PyG data") -> PackedGraphs:
    """Pack the ``x``, ``edge_index``, ``edge_attr`` and ``y`` of every graph, and its ``smiles`` where all have one.

    Nothing else of a ``Data`` is kept. Integer features take the narrowest type that holds them, every other type
    stays; a missing ``x`` becomes a column of ones, a missing ``edge_attr`` zero columns, a ``y`` missing in all
    graphs a missing label (NaN) each.

    Args:
        dataset: anything that yields ``Data``.
        level: whether ``y`` belongs to graphs or nodes. None decides: to nodes where every graph has as many rows of
            ``y`` as nodes (and not one node only), else to graphs.
        source: names the data in errors.
    """
    graphs = list(dataset)
    if not graphs:
        raise DataError(f"{source}: holds no graphs; give at least one")
    for graph, data in enumerate(graphs):
        if not isinstance(data, Data):
            raise DataError(f"{source}: entry {graph} is a {type(data).__name__}; give torch_geometric.data.Data")
    edges = [edges_of(data, f"{source}: graph {graph}") for graph, data in enumerate(graphs)]
    nodes = [nodes_of(data, f"{source}: graph {graph}") for graph, data in enumerate(graphs)]
    counts = [pair.shape[1] for pair in edges]
    smiles = [data.get("smiles") for data in graphs]
    return pack_arrays(
        nodes,
        counts,
        np.concatenate(edges, axis=1),
        x=stack([array(data.x) for data in graphs], nodes, "x", source),
        edge_attr=stack([array(data.edge_attr) for data in graphs], counts, "edge_attr", source),
        y=stack_targets([array(data.y) for data in graphs], nodes, level, source),
        extras={"smiles": smiles_bytes(smiles)} if all(isinstance(text, str) for text in smiles) else None,
        source=source,
    )


def array(value: Any) -> Array | None:
    """A tensor (or a bare number) as numpy, None as None."""
    return None if value is None else torch.as_tensor(value).detach().cpu().numpy()


def edges_of(data: Data, place: str) -> Array:
    """The edges of one graph, ``(2, e)``."""
    pair = array(data.edge_index)
    if pair is None:
        if "adj_t" in data or "adj" in data:
            raise DataError(f"{place} has a sparse adjacency and no 'edge_index'; undo the ToSparseTensor transform")
        return np.empty((2, 0), dtype=np.int64)
    if pair.ndim != 2 or len(pair) != 2 or not np.issubdtype(pair.dtype, np.integer):
        raise DataError(f"{place} has an 'edge_index' of shape {pair.shape}; give integers, (2, E)")
    return pair


def nodes_of(data: Data, place: str) -> int:
    """How many nodes one graph has, told and not guessed from its edges."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            count = data.num_nodes
        except UserWarning:
            count = None
    if count is None:
        raise DataError(f"{place} has neither 'x' nor 'num_nodes'; set data.num_nodes")
    return int(count)


def stack(parts: Sequence[Array | None], rows: Sequence[int], name: str, source: str) -> Array | None:
    """Arrays of all graphs, one below the other, ``(sum(rows), ...)``; None where no graph has any.

    A graph without rows may lack the array.
    """
    first = next((graph for graph, part in enumerate(parts) if part is not None), None)
    if first is None:
        return None
    given = []
    for graph, (part, count) in enumerate(zip(parts, rows, strict=True)):
        if part is None:
            if count:
                raise DataError(f"{source}: graph {graph} has no '{name}', graph {first} has; give it to all or none")
            continue
        if part.ndim == 0 or len(part) != count:
            raise DataError(f"{source}: graph {graph}: '{name}' has shape {part.shape}; it needs {count} rows")
        given.append(part)
        if part.shape[1:] != given[0].shape[1:] or part.dtype != given[0].dtype:
            raise DataError(
                f"{source}: graph {graph}: '{name}' has shape {part.shape} and type {part.dtype}, graph {first} has"
                f" {given[0].shape} and {given[0].dtype}; give all graphs the same columns and type"
            )
    return np.concatenate(given)


def stack_targets(
    parts: Sequence[Array | None], nodes: Sequence[int], level: Level | None, source: str
) -> Array | None:
    """Targets of all graphs: a row per graph, or a row per node."""
    parts = [part.reshape(1) if part is not None and part.ndim == 0 else part for part in parts]
    if level is None:
        per_node = [0 if part is None else len(part) for part in parts] == list(nodes)
        level = "node" if per_node and any(count != 1 for count in nodes) else "graph"
    if level == "graph":
        if any(part is not None and part.ndim == 1 and len(part) != 1 for part in parts):
            parts = [part[None] if part is not None and part.ndim == 1 else part for part in parts]  # (K,): K targets
        nodes = [1] * len(parts)
    return stack(parts, nodes, "y", source)
