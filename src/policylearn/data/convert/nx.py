"""A list of networkx graphs into the packed form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import networkx as nx
import numpy as np

from policylearn.data.convert.stacking import pack_arrays, single_precision
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
        targets: names of graph attributes (``level="node"``: of node attributes), or the targets themselves, one row
            per graph (or node). None leaves one missing label (NaN) per graph.
        level: whether a target belongs to a graph or to a node.
        source: names the graphs in errors.
    """
    if not len(graphs):
        raise DataError(f"{source}: there are no graphs; give at least one")
    nodes: list[int] = []
    counts: list[int] = []
    ends: list[tuple[int, int]] = []
    names = target_names(targets)
    x, edge_attr, y = AttributeRows(node_features), AttributeRows(edge_features), AttributeRows(names)
    for number, graph in enumerate(graphs):
        place = f"{source}: graph {number}"
        if not isinstance(graph, nx.Graph):
            raise DataError(f"{place} is a {type(graph).__name__}; give networkx graphs")
        ids = {node: position for position, node in enumerate(graph)}
        before = len(ends)
        for node, attributes in graph.nodes(data=True):
            for rows in (x, y) if level == "node" else (x,):
                rows.add(attributes, f"{place}, node {node!r}")
        if level == "graph":
            y.add(graph.graph, place)
        for start, end, attributes in graph.edges(data=True):
            pair = ids[start], ids[end]
            for one in [pair] if graph.is_directed() or start == end else [pair, pair[::-1]]:
                ends.append(one)
                edge_attr.add(attributes, f"{place}, edge {start!r} to {end!r}")
        nodes.append(len(graph))
        counts.append(len(ends) - before)
    given = None if targets is None else numbers(y.rows if names else targets, "targets", source)
    needed = sum(nodes) if level == "node" else len(graphs)
    if given is not None and (given.ndim == 0 or len(given) != needed):
        raise DataError(f"{source}: the targets have shape {given.shape}; give {needed} rows, or names of attributes")
    if given is not None and isinstance(targets, str) and given.shape[1] == 1:
        given = given[:, 0]  # one number of one attribute: (G, 1) -> (G,)
    return pack_arrays(
        nodes,
        counts,
        np.array(ends, dtype=np.int64).reshape(-1, 2).T,
        x=numbers(x.rows, "node features", source) if node_features else None,
        edge_attr=numbers(edge_attr.rows, "edge features", source) if edge_features and ends else None,
        y=given,
        source=source,
    )


class AttributeRows:
    """Named attributes of nodes, edges or graphs, each as a flat list of equally many numbers."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names, self.rows = names, list[list[float]]()

    def add(self, attributes: Mapping[str, Any], place: str) -> None:
        """Take the attributes of one more; ``place`` names it in errors."""
        row: list[float] = []
        for name in self.names:
            if name not in attributes:
                raise DataError(f"{place} has no attribute {name!r}; it has {sorted(map(str, attributes)) or 'none'}")
            values = np.asarray(attributes[name])
            if values.dtype.kind not in "biuf":
                raise DataError(f"{place}: attribute {name!r} is {attributes[name]!r}; give numbers")
            row += values.reshape(-1).tolist()
        self.rows.append(row)
        if len(row) != len(self.rows[0]):
            raise DataError(f"{place} has {len(row)} numbers where the first one has {len(self.rows[0])}; equal them")


def target_names(targets: Any) -> tuple[str, ...]:
    """The attributes that hold the targets; none where the targets themselves were given."""
    named = (targets,) if isinstance(targets, str) else targets
    listed = isinstance(named, (list, tuple)) and all(isinstance(entry, str) for entry in named)
    return tuple(named) if listed else ()


def numbers(rows: Any, what: str, source: str) -> Array:
    """An array of int64, or of float32 where a number is not whole."""
    try:
        values = np.array(rows)
    except ValueError as error:
        raise DataError(f"{source}: the {what} differ in how many numbers they hold; make them equal") from error
    if values.dtype.kind not in "biuf":
        raise DataError(f"{source}: the {what} are of type {values.dtype}; give numbers")
    return single_precision(values, what, source) if values.dtype.kind == "f" else values.astype(np.int64)
