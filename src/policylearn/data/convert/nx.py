"""A list of networkx graphs into the packed form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import networkx as nx
import numpy as np

from policylearn.data.convert.stacking import compact, constant_column, pointer, single_precision
from policylearn.data.packed import Array, DataError, PackedGraphs
from policylearn.settings import Level


def pack_networkx(
    graphs: Sequence[nx.Graph],
    *,
    node_features: Sequence[str] = (),
    edge_features: Sequence[str] = (),
    targets: str | Sequence[str] | Array | Sequence[Any] | None = None,
    level: Level = "graph",
    source: str = "the networkx graphs",
) -> PackedGraphs:
    """Pack networkx graphs: nodes in their own order, an undirected edge as there and back, one after the other.

    Features are numbers, or lists of numbers, that become neighbouring columns. Whole numbers stay integers, others
    become float32. Without features nodes get a column of ones. Directed edges, parallel edges and self loops are
    packed as they are (an undirected self loop once).

    Args:
        graphs: any networkx graphs.
        node_features: names of the node attributes to take, in this order.
        edge_features: names of the edge attributes to take, in this order.
        targets: names of graph attributes (``level="node"``: of node attributes), or the targets themselves, a row a
            graph (or a node). None leaves one missing label (NaN) a graph.
        level: whether a target belongs to a graph or to a node.
        source: names the graphs in errors.
    """
    if not len(graphs):
        raise DataError(f"{source}: there are no graphs; give at least one")
    nodes: list[int] = []
    counts: list[int] = []
    ends: list[tuple[int, int]] = []
    node_rows: list[list[float]] = []
    edge_rows: list[list[float]] = []
    target_rows: list[list[float]] = []
    names = target_names(targets)
    for number, graph in enumerate(graphs):
        place = f"{source}: graph {number}"
        if not isinstance(graph, nx.Graph):
            raise DataError(f"{place} is a {type(graph).__name__}; give networkx graphs")
        ids = {node: position for position, node in enumerate(graph)}
        before = len(ends)
        for node, attributes in graph.nodes(data=True):
            node_rows.append(row_of(attributes, node_features, f"{place}, node {node!r}"))
            if names and level == "node":
                target_rows.append(row_of(attributes, names, f"{place}, node {node!r}"))
        for start, end, attributes in graph.edges(data=True):
            row = row_of(attributes, edge_features, f"{place}, edge {start!r} to {end!r}")
            both = not graph.is_directed() and start != end
            ends += [(ids[start], ids[end]), (ids[end], ids[start])] if both else [(ids[start], ids[end])]
            edge_rows += [row, row] if both else [row]
        if names and level == "graph":
            target_rows.append(row_of(graph.graph, names, place))
        nodes.append(len(ids))
        counts.append(len(ends) - before)
    x = table(node_rows, nodes, "node features", source) if node_features else constant_column(sum(nodes))
    y = named_targets(target_rows, names, targets, sum(nodes) if level == "node" else len(graphs), source)
    return PackedGraphs(
        x=x,
        edge_index=compact(np.array(ends, dtype=np.int64).reshape(-1, 2).T, np.int16),
        edge_attr=table(edge_rows, counts, "edge features", source),
        node_ptr=pointer(nodes),
        edge_ptr=pointer(counts),
        y=y,
    ).validate(source)


def target_names(targets: Any) -> tuple[str, ...]:
    """The attributes that hold the targets; none where the targets themselves were given."""
    if isinstance(targets, str):
        return (targets,)
    if isinstance(targets, (list, tuple)) and targets and all(isinstance(entry, str) for entry in targets):
        return tuple(targets)
    return ()


def row_of(attributes: Mapping[str, Any], names: Sequence[str], place: str) -> list[float]:
    """The named attributes of one node, edge or graph as a flat list of numbers."""
    row: list[float] = []
    for name in names:
        if name not in attributes:
            raise DataError(
                f"{place} has no attribute {name!r} (it has {sorted(map(str, attributes)) or 'none'});"
                " set it, or do not name it"
            )
        values = np.asarray(attributes[name])
        if values.dtype.kind not in "biuf":
            raise DataError(f"{place}: attribute {name!r} is {attributes[name]!r}; give a number or a list of numbers")
        row += values.reshape(-1).tolist()
    return row


def table(rows: list[list[float]], counts: list[int], name: str, source: str) -> Array:
    """Rows of equal width as one array, integers compact and others as float32, ``(rows, width)``."""
    width = len(rows[0]) if rows else 0
    for position, row in enumerate(rows):
        if len(row) != width:
            graph = int(np.searchsorted(np.cumsum(counts), position, side="right"))
            raise DataError(
                f"{source}: graph {graph} has {len(row)} {name} where the first graph has {width}; make them equal"
            )
    if not width:
        return np.empty((len(rows), 0), dtype=np.uint8)
    values = np.array(rows)
    return single_precision(values, name, source) if values.dtype.kind == "f" else compact(values.astype(np.int64))


def named_targets(rows: list[list[float]], names: tuple[str, ...], given: Any, needed: int, source: str) -> Array:
    """Targets from attributes, or as given, or all missing: integers as int64, others as float32."""
    if given is None:
        return np.full((needed, 1), np.nan, dtype=np.float32)
    try:
        values = np.array(rows if names else given)
    except ValueError as error:
        raise DataError(f"{source}: the targets differ in how many numbers they hold; make them equal") from error
    if values.dtype.kind not in "biuf" or values.ndim == 0 or len(values) != needed:
        raise DataError(
            f"{source}: the targets have shape {values.shape} and type {values.dtype};"
            f" give {needed} rows of numbers, or the names of attributes"
        )
    if isinstance(given, str) and values.shape[1] == 1:
        values = values[:, 0]  # one name of one number: (G, 1) -> (G,)
    return single_precision(values, "targets", source) if values.dtype.kind == "f" else values.astype(np.int64)
