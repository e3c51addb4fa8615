"""Which bags of marked copies name the isomorphism type of a graph within its family (the paper's proposition on π).

The paper's statement is about (n, l)-CSL graphs; here it is asked of any family of disjoint unions, since its appendix
claims it for every collection of graphs that 1-WL cannot tell apart and that one mark, anywhere, does.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations, product

import numpy as np

from lab.theory.graphs import union_family
from lab.theory.wl import UNMARKED, marked_copies, number_of, refine
from policylearn.data import PackedGraphs
from policylearn.data.packed import Array


@dataclass(frozen=True)
class BagKinds:
    """What 1-WL sees of every marked copy of every graph.

    Args:
        unmarked: the kind of each graph without a mark.
        marked: the kind of the copy that marks a node, for each node.
        counts: how many of a graph's marked copies are of each kind.

    Shapes:
        unmarked ``(G,)``, marked ``(N,)``, counts ``(G, K)``.
    """

    unmarked: Array
    marked: Array
    counts: Array

    def fitting(self, graph: int, kinds: Array) -> Array:
        """Ids of the graphs that could have given a graph's bag: alike unmarked, with all these copies as often."""
        wanted = np.bincount(kinds, minlength=self.counts.shape[1])
        alike = self.unmarked == self.unmarked[graph]
        return np.flatnonzero(alike & (self.counts >= wanted).all(axis=1))

    def full_bags_equal(self) -> bool:
        """Whether even the full bags, unmarked copy included, are the same for all graphs."""
        return bool((self.unmarked == self.unmarked[0]).all() and (self.counts == self.counts[0]).all())

    def told_apart_by_any_mark(self) -> bool:
        """Whether no two graphs have a marked copy in common: one mark on any node names the graph."""
        return bool(((self.counts > 0).sum(axis=0) <= 1).all())

    def told_apart_unmarked(self) -> bool:
        """Whether 1-WL tells all graphs apart without a mark."""
        return len(np.unique(self.unmarked)) == len(self.unmarked)


def bag_kinds(graphs: PackedGraphs) -> BagKinds:
    """Refine the unmarked graphs and the copies of all nodes of all graphs together."""
    count = len(graphs)
    graph = np.repeat(np.arange(count), graphs.num_nodes)
    root = np.arange(len(graphs.x)) - graphs.node_ptr[graph]
    everything = marked_copies(
        graphs, np.concatenate([np.arange(count), graph]).tolist(), [UNMARKED] * count + root.tolist()
    )
    kinds = refine(*everything).kinds()
    marked = kinds[count:]
    counts = np.zeros((count, number_of(kinds)), dtype=np.int64)
    np.add.at(counts, (graph, marked), 1)
    return BagKinds(kinds[:count], marked, counts)


@dataclass(frozen=True)
class Identification:
    """What was found about the bags of all graphs of a family.

    Args:
        graphs: how many graphs the family has.
        bags: how many bags were asked.
        sufficient: any bag with a mark in every component names its graph.
        necessary: no bag that misses a component does, even if it marks every node of all the others.
    """

    graphs: int
    bags: int
    sufficient: bool
    necessary: bool


def identification(parts: PackedGraphs, size: int) -> Identification:
    """Ask for every graph that is a union of ``size`` different parts which bags name it.

    A bag names its graph if no other graph of the family has copies that look the same. A bag that covers is taken as
    poor as possible (one mark per component, every choice of nodes that look different), a bag that does not as rich as
    possible (all nodes of the components that it does mark).

    Args:
        parts: the collection of connected, pairwise non-isomorphic graphs.
        size: the paper's l. Necessity needs l below the number of parts: else the family has one graph only.
    """
    family = union_family(parts, size)
    kinds = bag_kinds(family)
    component, graph = family.extras["component"], np.repeat(np.arange(len(family)), family.num_nodes)
    no_copies = np.zeros(0, dtype=np.int64)
    bags, sufficient, necessary = 0, True, True
    for one in range(len(family)):
        inside = [kinds.marked[(graph == one) & (component == part)] for part in range(size)]
        for choice in product(*(np.unique(of_part) for of_part in inside)):
            sufficient &= kinds.fitting(one, np.array(choice)).tolist() == [one]
            bags += 1
        for chosen in (chosen for marked in range(size) for chosen in combinations(inside, marked)):
            necessary &= len(kinds.fitting(one, np.concatenate([no_copies, *chosen]))) > 1
            bags += 1
    return Identification(len(family), bags, sufficient, necessary)


def collection_told_apart(graphs: PackedGraphs) -> Array:
    """Ids of graphs that look alike to 1-WL, no two of which have a marked copy in common.

    They are taken greedily in the order given, so that isomorphic ones are kept once.

    Args:
        graphs: candidates; those that look different from the first without a mark are passed over.
    """
    kinds = bag_kinds(graphs)
    taken = np.zeros(kinds.counts.shape[1], dtype=bool)
    chosen = []
    for graph in np.flatnonzero(kinds.unmarked == kinds.unmarked[0]):
        own = kinds.counts[graph] > 0
        if not (own & taken).any():
            chosen.append(int(graph))
            taken |= own
    return np.array(chosen)
