"""How synthetic graphs are put together: plain edges in, packed graphs out.

Every packed graph made here has both directions of every edge, sorted by source, so a node's edges lie side by side.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from policylearn.data.arrays import pointer
from policylearn.data.packed import Array, DataError, PackedGraphs
from policylearn.data.subset import join_graphs


def ragged_ranges(starts: Array, lengths: Array) -> Array:
    """Concatenate ``arange(start, start + length)`` over all pairs, without a loop."""
    ends = pointer(lengths)
    return np.repeat(starts - ends[:-1], lengths) + np.arange(ends[-1])


def random_order(groups: Array, generator: np.random.Generator) -> Array:
    """A uniformly random order within each group, ``(N,) -> (N,)``; groups rise and stay one after the other."""
    # a stable sort of group + u in [0, 1) cannot mix groups: even a u that rounds up to 1 only ties with a later group
    return np.argsort(groups + generator.random(len(groups)), kind="stable")


def pack_edges(
    edges: Array,
    num_nodes: Array,
    edges_of_graph: Array,
    *,
    x: Array | None = None,
    edge_attr: Array | None = None,
    y: ArrayLike | None = None,
    extras: Mapping[str, Array] | None = None,
) -> PackedGraphs:
    """Pack graphs from their undirected edges, each given once; both directions are stored.

    Args:
        edges: the two ends of each edge, local ids, the graphs one after the other.
        num_nodes: nodes of each graph.
        edges_of_graph: undirected edges of each graph.
        x: node features; a constant column if None, as in the stored files of featureless graphs.
        edge_attr: a feature (row) for each undirected edge; no features if None.
        y: a target for each graph; 0 if None.
        extras: further arrays to keep with the graphs.

    Shapes:
        edges ``(2, U)``, num_nodes and edges_of_graph ``(G,)``, x ``(N, ...)``, edge_attr ``(U, ...)``, y ``(G, ...)``.
    """
    node_ptr = pointer(num_nodes)
    first_node = np.repeat(node_ptr[:-1], edges_of_graph)  # (U,)
    both = np.concatenate([edges, edges[::-1]], axis=1).astype(np.int64, copy=False)  # (2, U) -> (2, 2U)
    row = both + np.concatenate([first_node, first_node])
    order = np.lexsort((row[1], row[0]))
    if edge_attr is None:
        attributes = np.zeros((len(order), 0), dtype=np.uint8)
    else:
        attributes = np.concatenate([edge_attr, edge_attr])[order]
    return PackedGraphs(
        x=np.ones((int(node_ptr[-1]), 1), dtype=np.uint8) if x is None else x,
        edge_index=both[:, order],
        edge_attr=attributes,
        node_ptr=node_ptr,
        edge_ptr=pointer(2 * np.asarray(edges_of_graph)),
        y=np.zeros(len(num_nodes), dtype=np.int64) if y is None else np.asarray(y),
        extras=extras or {},
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


def adjacency(graphs: PackedGraphs, chosen: Array | None = None) -> Array:
    """Dense 0/1 adjacency of the chosen graphs (or all), which have one size, ``(B,) -> (B, n, n)`` int64."""
    chosen = np.arange(len(graphs)) if chosen is None else np.asarray(chosen)
    sizes = np.unique(graphs.num_nodes[chosen])
    if len(sizes) != 1:
        raise DataError(f"adjacency needs graphs of one size, got sizes {sizes.tolist()}; choose those of one size")
    size, edges_of_graph = int(sizes[0]), graphs.num_edges[chosen]
    columns = ragged_ranges(graphs.edge_ptr[chosen], edges_of_graph)
    dense = np.zeros((len(chosen), size, size), dtype=np.int64)
    dense[np.repeat(np.arange(len(chosen)), edges_of_graph), *graphs.edge_index[:, columns].astype(np.int64)] = 1
    return dense


def num_components(graphs: PackedGraphs) -> Array:
    """How many connected components each graph has, ``(G,)``."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    ends = graphs.edge_index + np.repeat(graphs.node_ptr[:-1].astype(np.int64), graphs.num_edges)
    matrix = coo_array((np.ones(ends.shape[1]), tuple(ends)), shape=(len(graphs.x), len(graphs.x)))
    _, label = connected_components(matrix, directed=False)
    first = np.unique(label, return_index=True)[1]  # a node of each component
    return np.bincount(np.repeat(np.arange(len(graphs)), graphs.num_nodes)[first], minlength=len(graphs))


def shuffle_nodes(graphs: PackedGraphs, generator: np.random.Generator) -> PackedGraphs:
    """Relabel the nodes of each graph at random; targets and extras with one row per node move with their nodes."""
    num_nodes, total = graphs.num_nodes, len(graphs.x)
    node_ptr = graphs.node_ptr.astype(np.int64)
    order = random_order(np.repeat(np.arange(len(graphs)), num_nodes), generator)  # new position -> old node
    place = np.empty(total, dtype=np.int64)
    place[order] = np.arange(total)
    first = np.repeat(node_ptr[:-1], graphs.num_edges)
    row = place[graphs.edge_index.astype(np.int64) + first]  # (2, E)
    by_source = np.argsort(row[0], kind="stable")
    node_level = len(graphs.y) == total and total != len(graphs)
    return PackedGraphs(
        x=graphs.x[order],
        edge_index=(row - first)[:, by_source],
        edge_attr=graphs.edge_attr[by_source],
        node_ptr=graphs.node_ptr,
        edge_ptr=graphs.edge_ptr,
        y=graphs.y[order] if node_level else graphs.y,
        extras={name: rows[order] if len(rows) == total else rows for name, rows in graphs.extras.items()},
    )
