"""Adjacency matrices of many graphs at once, padded to one size."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from policylearn.data.packed import Array, PackedGraphs
from policylearn.data.subset import gather

ENTRIES = 1 << 15
"""Matrix entries that a group holds, little enough for a processor's cache and for graphs of nearly one size; a single
larger graph is held alone."""


@dataclass(frozen=True)
class DenseGroup:
    """Graphs of similar size as one stack of matrices.

    Args:
        adjacency: how many edges lead from a node to another; zero where a graph has no such node.
        nodes: the rows of the packed graphs that these nodes are.
        graph: which matrix of the stack each of them belongs to.
        local: its row in there.

    Shapes:
        adjacency ``(g, m, m)`` float64, nodes, graph and local ``(n,)``.
    """

    adjacency: Array
    nodes: Array
    graph: Array
    local: Array


def dense_groups(graphs: PackedGraphs, entries: int = ENTRIES, *, padded: bool = True) -> Iterator[DenseGroup]:
    """All graphs, sorted by size and cut into groups of at most that many matrix entries.

    Args:
        graphs: which.
        entries: the most of a group.
        padded: whether graphs of different sizes may be in one group.
    """
    sizes = graphs.num_nodes.astype(np.int64)
    order = np.argsort(sizes, kind="stable")
    order = order[sizes[order] > 0]
    start = 0
    while start < len(order):
        end = start + 1
        last = len(order) if padded else int(np.searchsorted(sizes[order], sizes[order[start]], side="right"))
        while end < last and (end + 1 - start) * sizes[order[end]] ** 2 <= entries:
            end += 1
        yield _stack(graphs, order[start:end], int(sizes[order[end - 1]]))
        start = end


def per_node(
    graphs: PackedGraphs, columns: int, compute: Callable[[DenseGroup], Array], *, padded: bool = True
) -> Array:
    """What ``compute`` gives for each group, ``(g, m, columns)``, as rows of nodes, ``(N, columns)``."""
    values = np.zeros((len(graphs.x), columns))
    for group in dense_groups(graphs, padded=padded):
        values[group.nodes] = compute(group)[group.graph, group.local]
    return values


def closed_walks(matrix: Array, steps: int) -> Array:
    r"""The diagonals of the powers :math:`M^1, \ldots, M^{steps}`, from half as many products.

    Shapes:
        matrix ``(g, m, m)`` -> ``(g, m, steps)``.
    """
    diagonals = np.empty((*matrix.shape[:2], steps))
    diagonals[..., 0] = matrix.diagonal(axis1=1, axis2=2)
    power = matrix
    for step in range(2, steps + 1, 2):
        diagonals[..., step - 1] = (power * power.transpose(0, 2, 1)).sum(-1)
        if step < steps:
            following = power @ matrix
            diagonals[..., step] = (power * following.transpose(0, 2, 1)).sum(-1)
            power = following
    return diagonals


def _stack(graphs: PackedGraphs, members: Array, largest: int) -> DenseGroup:
    sizes = graphs.num_nodes[members].astype(np.int64)
    graph = np.repeat(np.arange(len(members)), sizes)
    local = np.arange(len(graph)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    rows, edge_ptr = gather(graphs.edge_ptr, members)
    ends = graphs.edge_index[:, rows].astype(np.int64)
    first = np.repeat(np.arange(len(members)) * largest, np.diff(edge_ptr))
    # An edge that stands twice counts twice.
    counts = np.bincount((first + ends[0]) * largest + ends[1], minlength=len(members) * largest**2)
    adjacency = counts.astype(np.float64).reshape(len(members), largest, largest)
    nodes = np.repeat(graphs.node_ptr[members].astype(np.int64), sizes) + local
    return DenseGroup(adjacency, nodes, graph, local)
