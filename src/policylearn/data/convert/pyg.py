"""Any PyG dataset, or a list of ``Data``, into the packed form."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import Any

import numpy as np
import torch
from torch_geometric.data import Data

from policylearn.data.convert.stacking import compact, constant_column, pointer
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
            raise DataError(
                f"{source}: entry {graph} is a {type(data).__name__}; give torch_geometric.data.Data objects"
            )
    edges = [edges_of(data, f"{source}: graph {graph}") for graph, data in enumerate(graphs)]
    nodes = [nodes_of(data, f"{source}: graph {graph}") for graph, data in enumerate(graphs)]
    x = stack_features([array(data.x) for data in graphs], nodes, "x", source)
    counts = [pair.shape[1] for pair in edges]
    edge_attr = stack_features([array(data.edge_attr) for data in graphs], counts, "edge_attr", source)
    smiles = [data.get("smiles") for data in graphs]
    return PackedGraphs(
        x=constant_column(sum(nodes)) if x is None else compact(x),
        edge_index=compact(np.concatenate(edges, axis=1), np.int16),
        edge_attr=np.empty((sum(counts), 0), dtype=np.uint8) if edge_attr is None else compact(edge_attr),
        node_ptr=pointer(nodes),
        edge_ptr=pointer(counts),
        y=stack_targets([array(data.y) for data in graphs], nodes, level, source),
        extras={"smiles": smiles_bytes(smiles)} if all(isinstance(text, str) for text in smiles) else {},
    ).validate(source)


def array(value: Any) -> Array | None:
    """A tensor (or a bare number) as numpy, None as None."""
    return None if value is None else torch.as_tensor(value).detach().cpu().numpy()


def edges_of(data: Data, place: str) -> Array:
    """The edges of one graph, ``(2, e)``."""
    if data.edge_index is None:
        if "adj_t" in data or "adj" in data:
            raise DataError(f"{place} has a sparse adjacency and no 'edge_index'; undo the ToSparseTensor transform")
        return np.empty((2, 0), dtype=np.int64)
    pair = array(data.edge_index)
    if pair is None or pair.ndim != 2 or len(pair) != 2 or not np.issubdtype(pair.dtype, np.integer):
        raise DataError(f"{place} has an 'edge_index' of shape {tuple(data.edge_index.shape)}; give integers, (2, E)")
    return pair


def nodes_of(data: Data, place: str) -> int:
    """How many nodes one graph has, told and not guessed from its edges."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            count = data.num_nodes
        except UserWarning as warning:
            raise DataError(f"{place} has neither 'x' nor 'num_nodes'; set data.num_nodes") from warning
    if count is None:
        raise DataError(f"{place} has neither 'x' nor 'num_nodes'; set data.num_nodes")
    return int(count)


def stack_features(parts: list[Array | None], rows: list[int], name: str, source: str) -> Array | None:
    """Features of all graphs, one below the other; None where no graph has any."""
    first = next((graph for graph, part in enumerate(parts) if part is not None), None)
    if first is None:
        return None
    given: list[Array] = []
    owners: list[int] = []
    for graph, (part, count) in enumerate(zip(parts, rows, strict=True)):
        if part is None and count:
            raise DataError(
                f"{source}: graph {graph} has no '{name}', graph {first} has; give it to all graphs or to none"
            )
        if part is not None:  # a graph without rows may lack the array
            given.append(part)
            owners.append(graph)
    return stack_rows(given, [rows[graph] for graph in owners], owners, name, source)


def stack_rows(parts: list[Array], rows: list[int], owners: list[int], name: str, source: str) -> Array:
    """Arrays of the same columns and type, one below the other, ``(sum(rows), ...)``."""
    model = parts[0]
    for part, count, graph in zip(parts, rows, owners, strict=True):
        if part.ndim == 0 or len(part) != count:
            raise DataError(
                f"{source}: graph {graph}: '{name}' has shape {part.shape} where {count} rows belong; give one row each"
            )
        if part.shape[1:] != model.shape[1:] or part.dtype != model.dtype:
            raise DataError(
                f"{source}: graph {graph}: '{name}' has shape {part.shape} and type {part.dtype}, graph {owners[0]} has"
                f" {model.shape} and {model.dtype}; give all graphs the same columns and type"
            )
    return np.concatenate(parts)


def stack_targets(parts: list[Array | None], nodes: list[int], level: Level | None, source: str) -> Array:
    """Targets of all graphs: a row per graph, or a row per node."""
    known = [part for part in parts if part is not None]
    if not known:
        return np.full((len(parts), 1), np.nan, dtype=np.float32)
    if len(known) < len(parts):
        lacking = next(graph for graph, part in enumerate(parts) if part is None)
        raise DataError(f"{source}: graph {lacking} has no 'y', others have; give it NaN, or leave the graph out")
    if level is None:
        lengths = [part.shape[0] if part.ndim else 1 for part in known]
        level = "node" if lengths == nodes and any(count != 1 for count in nodes) else "graph"
    owners = list(range(len(known)))
    if level == "node":
        return stack_rows(known, nodes, owners, "y", source)
    if any(part.ndim == 1 and len(part) != 1 for part in known):
        known = [part[None] if part.ndim == 1 else part for part in known]  # (K,) is one graph's K targets
    return stack_rows(
        [part.reshape(1) if part.ndim == 0 else part for part in known], [1] * len(known), owners, "y", source
    )
