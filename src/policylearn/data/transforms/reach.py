"""Which nodes reach which within some steps: the rows of ego nets and of tables of distances."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_array, eye_array

from policylearn.data.packed import Array, PackedGraphs


@dataclass(frozen=True)
class Reach:
    """Pairs of nodes of which the second reaches the first within some steps, sorted by root, then by node.

    Args:
        root: where the paths end, counted through all graphs.
        node: where they start.
        distance: steps of the shortest path, 0 for the root itself.
        arrivals: edges by which such paths can begin: from the node to nodes that are one step nearer.

    Shapes:
        all ``(R,)``.
    """

    root: Array
    node: Array
    distance: Array
    arrivals: Array


def incoming(graphs: PackedGraphs) -> Any:
    """How many edges lead to a node (its row) from another (its column), over all graphs, ``(N, N)`` sparse."""
    first = np.repeat(graphs.node_ptr[:-1].astype(np.int64), graphs.num_edges)
    source, target = graphs.edge_index.astype(np.int64) + first
    count = len(graphs.x)
    return csr_array((np.ones(len(source), dtype=np.int64), (target, source)), shape=(count, count))


def find_reach(graphs: PackedGraphs, hops: int) -> Reach:
    """All pairs within ``hops`` steps; the graphs are one block diagonal matrix, so nothing loops over them."""
    count = len(graphs.x)
    edges = incoming(graphs)
    reached = ring = eye_array(count, dtype=np.int64, format="csr")
    everyone, none = np.arange(count), np.zeros(count, dtype=np.int64)
    parts = [(everyone, everyone, none, none)]
    for step in range(1, hops + 1):
        counts = ring @ edges  # paths that would be new, and ways back to what is known
        counts = counts - counts * reached
        counts.eliminate_zeros()
        found = counts.tocoo()
        root, node = found.coords
        parts.append((root, node, np.full(found.nnz, step), found.data))
        ring = csr_array((np.ones(found.nnz, dtype=np.int64), (root, node)), shape=counts.shape)
        reached = reached + ring
    root, node, distance, arrivals = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    order = np.lexsort((node, root))
    return Reach(root[order].astype(np.int64), node[order].astype(np.int64), distance[order], arrivals[order])
