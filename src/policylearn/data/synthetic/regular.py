"""Regular graphs, which 1-WL cannot tell apart where size and degree are equal: strongly regular and random ones."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from policylearn.data.packed import Array, DataError, PackedGraphs
from policylearn.data.synthetic.assembly import adjacency, one_graph


class SRGParameters(NamedTuple):
    """Nodes, degree, and common neighbours of two joined (``lam``) and of two unjoined nodes (``mu``)."""

    n: int
    k: int
    lam: int
    mu: int


def triangular(m: int) -> PackedGraphs:
    """T(m): the pairs out of m things, joined where they share one; (m(m-1)/2, 2(m-2), m-2, 4).

    T(7) is (21, 10, 5, 4) and its complement (21, 10, 3, 6): same size, same degree, different graphs.
    """
    if m < 4:
        raise DataError(f"T(m) needs m >= 4 (got {m})")
    pairs = np.stack(np.triu_indices(m, k=1), axis=1)  # (n, 2)
    return from_dense((pairs[:, None, :, None] == pairs[None, :, None, :]).any(axis=(2, 3)))


def rook(m: int) -> PackedGraphs:
    """L2(m), the lattice: squares of an m by m board, joined along rows and columns; (m², 2(m-1), m-2, 2)."""
    if m < 2:
        raise DataError(f"L2(m) needs m >= 2 (got {m})")
    row, column = np.divmod(np.arange(m * m), m)
    return from_dense((row[:, None] == row) | (column[:, None] == column))


def shrikhande() -> PackedGraphs:
    """The Shrikhande graph, (16, 6, 2, 2) like L2(4) but not isomorphic to it."""
    row, column = np.divmod(np.arange(16), 4)
    step = (row[:, None] - row) % 4 * 4 + (column[:, None] - column) % 4
    return from_dense(np.isin(step, [1, 3, 4, 12, 5, 15]))  # plus or minus (0, 1), (1, 0), (1, 1) on a 4 by 4 torus


def paley(q: int) -> PackedGraphs:
    """Paley(q): numbers mod a prime q, joined where their difference is a square; (q, (q-1)/2, (q-5)/4, (q-1)/4)."""
    prime = q >= 2 and all(q % divisor for divisor in range(2, int(q**0.5) + 1))
    if not prime or q % 4 != 1:
        raise DataError(f"Paley(q) needs a prime q with q % 4 == 1, such as 5, 13, 17 or 29 (got {q})")
    numbers = np.arange(q)
    return from_dense(np.isin((numbers[:, None] - numbers) % q, numbers[1:] ** 2 % q))


def complement(graph: PackedGraphs) -> PackedGraphs:
    """The graph on the same nodes that joins exactly the pairs that ``graph`` does not join."""
    return from_dense(single(graph, "complement") == 0)


def srg_parameters(graph: PackedGraphs) -> SRGParameters:
    """(n, k, lambda, mu) of a strongly regular graph; a `DataError` where it is none."""
    import networkx as nx  # a fifth of a second, for those who need it

    dense = single(graph, "srg_parameters")
    found = nx.from_numpy_array(dense)
    if not nx.is_connected(found) or not nx.is_strongly_regular(found) or nx.diameter(found) != 2:
        raise DataError(
            f"not strongly regular: a graph with the degrees {np.unique(dense.sum(axis=1)).tolist()}; give a connected"
            " one in which the number of common neighbours depends only on whether two nodes are joined"
        )
    (k, b), (_, mu) = nx.intersection_array(found)
    return SRGParameters(len(dense), k, k - b - 1, mu)


def from_dense(related: Array) -> PackedGraphs:
    """One graph that joins the related pairs; the diagonal is left out."""
    return one_graph(np.stack(np.nonzero(np.triu(related, k=1))), len(related))


def single(graph: PackedGraphs, caller: str) -> Array:
    """The adjacency of a collection that holds exactly one graph, ``(n, n)``."""
    if len(graph) != 1:
        raise DataError(f"{caller} takes one graph, got a collection of {len(graph)}; hand over one at a time")
    dense: Array = adjacency(graph)[0]
    return dense


def random_regular(nodes: int, degree: int, count: int, generator: np.random.Generator) -> Array:
    """Undirected edges of random regular graphs (Steger and Wormald, 1999).

    Shapes:
        result ``(2, count, nodes * degree / 2)``.
    """
    import networkx as nx

    if nodes * degree % 2 or not 0 <= degree < nodes:
        raise DataError(f"no graph has {nodes} nodes of degree {degree}; their product must be even and degree < nodes")
    seeds = generator.integers(2**32, size=count).tolist()
    drawn = [list(nx.random_regular_graph(degree, nodes, seed).edges) for seed in seeds]
    edges: Array = np.array(drawn, dtype=np.int64).reshape(count, -1, 2).transpose(2, 0, 1)
    return edges
