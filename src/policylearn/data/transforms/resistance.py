"""Resistance distances inside ego nets, many nets at once."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from policylearn.data.packed import Array, PackedGraphs
from policylearn.data.transforms.dense import ENTRIES
from policylearn.data.transforms.reach import Reach, incoming


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
