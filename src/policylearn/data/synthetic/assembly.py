"""How synthetic graphs are put together: plain edges in, packed graphs out.

Every packed graph made here has both directions of every edge, sorted by source, so a node's edges lie side by side.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from policylearn.data.arrays import pointer
from policylearn.data.packed import Array, DataError, PackedGraphs
from policylearn.data.subset import join_graphs, targets_are_per_node


def pack_edges(
    edges: Array,
    num_nodes: Array,
    edges_of_graph: Array,
    *,
    x: Array | None = None,
    edge_attr: Array | None = None,
    y: ArrayLike | None = None,
) -> PackedGraphs:
    """Pack graphs from their undirected edges, each given once with local ids; both directions are stored.

    Without ``x`` nodes get a constant column, without ``y`` graphs the target 0.

    Shapes:
        edges ``(2, U)``, num_nodes and edges_of_graph ``(G,)``, x ``(N, ...)``, edge_attr ``(U, ...)``, y ``(G, ...)``.
    """
    node_ptr = pointer(num_nodes)
    first_node = np.repeat(node_ptr[:-1], edges_of_graph)  # (U,)
    both = np.concatenate([edges, edges[::-1]], axis=1).astype(np.int64, copy=False)  # (2, U) -> (2, 2U)
    row = both + np.tile(first_node, 2)
    order = np.lexsort((row[1], row[0]))
    attributes = np.zeros((edges.shape[1], 0), dtype=np.uint8) if edge_attr is None else edge_attr
    return PackedGraphs(
        x=np.ones((int(node_ptr[-1]), 1), dtype=np.uint8) if x is None else x,
        edge_index=both[:, order],
        edge_attr=np.concatenate([attributes, attributes])[order],
        node_ptr=node_ptr,
        edge_ptr=pointer(2 * np.asarray(edges_of_graph)),
        y=np.zeros(len(num_nodes), dtype=np.int64) if y is None else np.asarray(y),
    )


def one_graph(edges: Array, num_nodes: int) -> PackedGraphs:
    """A single featureless graph from its undirected edges, ``(2, U)``."""
    return pack_edges(edges, np.array([num_nodes]), np.array([edges.shape[1]]))


def join(collections: Sequence[PackedGraphs], y: ArrayLike | None = None) -> PackedGraphs:
    """Put the graphs of several collections with like features into one, with new targets where ``y`` is given."""
    joined = join_graphs(collections)
    if joined is None:
        raise DataError("join got no graphs; give at least one collection")
    return replace(joined, y=joined.y if y is None else np.asarray(y), extras={})


def num_components(graphs: PackedGraphs) -> Array:
    """How many connected components each graph has, ``(G,)``."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    ends = graphs.global_edges()
    matrix = coo_array((np.ones(ends.shape[1]), tuple(ends)), shape=(len(graphs.x), len(graphs.x)))
    _, label = connected_components(matrix, directed=False)
    first = np.unique(label, return_index=True)[1]  # a node of each component
    return np.bincount(np.repeat(np.arange(len(graphs)), graphs.num_nodes)[first], minlength=len(graphs))


def shuffle_nodes(graphs: PackedGraphs, generator: np.random.Generator) -> PackedGraphs:
    """Relabel the nodes of each graph at random; targets and extras with one row per node move with their nodes."""
    total = len(graphs.x)
    graph = np.repeat(np.arange(len(graphs)), graphs.num_nodes)
    # New position -> old node. A stable sort of graph + u in [0, 1) cannot mix graphs: a u that rounds up only ties.
    order = np.argsort(graph + generator.random(total), kind="stable")
    row = np.argsort(order)[graphs.global_edges()]  # (2, E)
    by_source = np.argsort(row[0], kind="stable")
    first = np.repeat(graphs.node_ptr[:-1].astype(np.int64), graphs.num_edges)
    return replace(
        graphs,
        x=graphs.x[order],
        edge_index=(row - first)[:, by_source],
        edge_attr=graphs.edge_attr[by_source],
        y=graphs.y[order] if targets_are_per_node(graphs) else graphs.y,
        extras={name: rows[order] if len(rows) == total else rows for name, rows in graphs.extras.items()},
    )
