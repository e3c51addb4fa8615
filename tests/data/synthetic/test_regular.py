from collections.abc import Callable

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from policylearn.data.packed import DataError, PackedGraphs
from policylearn.data.synthetic import (
    adjacency,
    complement,
    csl_graph,
    csl_members,
    paley,
    random_regular,
    rook,
    shrikhande,
    srg_parameters,
    triangular,
)
from policylearn.data.synthetic.regular import from_dense
from tests.molecule_graphs import grid, path


def as_networkx(graph: PackedGraphs) -> nx.Graph:
    return nx.from_numpy_array(adjacency(graph)[0])


@pytest.mark.parametrize(
    ("graph", "parameters"),
    [
        (triangular(7), (21, 10, 5, 4)),
        (complement(triangular(7)), (21, 10, 3, 6)),
        (triangular(4), (6, 4, 2, 4)),
        (complement(triangular(5)), (10, 3, 0, 1)),
        (rook(4), (16, 6, 2, 2)),
        (rook(5), (25, 8, 3, 2)),
        (shrikhande(), (16, 6, 2, 2)),
        (paley(5), (5, 2, 0, 1)),
        (paley(13), (13, 6, 2, 3)),
        (paley(29), (29, 14, 6, 7)),
    ],
)
def test_parameters_are_those_of_the_books(graph: PackedGraphs, parameters: tuple[int, int, int, int]) -> None:
    found = srg_parameters(graph.validate())
    assert found == parameters
    n, k, lam, mu = found
    assert k * (k - lam - 1) == (n - k - 1) * mu


def test_constructions_are_the_graphs_that_networkx_knows() -> None:
    assert nx.is_isomorphic(as_networkx(triangular(6)), nx.line_graph(nx.complete_graph(6)))
    assert nx.is_isomorphic(as_networkx(rook(4)), nx.line_graph(nx.complete_bipartite_graph(4, 4)))
    assert nx.is_isomorphic(as_networkx(complement(triangular(5))), nx.petersen_graph())
    assert nx.is_isomorphic(as_networkx(paley(13)), nx.paley_graph(13).to_undirected())
    assert not nx.is_isomorphic(as_networkx(shrikhande()), as_networkx(rook(4)))


def test_the_complement_of_the_complement_is_the_graph() -> None:
    graph = triangular(7)
    assert (complement(complement(graph)).edge_index == graph.edge_index).all()


def test_t7_and_its_complement_are_alike_to_1_wl_but_differ() -> None:
    one, other = triangular(7), complement(triangular(7))
    hashes = []
    for graph in (as_networkx(one), as_networkx(other)):
        nx.set_node_attributes(graph, "same", "colour")
        hashes.append(nx.weisfeiler_lehman_graph_hash(graph, node_attr="colour", iterations=21))
    assert hashes[0] == hashes[1]
    triangles = [sum(nx.triangles(as_networkx(graph)).values()) // 3 for graph in (one, other)]
    assert triangles == [175, 105]  # n k lambda / 6


@pytest.mark.parametrize("graph", [path(4), csl_graph(13, 5), from_dense(np.ones((4, 4))), grid(1, 1)])
def test_graphs_that_are_not_strongly_regular_are_refused(graph: PackedGraphs) -> None:
    with pytest.raises(DataError):
        srg_parameters(graph)


@pytest.mark.parametrize(("make", "size"), [(triangular, 3), (rook, 1), (paley, 7), (paley, 9), (paley, 1)])
def test_impossible_sizes_are_refused(make: Callable[[int], PackedGraphs], size: int) -> None:
    with pytest.raises(DataError):
        make(size)


def test_a_collection_is_no_single_graph() -> None:
    with pytest.raises(DataError):
        complement(csl_members(13))


@given(nodes=st.integers(1, 12), data=st.data(), seed=st.integers(0, 2**32))
def test_random_regular_graphs_are_simple_and_regular(nodes: int, data: st.DataObject, seed: int) -> None:
    degree = data.draw(st.sampled_from([d for d in range(nodes) if nodes * d % 2 == 0]))
    edges = random_regular(nodes, degree, 5, np.random.default_rng(seed))
    for first, second in edges.transpose(1, 0, 2):
        graph = nx.Graph(zip(first.tolist(), second.tolist(), strict=True))
        assert graph.number_of_edges() == nodes * degree // 2
        assert nx.number_of_selfloops(graph) == 0
        assert all(d == degree for _, d in graph.degree)


def test_random_regular_graphs_reach_every_graph_about_alike() -> None:
    edges = random_regular(6, 2, 3000, np.random.default_rng(0))
    codes = np.sort(edges.min(0) * 6 + edges.max(0), axis=1)
    kinds, seen = np.unique(codes, axis=0, return_counts=True)
    assert len(kinds) == 70  # 60 hexagons and 10 pairs of triangles on six labelled nodes
    assert seen.min() > 10


def test_impossible_regular_graphs_are_refused() -> None:
    with pytest.raises(DataError):
        random_regular(5, 3, 1, np.random.default_rng(0))
