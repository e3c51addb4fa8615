"""How synthetic graphs are put together: plain edges in, packed graphs out.

Every packed graph made here has both directions of every edge, sorted by source, so a node's edges lie side by side.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from policylearn.data.packed import Array, DataError, PackedGraphs


def ragged_ranges(starts: Array, lengths: Array) -> Array:
    """Concatenate ``arange(start, start + length)`` over all pairs, without a loop."""
    ends = np.cumsum(lengths)
    total = int(ends[-1]) if len(ends) else 0
    return np.repeat(starts - (ends - lengths), lengths) + np.arange(total)


def pointer(lengths: Array) -> Array:
    """Where each piece starts when pieces of these lengths lie one after the other, with the total at the end."""
    return np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])


def random_order(groups: Array, generator: np.random.Generator) -> Array:
    """A uniformly random order within each group, the groups staying one after the other.

    Args:
        groups: the group of each row, rising.
        generator: source of randomness.

    Shapes:
        groups and result ``(N,)``.
    """
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
    """Put the graphs of several collections with like features into one; extras are left behind.

    Args:
        collections: at least one.
        y: new targets, one per graph; None keeps those of the collections.
    """
    if not collections:
        raise DataError("join got no graphs; give at least one collection")
    return PackedGraphs(
        x=np.concatenate([graphs.x for graphs in collections]),
        edge_index=np.concatenate([graphs.edge_index for graphs in collections], axis=1),
        edge_attr=np.concatenate([graphs.edge_attr for graphs in collections]),
        node_ptr=pointer(np.concatenate([graphs.num_nodes for graphs in collections])),
        edge_ptr=pointer(np.concatenate([graphs.num_edges for graphs in collections])),
        y=np.concatenate([graphs.y for graphs in collections]) if y is None else np.asarray(y),
    )


def adjacency(graphs: PackedGraphs, chosen: Array | None = None) -> Array:
    """Dense 0/1 adjacency of graphs that all have the same number of nodes.

    Args:
        graphs: the collection.
        chosen: ids of the graphs to take; all if None.

    Shapes:
        chosen ``(B,)``, result ``(B, n, n)`` of int64.
    """
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
    first = np.repeat(graphs.node_ptr[:-1], graphs.num_edges).astype(np.int64)
    source, target = graphs.edge_index.astype(np.int64) + first
    label = np.arange(len(graphs.x))
    while True:
        low = label.copy()
        np.minimum.at(low, source, label[target])
        low = low[low]  # follow the lowest neighbour's own lowest neighbour: fewer rounds than hops
        if np.array_equal(low, label):
            break
        label = low
    is_lowest = label == np.arange(len(label))
    return np.diff(pointer(is_lowest)[np.asarray(graphs.node_ptr, dtype=np.int64)])


def shuffle_nodes(graphs: PackedGraphs, generator: np.random.Generator) -> PackedGraphs:
    """Relabel the nodes of each graph at random; extras with one row per node move along with their nodes.

    Args:
        graphs: the graphs; node-level targets move with their nodes too.
        generator: source of randomness.
    """
    num_nodes, total = graphs.num_nodes, len(graphs.x)
    node_ptr = graphs.node_ptr.astype(np.int64)
    order = random_order(np.repeat(np.arange(len(graphs)), num_nodes), generator)  # new position -> old node
    place = np.empty(total, dtype=np.int64)
    place[order] = np.arange(total)
    first = np.repeat(node_ptr[:-1], graphs.num_edges)
    row = place[graphs.edge_index.astype(np.int64) + first]  # (2, E)
    by_source = np.lexsort((row[1], row[0]))
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
