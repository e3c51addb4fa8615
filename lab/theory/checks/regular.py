"""Checks on strongly regular graphs: one mark tells different parameters apart, no bag equal ones."""

from __future__ import annotations

from itertools import combinations

import networkx as nx
import numpy as np

from lab.theory.checks.record import Measured, check
from lab.theory.graphs import pack, rook, shrikhande, srg_parameters, triangular
from lab.theory.identify import bag_kinds
from policylearn.data import CATALOG, PackedGraphs, data_root, load_dataset, take_graphs


@check("srg-different", "`identify.bag_kinds`")
def different_parameters() -> Measured:
    """Strongly regular graphs of different parameters are told apart by one mark, though 1-WL cannot."""
    graphs = pack(triangular(7), nx.complement(triangular(7)))
    kinds = bag_kinds(graphs)
    names = [str(srg_parameters(take_graphs(graphs, [graph]))) for graph in range(2)]
    return (
        f"{names[0]} and {names[1]}, every node marked",
        "alike unmarked; no marked copy of one looks like one of the other",
        kinds.told_apart_by_any_mark() and not kinds.told_apart_unmarked(),
    )


@check("srg-all-pairs", "`identify.bag_kinds`")
def all_parameters() -> Measured:
    """A mark sees the parameters (n, k, λ, μ) of a strongly regular graph, 1-WL alone only (n, k)."""
    graphs = srg_collection()
    parameters = [srg_parameters(take_graphs(graphs, [graph])) for graph in range(len(graphs))]
    kinds = bag_kinds(graphs)
    holds, pairs, alike = True, 0, 0
    for a, b in combinations(range(len(graphs)), 2):
        shared = bool(((kinds.counts[a] > 0) & (kinds.counts[b] > 0)).any())
        holds &= shared == (parameters[a] == parameters[b])
        holds &= bool(kinds.unmarked[a] == kinds.unmarked[b]) == (parameters[a][:2] == parameters[b][:2])
        pairs, alike = pairs + 1, alike + shared
    return (
        f"{len(graphs)} graphs (triangular, lattice, Paley, Shrikhande, Chang, complements), {pairs} pairs, all nodes",
        f"told apart by any one mark if and only if the parameters differ ({alike} pairs have equal ones);"
        " unmarked if and only if n or k differs",
        holds,
    )


@check("srg-equal", "`identify.bag_kinds`")
def equal_parameters() -> Measured:
    """Strongly regular graphs of equal parameters are not told apart, even by the full bag."""
    groups = {"(16, 6, 2, 2)": pack(rook(4), shrikhande()), "(28, 12, 6, 4)": pack(triangular(8), *changs())}
    holds = all(bag_kinds(graphs).full_bags_equal() for graphs in groups.values())
    named = all(
        str(srg_parameters(take_graphs(graphs, [graph]))) == name
        for name, graphs in groups.items()
        for graph in range(len(graphs))
    )
    return (
        "(16, 6, 2, 2): lattice and Shrikhande; (28, 12, 6, 4): triangular and the three Chang graphs",
        "equal full bags",
        holds and named,
    )


@check("sr25", "`identify.bag_kinds`")
def stored_graphs() -> Measured:
    """The same for the 15 graphs (25, 12, 5, 6) of `sr25`."""
    parameters, path = "all 15, full bags of 25 marked copies", data_root() / CATALOG["sr25"].file
    if not path.exists():
        why = f"skipped: {path.name} is not in the data root; set POLICYLEARN_DATA to the folder that holds it"
        return parameters, why, None
    graphs = load_dataset("sr25").graphs
    found = {srg_parameters(take_graphs(graphs, [graph])) for graph in range(len(graphs))}
    holds = found == {(25, 12, 5, 6)} and len(graphs) == 15 and bag_kinds(graphs).full_bags_equal()
    return parameters, "equal full bags", holds


def srg_collection() -> PackedGraphs:
    """Strongly regular graphs of several families, and the complements of those that are not their own."""
    graphs = [triangular(m) for m in (5, 6, 7, 8)] + [rook(m) for m in (3, 4, 5, 6)] + [shrikhande(), *changs()]
    return pack(*graphs, *map(nx.complement, graphs), *(nx.paley_graph(q).to_undirected() for q in (5, 13, 17, 29)))


def changs() -> list[nx.Graph]:
    """The three Chang graphs: T(8) switched at the edges of four parts, of an octagon, and of a triangle and pentagon.

    Switching at a set of nodes turns joined into unjoined, and the other way round, between the set and the rest.
    """
    pairs = list(combinations(range(8), 2))
    parts = nx.Graph([(0, 1), (2, 3), (4, 5), (6, 7)])
    octagon, two_rings = nx.cycle_graph(8), nx.union(nx.cycle_graph(3), nx.cycle_graph(range(3, 8)))
    dense = nx.to_numpy_array(triangular(8), pairs, dtype=bool)
    inside = [np.array([graph.has_edge(*pair) for pair in pairs]) for graph in (parts, octagon, two_rings)]
    return [nx.from_numpy_array(dense ^ (chosen[:, None] != chosen)) for chosen in inside]
