"""The ego net of every node, as rows, and the distances between all nodes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from policylearn.data.arrays import pointer
from policylearn.data.packed import Array, DataError, PackedGraphs
from policylearn.data.structures import Structure
from policylearn.data.transforms.base import Structures, Transform, register
from policylearn.data.transforms.dense import similar_sizes


@register
@dataclass(frozen=True)
class AttachedEgoNets(Transform):
    """Around every node the nodes that reach it within some steps, one row per pair of root and node.

    Structures: ``ego_root`` and ``ego_node`` (they point to nodes), ``ego_distance``; where asked for,
    ``ego_arrivals``, by how many edges shortest paths from the node to the root can begin, and ``ego_resistance``, the
    resistance between both inside the net. The edges of a net are all edges between its nodes.

    Args:
        hops: how many steps.
        arrivals: whether to count these edges.
        resistance: whether to compute resistances.
    """

    name: ClassVar[str] = "ego_nets"
    hops: int = 3
    arrivals: bool = False
    resistance: bool = False

    def __post_init__(self) -> None:
        if self.hops < 0:
            raise DataError(f"ego_nets: 'hops' must be >= 0 (got {self.hops})")

    def compute(self, graphs: PackedGraphs) -> Structures:
        """See the class; ``(R,)`` each."""
        reach = find_reach(graphs, self.hops)
        graph = np.repeat(np.arange(len(graphs)), graphs.num_nodes)[reach.root]
        ptr = pointer(np.bincount(graph, minlength=len(graphs)))
        first = graphs.node_ptr[:-1].astype(np.int64)[graph]
        found = {
            "ego_root": Structure((reach.root - first).astype(np.int32), ptr, "node"),
            "ego_node": Structure((reach.node - first).astype(np.int32), ptr, "node"),
            "ego_distance": Structure(reach.distance.astype(np.int16), ptr),
        }
        if self.arrivals:
            found["ego_arrivals"] = Structure(reach.arrivals.astype(np.int32), ptr)
        if self.resistance:
            found["ego_resistance"] = Structure(resistance_to_root(graphs, reach), ptr)
        return found


@register
@dataclass(frozen=True)
class Distances(Transform):
    """Steps from every node to every other, n * n rows per graph: the structure ``pair_distance``.

    Rows are ordered by the node where paths end, then by the one where they start. Pairs without a path count as far
    apart, as those at the cap do: longer distances are said to be ``cap``.
    """

    name: ClassVar[str] = "distances"
    cap: int = 5

    def __post_init__(self) -> None:
        if not 1 <= self.cap <= np.iinfo(np.int16).max:
            raise DataError(f"distances: 'cap' must be >= 1 and <= {np.iinfo(np.int16).max} (got {self.cap})")

    def compute(self, graphs: PackedGraphs) -> Structures:
        """One column, ``(sum of n * n,)``."""
        sizes = graphs.num_nodes.astype(np.int64)
        ptr = pointer(sizes**2)
        reach = find_reach(graphs, self.cap - 1)
        graph = np.repeat(np.arange(len(graphs)), sizes)[reach.root]
        first = graphs.node_ptr[:-1].astype(np.int64)[graph]
        values = np.full(int(ptr[-1]), self.cap, dtype=np.int16)
        values[ptr[graph] + (reach.root - first) * sizes[graph] + reach.node - first] = reach.distance
        return {"pair_distance": Structure(values, ptr)}


@dataclass(frozen=True)
class Reach:
    """Pairs of nodes of which the second reaches the first within some steps, sorted by root, then by node.

    Shapes:
        all ``(R,)``.
    """

    root: Array  # where the paths end, counted through all graphs
    node: Array  # where they start
    distance: Array  # steps of the shortest path, 0 for the root itself
    arrivals: Array  # edges by which such paths can begin: from the node to nodes that are one step nearer


def incoming(graphs: PackedGraphs) -> Any:
    """How many edges lead to a node (its row) from another (its column), over all graphs, ``(N, N)`` sparse."""
    from scipy.sparse import csr_array  # a fifth of a second, for those who need it

    source, target = graphs.global_edges()
    count = len(graphs.x)
    return csr_array((np.ones(len(source), dtype=np.int64), (target, source)), shape=(count, count))


def find_reach(graphs: PackedGraphs, hops: int) -> Reach:
    """All pairs within ``hops`` steps, breadth first from every root, against the direction of the edges."""
    from scipy.sparse import eye_array

    edges = incoming(graphs)
    shell = seen = eye_array(len(graphs.x), dtype=np.int64, format="csr")  # [root, node]
    root = node = np.arange(len(graphs.x))
    found = [np.stack([root, node, np.zeros_like(root), np.zeros_like(root)])]
    for distance in range(1, hops + 1):
        arrivals = shell @ edges  # edges from a node into the shell before
        arrivals = arrivals - arrivals.multiply(seen)
        arrivals.eliminate_zeros()
        if not arrivals.nnz:
            break
        root, node = arrivals.nonzero()
        found.append(np.stack([root, node, np.full_like(root, distance), arrivals.data]))
        shell = arrivals.sign()
        seen = seen + shell
    pairs = np.concatenate(found, axis=1).astype(np.int64)
    return Reach(*pairs[:, np.lexsort((pairs[1], pairs[0]))])


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
    for nets in similar_sizes(sizes):
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
