"""Checks on CSL graphs and unions of them: what 1-WL sees with and without marks."""

from __future__ import annotations

from collections.abc import Iterator

import networkx as nx
import numpy as np

from lab.theory.checks.record import Measured, braces, check
from lab.theory.graphs import pack, union_family
from lab.theory.identify import bag_kinds, collection_told_apart, identification
from lab.theory.wl import marked_copies, refine
from policylearn.data import PackedGraphs, take_graphs
from policylearn.data.synthetic import (
    csl_classes,
    csl_graph,
    csl_members,
    join,
    num_components,
)

SIZES = (13, 17, 29)
MOST_COMPONENTS = 4


def csl_families(*, whole: bool = False) -> Iterator[tuple[int, PackedGraphs, int]]:
    """Every n of `SIZES`, the CSL graphs of that size, and each l; ``whole`` also the l that takes all of them."""
    for n in SIZES:
        members = csl_members(n)
        for size in range(1, min(len(members) - (not whole), MOST_COMPONENTS) + 1):
            yield n, members, size


@check("figure-1", "`wl.refine`")
def figure_1() -> Measured:
    """1-WL cannot tell CSL(13, 5) from CSL(13, 3), but can once one node is marked (figure 1)."""
    graphs = join([csl_graph(13, 5), csl_graph(13, 3)])
    plain = refine(graphs)
    unmarked = {plain.class_sizes(0), plain.class_sizes(1)}
    copies, marks = marked_copies(graphs, [0] * 13 + [1] * 13, [*range(13), *range(13)])
    marked = refine(copies, marks)
    sizes = [{marked.class_sizes(13 * graph + root) for root in range(13)} for graph in range(2)]
    same = len(set(plain.kinds().tolist())) == 1 and unmarked == {(13,)}
    apart = sizes == [{(1, 4, 4, 4)}, {(1, 2, 2, 2, 2, 2, 2)}]
    found = ["/".join(map(braces, sorted(of_graph))) for of_graph in sizes]
    return (
        "both graphs, each of the 13 nodes marked",
        f"unmarked one colour of 13 nodes; marked, classes of {found[0]} and {found[1]} nodes, whichever node",
        same and apart,
    )


@check("indistinguishable", "`wl.refine`")
def indistinguishable() -> Measured:
    """(n, l)-CSL graphs are WL-indistinguishable (theorem 1)."""
    families = [
        union_family(csl_members(n), size)
        for n in range(5, 32)
        for size in range(1, min(len(csl_classes(n)), MOST_COMPONENTS if n in SIZES else 3) + 1)
    ]
    return (
        "every n from 5 to 31 that has CSL graphs, l up to 3, and up to 4 for n = 13, 17, 29",
        f"{len(families)} families, {sum(map(len, families)):,} graphs: all nodes of a family have one colour",
        all((refine(family).colours == 0).all() for family in families),
    )


@check("one-mark", "`identify.bag_kinds`")
def one_mark() -> Measured:
    """One mark on any node tells CSL graphs of equal size apart."""
    found = [bag_kinds(csl_members(n)) for n in range(5, 42) if len(csl_classes(n)) > 1]
    classes = sum(len(kinds.unmarked) for kinds in found)
    return (
        f"every n from 5 to 41 with more than one class: {len(found)} sizes, {classes} graphs, all nodes",
        "no two graphs of a size share a marked copy; unmarked they are alike",
        all(kinds.told_apart_by_any_mark() and len(set(kinds.unmarked.tolist())) == 1 for kinds in found),
    )


@check("every-component", "`identify.identification`")
def every_component() -> Measured:
    """A bag identifies an (n, l)-CSL graph if and only if it has a mark in each component."""
    found = {f"({n}, {size})": identification(members, size) for n, members, size in csl_families()}
    return (
        f"(n, l) = {', '.join(found)}",
        f"{sum(one.bags for one in found.values()):,} bags: every covering bag names its graph with one mark per"
        " component, none that misses one does, even with all other nodes marked",
        all(one.sufficient and one.necessary for one in found.values()),
    )


@check("whole-families", "`identify.identification`")
def whole_families() -> Measured:
    """The 'only if' needs l below the number of classes."""
    found = [identification(csl_members(n), size) for n, size in ((13, 3), (17, 4))]
    return (
        "(n, l) = (13, 3), (17, 4)",
        "the family is a single graph, so the empty bag identifies it: sufficient, not necessary",
        all(one.graphs == 1 and one.sufficient and not one.necessary for one in found),
    )


@check("other-families", "`identify.identification`, `identify.collection_told_apart`")
def other_families() -> Measured:
    """The same holds for unions over any collection of WL-indistinguishable graphs that one mark tells apart."""
    generator = np.random.default_rng(0)
    tried, found = [], []
    for nodes, degree in ((8, 3), (10, 3), (12, 3), (9, 4)):
        parts = regular_collection(nodes, degree, generator)
        found += [identification(parts, size) for size in (1, 2, 3)]
        tried.append(f"{len(parts)} {degree}-regular on {nodes} nodes")
    return (
        f"connected random regular graphs: {', '.join(tried)}; l = 1, 2, 3",
        f"{sum(one.bags for one in found):,} bags: sufficient and necessary in all",
        all(one.sufficient and one.necessary for one in found),
    )


def regular_collection(nodes: int, degree: int, generator: np.random.Generator, most: int = 6) -> PackedGraphs:
    """Connected random regular graphs that 1-WL cannot tell apart, but any one mark can."""
    seeds = generator.integers(2**32, size=60).tolist()
    drawn = pack(*(nx.random_regular_graph(degree, nodes, seed) for seed in seeds))
    connected = take_graphs(drawn, np.flatnonzero(num_components(drawn) == 1))
    return take_graphs(connected, collection_told_apart(connected)[:most])
