"""Which bags name a graph: the statement, its limit, and families other than the paper's."""

from __future__ import annotations

from itertools import combinations_with_replacement

import networkx as nx
import numpy as np
import pytest

from lab.theory.checks.families import regular_collection
from lab.theory.checks.regular import changs
from lab.theory.graphs import pack, rook, shrikhande, srg_parameters, triangular, union_family
from lab.theory.identify import bag_kinds, collection_told_apart, identification
from policylearn.data.synthetic import csl_graph, csl_members, join


@pytest.mark.parametrize(("n", "size"), [(13, 1), (13, 2), (17, 2), (17, 3), (29, 2)])
def test_every_component_needs_a_mark_and_one_is_enough(n: int, size: int) -> None:
    found = identification(csl_members(n), size)
    assert found.sufficient
    assert found.necessary


@pytest.mark.parametrize(("n", "size"), [(13, 3), (17, 4)])
def test_a_family_of_one_graph_needs_no_mark(n: int, size: int) -> None:
    found = identification(csl_members(n), size)
    assert (found.graphs, found.sufficient, found.necessary) == (1, True, False)


def test_all_bags_of_two_and_three_marks_one_by_one() -> None:
    """The plain way: list every bag of the (13, 2) family and see which ones only one graph can give."""
    family = union_family(csl_members(13), 2)
    kinds = bag_kinds(family)
    component = family.extras["component"].reshape(3, 26)
    marked = kinds.marked.reshape(3, 26)
    for marks in (2, 3):
        givers: dict[tuple[int, ...], set[int]] = {}
        bags = []
        for graph in range(3):
            for nodes in combinations_with_replacement(range(0, 26, 4), marks):
                signature = tuple(sorted(marked[graph, list(nodes)].tolist()))
                givers.setdefault(signature, set()).add(graph)
                bags.append((graph, signature, len(set(component[graph, list(nodes)].tolist())) == 2))
        assert all((givers[signature] == {graph}) == covering for graph, signature, covering in bags)
        assert {covering for _, _, covering in bags} == {True, False}


@pytest.mark.parametrize(("nodes", "degree"), [(8, 3), (9, 4)])
def test_other_families_of_regular_graphs(nodes: int, degree: int) -> None:
    parts = regular_collection(nodes, degree, np.random.default_rng(1))
    assert len(parts) >= 3
    kinds = bag_kinds(parts)
    assert kinds.told_apart_by_any_mark()
    assert not kinds.told_apart_unmarked()
    found = identification(parts, 2)
    assert found.sufficient
    assert found.necessary


def test_graphs_that_no_mark_tells_apart_are_not_identified() -> None:
    found = identification(pack(rook(4), shrikhande(), triangular(6)), 1)
    assert not found.sufficient


def test_the_collection_keeps_one_of_isomorphic_graphs() -> None:
    members = csl_members(13)
    assert collection_told_apart(join([members, members])).tolist() == [0, 1, 2]


def test_strongly_regular_graphs() -> None:
    apart = bag_kinds(pack(triangular(7), nx.complement(triangular(7))))
    assert apart.told_apart_by_any_mark()
    assert not apart.told_apart_unmarked()
    assert bag_kinds(pack(rook(4), shrikhande())).full_bags_equal()
    assert not apart.full_bags_equal()


def test_the_chang_graphs_are_three_different_graphs() -> None:
    """Cliques of four are counted differently in T(8) and in each of them, so no two are isomorphic."""
    graphs = pack(triangular(8), *changs())
    networks = []
    for graph in range(4):
        edges = graphs.edge_index[:, graphs.edge_ptr[graph] : graphs.edge_ptr[graph + 1]]
        networks.append(nx.Graph(edges.T.tolist()))
    profiles = {tuple(sorted(len(clique) for clique in nx.find_cliques(network))) for network in networks}
    assert len(profiles) == 4


@pytest.mark.parametrize(
    ("graph", "parameters"),
    [
        (triangular(7), (21, 10, 5, 4)),
        (nx.complement(triangular(5)), (10, 3, 0, 1)),
        (rook(5), (25, 8, 3, 2)),
        (shrikhande(), (16, 6, 2, 2)),
    ],
)
def test_parameters_are_those_of_the_books(graph: nx.Graph, parameters: tuple[int, int, int, int]) -> None:
    assert srg_parameters(pack(graph).validate()) == parameters


def test_graphs_that_are_not_strongly_regular_are_refused() -> None:
    with pytest.raises(ValueError, match="strongly regular"):
        srg_parameters(csl_graph(13, 5))
