"""How synthetic graphs are put together: plain edges in, packed graphs out.

Every packed graph made here has both directions of every edge, sorted by source, so a node's edges lie side by side.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from policylearn.data.packed import Array, DataError, PackedGraphs
from policylearn.data.subset import join_graphs, targets_are_per_node


def one_graph(edges: Array, num_nodes: int) -> PackedGraphs:
    """A single featureless graph from its undirected edges ``(2, U)``, each given once."""
    both = np.concatenate([edges, edges[::-1]], axis=1).astype(np.int64, copy=False)  # (2, U) -> (2, 2U)
    return PackedGraphs(
        x=np.ones((num_nodes, 1), dtype=np.uint8),
        edge_index=both[:, np.lexsort((both[1], both[0]))],
        edge_attr=np.zeros((both.shape[1], 0), dtype=np.uint8),
        node_ptr=np.array([0, num_nodes]),
        edge_ptr=np.array([0, both.shape[1]]),
        y=np.zeros(1, dtype=np.int64),
    )


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
