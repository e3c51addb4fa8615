"""Adjacency matrices of many graphs at once, padded to one size."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from policylearn.data.packed import Array, PackedGraphs
from policylearn.data.subset import gather, local_nodes, take_graphs

ENTRIES = 1 << 15
"""Matrix entries that a group holds, little enough for a processor's cache and for graphs of nearly one size; a single
larger graph is held alone."""


@dataclass(frozen=True)
class DenseGroup:
    """Graphs of similar size as one stack of matrices.

    Shapes:
        adjacency ``(g, m, m)`` float64, nodes, graph and local ``(n,)``.
    """

    adjacency: Array  # how many edges lead from a node to another; zero where a graph has no such node
    nodes: Array  # the rows of the packed graphs that these nodes are
    graph: Array  # which matrix of the stack each of them belongs to
    local: Array  # its row in there


def similar_sizes(sizes: Array, *, padded: bool = True) -> Iterator[Array]:
    """Positions by rising size, cut into groups of at most `ENTRIES` matrix entries; without ``padded`` of one size."""
    order = np.argsort(sizes, kind="stable")
    order = order[sizes[order] > 0]
    start = 0
    while start < len(order):
        end = start + 1
        last = len(order) if padded else int(np.searchsorted(sizes[order], sizes[order[start]], side="right"))
        while end < last and (end + 1 - start) * int(sizes[order[end]]) ** 2 <= ENTRIES:
            end += 1
        yield order[start:end]
        start = end


def dense_groups(graphs: PackedGraphs, *, padded: bool = True) -> Iterator[DenseGroup]:
    """All graphs, sorted by size and cut into groups; ``padded`` allows different sizes in a group."""
    for members in similar_sizes(graphs.num_nodes, padded=padded):
        chosen = take_graphs(graphs, members)
        count, largest = len(members), int(chosen.num_nodes[-1])
        first = np.repeat(np.arange(count) * largest, chosen.num_edges)
        ends = chosen.edge_index.astype(np.int64)
        # An edge that stands twice counts twice.
        counts = np.bincount((first + ends[0]) * largest + ends[1], minlength=count * largest**2)
        yield DenseGroup(
            adjacency=counts.astype(np.float64).reshape(count, largest, largest),
            nodes=gather(graphs.node_ptr, members)[0],
            graph=np.repeat(np.arange(count), chosen.num_nodes),
            local=local_nodes(chosen),
        )


def per_node(
    graphs: PackedGraphs, columns: int, compute: Callable[[DenseGroup], Array], *, padded: bool = True
) -> Array:
    """What ``compute`` gives for each group, ``(g, m, columns)``, as rows of nodes, ``(N, columns)``."""
    values = np.zeros((len(graphs.x), columns))
    for group in dense_groups(graphs, padded=padded):
        values[group.nodes] = compute(group)[group.graph, group.local]
    return values
