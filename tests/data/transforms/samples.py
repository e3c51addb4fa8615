"""Graphs to try transforms on, and what does not depend on the order of nodes."""

from __future__ import annotations

from dataclasses import replace

import networkx as nx
import numpy as np

from policylearn.data import PackedGraphs, pack_networkx

CORNERS = [
    nx.empty_graph(1),
    nx.empty_graph(3),
    nx.path_graph(2),
    nx.star_graph(5),
    nx.cycle_graph(6),
    nx.complete_graph(5),
    nx.petersen_graph(),
    nx.disjoint_union(nx.cycle_graph(4), nx.path_graph(3)),
    nx.cubical_graph(),
    nx.circular_ladder_graph(4),
]


def corner_graphs(random: int = 12, seed: int = 0) -> tuple[list[nx.Graph], PackedGraphs]:
    """Corner cases and random graphs, with and without packing."""
    drawn = [nx.gnp_random_graph(4 + i % 7, 0.4, seed=seed + i) for i in range(random)]
    graphs = CORNERS + drawn
    return graphs, pack_networkx([nx.Graph(graph) for graph in graphs])


def shuffled(graphs: PackedGraphs, generator: np.random.Generator) -> tuple[PackedGraphs, np.ndarray]:
    """The graphs with nodes and edges in another order; row i of the old arrays is row ``place[i]`` of the new."""
    place = np.empty(len(graphs.x), dtype=np.int64)
    edges = graphs.edge_index.astype(np.int64)
    order = np.arange(edges.shape[1])
    for graph in range(len(graphs)):
        start, end = graphs.node_ptr[graph], graphs.node_ptr[graph + 1]
        new = generator.permutation(end - start)
        place[start:end] = start + new
        chosen = slice(graphs.edge_ptr[graph], graphs.edge_ptr[graph + 1])
        edges[:, chosen] = new[edges[:, chosen]]
        order[chosen] = generator.permutation(order[chosen])
    x = np.empty_like(graphs.x)
    x[place] = graphs.x
    moved = replace(graphs, x=x, edge_index=edges[:, order], edge_attr=graphs.edge_attr[order])
    return moved.validate(), place
