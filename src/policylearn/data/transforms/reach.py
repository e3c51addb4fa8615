"""Which nodes reach which within some steps, and with which resistance: the rows of ego nets and distances."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit

from policylearn.data.packed import Array, PackedGraphs
from policylearn.data.transforms.dense import ENTRIES

FEW = 40
"""Nodes that are sorted by insertion."""


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
    from scipy.sparse import csr_array  # a fifth of a second, for those who need it

    first = np.repeat(graphs.node_ptr[:-1].astype(np.int64), graphs.num_edges)
    source, target = graphs.edge_index.astype(np.int64) + first
    count = len(graphs.x)
    return csr_array((np.ones(len(source), dtype=np.int64), (target, source)), shape=(count, count))


def find_reach(graphs: PackedGraphs, hops: int) -> Reach:
    """All pairs within ``hops`` steps."""
    first = np.repeat(graphs.node_ptr[:-1].astype(np.int64), graphs.num_edges)
    source, target = graphs.edge_index.astype(np.int64) + first
    order = np.argsort(target, kind="stable")
    starts = np.concatenate([[0], np.cumsum(np.bincount(target, minlength=len(graphs.x)))]).astype(np.int64)
    return Reach(*_walk_back(starts, source[order], hops))


@njit(cache=True)  # type: ignore[untyped-decorator]
def _walk_back(starts: Array, sources: Array, hops: int) -> tuple[Array, Array, Array, Array]:
    """Breadth first from every root, against the direction of the edges.

    Args:
        starts: where the edges that lead to each node start, ``(N + 1,)``.
        sources: where those edges come from, ``(E,)``.
        hops: how many steps.
    """
    count = len(starts) - 1
    distance = np.full(count, -1, dtype=np.int64)
    arrivals = np.zeros(count, dtype=np.int64)
    queue = np.empty(count, dtype=np.int64)
    rows = np.empty((4, max(4 * count, 16)), dtype=np.int64)
    used = 0
    for root in range(count):
        queue[0], distance[root] = root, 0
        head, tail = 0, 1
        while head < tail:
            node = queue[head]
            head += 1
            if distance[node] == hops:
                continue
            for edge in range(starts[node], starts[node + 1]):
                other = sources[edge]
                if distance[other] < 0:
                    distance[other] = distance[node] + 1
                    queue[tail] = other
                    tail += 1
                if distance[other] == distance[node] + 1:
                    arrivals[other] += 1
        if used + tail > rows.shape[1]:
            larger = np.empty((4, 2 * rows.shape[1] + tail), dtype=np.int64)
            larger[:, :used] = rows[:, :used]
            rows = larger
        if tail > FEW:
            queue[:tail].sort()
        else:  # a sort of its own would take longer than the walk
            for place in range(1, tail):
                node, at = queue[place], place
                while at > 0 and queue[at - 1] > node:
                    queue[at] = queue[at - 1]
                    at -= 1
                queue[at] = node
        for place in range(tail):
            node = queue[place]
            rows[0, used], rows[1, used], rows[2, used], rows[3, used] = root, node, distance[node], arrivals[node]
            distance[node], arrivals[node] = -1, 0
            used += 1
    return rows[0, :used].copy(), rows[1, :used].copy(), rows[2, :used].copy(), rows[3, :used].copy()


def resistance_to_root(graphs: PackedGraphs, reach: Reach) -> Array:
    r"""Resistance between each row's node and its root, inside the ego net alone, every edge one ohm, ``(R,)``.

    .. math::
        P_{00} + P_{vv} - P_{0v} - P_{v0} = (\tilde L^{-1})_{vv}

    with P the pseudo-inverse of the net's Laplacian, and :math:`\tilde L` the Laplacian without the root's row and
    column; a net holds only what reaches its root, so that matrix has an inverse. An edge given in one direction alone
    counts half.
    """
    sizes = np.bincount(reach.root, minlength=len(graphs.x))
    starts = np.cumsum(sizes) - sizes
    place = np.arange(len(reach.root)) - starts[reach.root]  # of each row within its net
    row, other, weight = _edges_inside(graphs, reach)
    values = np.empty(len(reach.root))
    for nets in _groups(sizes):
        size = int(sizes[nets[-1]])
        number = np.full(len(sizes), -1)
        number[nets] = np.arange(len(nets))
        rows = np.flatnonzero(number[reach.root] >= 0)
        edges = np.flatnonzero(number[reach.root[row]] >= 0)
        net, at, to = number[reach.root[row[edges]]], place[row[edges]], place[other[edges]]
        laplacian = np.zeros((len(nets), size, size))
        np.add.at(laplacian, (net, at, to), -weight[edges])
        np.add.at(laplacian, (net, at, at), weight[edges])
        # The root's row and column, and those that smaller nets lack, become those of the identity.
        roots = rows[reach.root[rows] == reach.node[rows]]
        fixed = np.ones((len(nets), size), dtype=bool)
        fixed[number[reach.root[rows]], place[rows]] = False
        fixed[number[reach.root[roots]], place[roots]] = True
        laplacian[fixed] = 0
        laplacian.transpose(0, 2, 1)[fixed] = 0
        stack, position = np.nonzero(fixed)
        laplacian[stack, position, position] = 1
        inverse = np.linalg.inv(laplacian).diagonal(axis1=1, axis2=2)
        values[rows] = inverse[number[reach.root[rows]], place[rows]]
        values[roots] = 0
    return values


def _edges_inside(graphs: PackedGraphs, reach: Reach) -> tuple[Array, Array, Array]:
    """Edges between rows of the same net, both directions: row, row and weight, loops left out."""
    edges = incoming(graphs)
    both = ((edges + edges.T) / 2).tocsr()
    both.setdiag(0)
    both.eliminate_zeros()
    count = len(graphs.x)
    degree = np.diff(both.indptr)[reach.node]
    row = np.repeat(np.arange(len(reach.node)), degree)
    entry = np.arange(len(row)) + np.repeat(both.indptr[reach.node] - (np.cumsum(degree) - degree), degree)
    keys = reach.root * count + reach.node  # sorted, as the rows are
    wanted = reach.root[row] * count + both.indices[entry]
    other = np.minimum(np.searchsorted(keys, wanted), max(len(keys) - 1, 0))
    inside = keys[other] == wanted
    return row[inside], other[inside], both.data[entry[inside]]


def _groups(sizes: Array) -> Iterator[Array]:
    """All nets, sorted by size and cut into groups that fill at most `ENTRIES` of a stack of matrices."""
    order = np.argsort(sizes, kind="stable")
    start = 0
    while start < len(order):
        end = start + 1
        while end < len(order) and (end + 1 - start) * int(sizes[order[end]]) ** 2 <= ENTRIES:
            end += 1
        yield order[start:end]
        start = end
