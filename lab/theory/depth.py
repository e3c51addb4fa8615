"""How many layers it takes until a mark is seen in all of its component (proof of theorem 2)."""

from __future__ import annotations

import networkx as nx
import numpy as np

from lab.theory.graphs import unpack
from lab.theory.wl import UNMARKED, marked_copies, refine
from policylearn.data import PackedGraphs
from policylearn.data.packed import Array


def diameters(graphs: PackedGraphs) -> Array:
    """The longest of the shortest paths of each graph, ``(G,)``; graphs must be connected."""
    return np.array([nx.diameter(unpack(graphs, graph)) for graph in range(len(graphs))])


def mark_is_seen(graphs: PackedGraphs, layers: int) -> Array:
    """Whether a mark on any node changes the colour of every node of the graph within so many rounds, ``(G,)``.

    Colours are compared with those of the unmarked graph, which is what a component without a mark looks like.
    """
    seen = []
    for graph in range(len(graphs)):
        nodes = int(graphs.num_nodes[graph])
        copies, marks = marked_copies(graphs, [graph] * (nodes + 1), [UNMARKED, *range(nodes)])
        colours = refine(copies, marks, rounds=layers).colours
        seen.append(not np.isin(colours[nodes:], colours[:nodes]).any())
    return np.array(seen)


def layers_needed(graphs: PackedGraphs) -> Array:
    """The least number of layers after which `mark_is_seen`, for each graph, ``(G,)``; -1 where it never is."""
    needed = np.full(len(graphs), -1)
    for layers in range(int(graphs.num_nodes.max()) + 1):
        needed[(needed < 0) & mark_is_seen(graphs, layers)] = layers
    return needed
