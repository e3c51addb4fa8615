"""Strongly regular graphs of several families, as networkx builds them, and all unions of a collection."""

from __future__ import annotations

import networkx as nx
import numpy as np

from policylearn.data import PackedGraphs
from policylearn.data.synthetic import join, union_classes
from policylearn.data.synthetic.assembly import one_graph
from policylearn.data.synthetic.csl import assemble


def pack(*graphs: nx.Graph) -> PackedGraphs:
    """Graphs in the packed form, the nodes of each sorted."""
    dense = [nx.to_numpy_array(graph, sorted(graph)) for graph in graphs]
    return join([one_graph(np.stack(np.nonzero(np.triu(one))), len(one)) for one in dense])


def unpack(graphs: PackedGraphs, graph: int = 0) -> nx.Graph:
    """One of the graphs, as networkx has it."""
    found = nx.empty_graph(int(graphs.num_nodes[graph]))
    found.add_edges_from(graphs.edge_index[:, graphs.edge_ptr[graph] : graphs.edge_ptr[graph + 1]].T.tolist())
    return found


def triangular(m: int) -> nx.Graph:
    """T(m): the pairs out of m things, joined where they share one; (m(m-1)/2, 2(m-2), m-2, 4)."""
    return nx.line_graph(nx.complete_graph(m))


def rook(m: int) -> nx.Graph:
    """L2(m), the lattice: squares of an m by m board, joined along rows and columns; (m², 2(m-1), m-2, 2)."""
    return nx.line_graph(nx.complete_bipartite_graph(m, m))


def shrikhande() -> nx.Graph:
    """The Shrikhande graph on a 4 by 4 torus, (16, 6, 2, 2) like L2(4) but not isomorphic to it."""
    steps = ((0, 1), (1, 0), (1, 1))
    return nx.Graph(((i, j), ((i + a) % 4, (j + b) % 4)) for i in range(4) for j in range(4) for a, b in steps)


def srg_parameters(graph: PackedGraphs) -> tuple[int, int, int, int]:
    """(n, k, lambda, mu) of a strongly regular graph; a `ValueError` where it is none.

    Two nodes have lambda common neighbours where they are joined, and mu where they are not.
    """
    found = unpack(graph)
    if not nx.is_strongly_regular(found):
        raise ValueError("the graph is not strongly regular")
    (k, b), (_, mu) = nx.intersection_array(found)
    return len(found), k, k - b - 1, mu


def union_family(parts: PackedGraphs, size: int) -> PackedGraphs:
    """Every union of ``size`` different members once, ``y`` numbering the subsets of members in lexicographic order.

    The members should be connected and pairwise non-isomorphic, or classes coincide; for ``extras`` see `assemble`.
    """
    members = union_classes(parts, size)
    return assemble(parts, members, np.arange(len(members)), None)
