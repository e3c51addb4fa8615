"""The graphs that systems are asked to distinguish, each beside copies of itself with its nodes in another order."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations

import networkx as nx
import numpy as np

from policylearn.data import PackedGraphs, load_dataset, take_graphs
from policylearn.data.packed import Array
from policylearn.data.synthetic import join, shuffle_nodes
from policylearn.data.synthetic.assembly import one_graph

FAMILIES = ("sr25", "csl", "exp")
REFERENCE_GRAPHS = 24
"""Random graphs that norms take their statistics from."""


@dataclass(frozen=True)
class PairFamily:
    """Graphs, which of them are not isomorphic, and which are.

    Args:
        graphs: those of the dataset, and behind them copies in other orders of nodes.
        pairs: positions of two graphs that are not isomorphic.
        alike: positions of two that are.

    Shapes:
        pairs ``(P, 2)``, alike ``(A, 2)``.
    """

    graphs: PackedGraphs
    pairs: Array
    alike: Array


def load_family(name: str, most_pairs: int | None = None) -> PairFamily:
    """SR25's 15 graphs, CSL's 10 classes with two graphs each, or EXP's pairs, ``most_pairs`` of all of them."""
    if name not in FAMILIES:
        raise ValueError(f"there is no family of graphs '{name}'; the families are {', '.join(FAMILIES)}")
    graphs = load_dataset(name).graphs
    if name == "sr25":
        return with_copies(graphs, list(combinations(range(len(graphs)), 2)), [])
    if name == "csl":
        firsts = [np.flatnonzero(graphs.y == label)[:2] for label in np.unique(graphs.y)]
        chosen = take_graphs(graphs, np.concatenate(firsts))
        of_class = range(0, len(chosen), 2)
        return with_copies(chosen, list(combinations(of_class, 2)), [(first, first + 1) for first in of_class])
    count = len(graphs) // 2
    kept = np.unique(np.linspace(0, count - 1, min(count, most_pairs or count)).round().astype(int))
    chosen = take_graphs(graphs, np.stack([2 * kept, 2 * kept + 1], axis=1).ravel())
    return with_copies(chosen, [(2 * pair, 2 * pair + 1) for pair in range(len(kept))], [])


def with_copies(graphs: PackedGraphs, pairs: list[tuple[int, int]], alike: list[tuple[int, int]]) -> PairFamily:
    """The family with one permuted copy of every graph."""
    count = len(graphs)
    both = join([bare(graphs), shuffle_nodes(bare(graphs), np.random.default_rng(0))])
    alike = alike + [(graph, count + graph) for graph in range(count)]
    return PairFamily(both, np.array(pairs), np.array(alike))


def bare(graphs: PackedGraphs) -> PackedGraphs:
    """Nothing but nodes and edges, in the types that synthetic graphs have."""
    return replace(
        graphs,
        x=graphs.x.astype(np.int64),
        edge_index=graphs.edge_index.astype(np.int64),
        edge_attr=np.zeros((graphs.edge_index.shape[1], 0), dtype=np.int64),
        node_ptr=graphs.node_ptr.astype(np.int64),
        edge_ptr=graphs.edge_ptr.astype(np.int64),
        y=np.zeros((len(graphs), 1), dtype=np.float32),
        extras={},
        structures={},
    )


def reference_graphs(family: PairFamily) -> PackedGraphs:
    """Random graphs of the same numbers of nodes and edges, with labels drawn as often as the family has them."""
    random, chosen = np.random.default_rng(1), []
    for place in np.linspace(0, len(family.graphs) - 1, REFERENCE_GRAPHS).round().astype(int):
        like = take_graphs(family.graphs, [place])
        nodes, edges = int(like.num_nodes[0]), int(like.num_edges[0]) // 2
        drawn = nx.gnm_random_graph(nodes, edges, seed=int(place))
        ends = np.array(drawn.edges, dtype=np.int64).reshape(-1, 2).T
        chosen.append(replace(one_graph(ends, nodes), x=random.permutation(like.x), y=like.y))
    return join(chosen)
