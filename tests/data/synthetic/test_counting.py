import os
from collections.abc import Callable
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from networkx.algorithms.isomorphism import GraphMatcher

from policylearn.data.packed import DataError, PackedGraphs
from policylearn.data.synthetic import (
    SUBSTRUCTURES,
    adjacency,
    count_substructures,
    counting_er,
    counting_rr,
    random_regular,
    substructure_counts,
)
from policylearn.data.synthetic.counting import RR_SHAPES

DATA = Path(os.environ.get("POLICYLEARN_DATA", ""))
PATTERNS = {
    "triangle": nx.complete_graph(3),
    "tailed_triangle": nx.from_edgelist([(0, 1), (1, 2), (2, 0), (2, 3)]),
    "star3": nx.star_graph(3),
    "cycle4": nx.cycle_graph(4),
}


def brute_force(graph: nx.Graph) -> list[int]:
    """Injective maps of each pattern that keep its edges, divided by the pattern's symmetries."""
    counts = []
    for name in SUBSTRUCTURES:
        pattern = PATTERNS[name]
        maps = sum(1 for _ in GraphMatcher(graph, pattern).subgraph_monomorphisms_iter())
        counts.append(maps // sum(1 for _ in GraphMatcher(pattern, pattern).isomorphisms_iter()))
    return counts


@pytest.mark.parametrize("name", ["counting-er", "counting-rr-regenerated"])
def test_counts_equal_the_stored_targets_of_all_graphs(name: str) -> None:
    file = DATA / f"{name}.npz"
    if not file.is_file():
        pytest.skip(f"{file} is absent; set POLICYLEARN_DATA to the folder of the stored datasets")
    graphs = PackedGraphs.load(file)
    assert len(graphs) == 5000
    assert tuple(graphs.extras["y_names"][:4]) == SUBSTRUCTURES
    assert (count_substructures(graphs) == graphs.y[:, :4]).all()


@given(n=st.integers(1, 8), p=st.floats(0.1, 0.9), seed=st.integers(0, 2**31))
def test_counts_equal_brute_force_over_subgraphs(n: int, p: float, seed: int) -> None:
    graph = nx.gnp_random_graph(n, p, seed=seed)
    assert substructure_counts(nx.to_numpy_array(graph)).tolist() == brute_force(graph)


def test_k4_shows_that_subgraphs_need_not_be_induced() -> None:
    assert substructure_counts(np.ones((4, 4)) - np.eye(4)).tolist() == [4, 12, 4, 3]


@pytest.mark.parametrize(
    "wrong", [np.ones((2, 3)), np.ones((3, 3)), np.array([[0, 1], [0, 0]]), np.array([[0, 2], [2, 0]])]
)
def test_matrices_that_are_no_simple_graph_are_refused(wrong: np.ndarray) -> None:
    with pytest.raises(DataError):
        substructure_counts(wrong)


def test_er_graphs_follow_the_recipe() -> None:
    graphs = counting_er(5000, np.random.default_rng(0)).validate()
    assert (graphs.num_nodes == 10).all()
    assert abs(graphs.num_edges.mean() / 90 - 0.3) < 0.005  # the stored set: 0.29993
    # expected counts: choices of nodes times the ways to lay the pattern on them times 0.3^edges
    expected = np.array([120 * 0.3**3, 210 * 12 * 0.3**4, 210 * 4 * 0.3**3, 210 * 3 * 0.3**4])
    assert abs(graphs.y.mean(axis=0) / expected - 1).max() < 0.06
    assert [len(graphs.extras[part]) for part in ("train", "valid", "test")] == [1500, 1000, 2500]
    together = np.concatenate([graphs.extras[part] for part in ("train", "valid", "test")])
    assert sorted(together) == list(range(5000))


def test_rr_graphs_follow_the_recipe() -> None:
    graphs = counting_rr(1000, np.random.default_rng(0)).validate()
    left = {10: 20, 15: 30, 20: 30, 30: 45}
    assert set(graphs.num_nodes.tolist()) == set(left)
    assert graphs.num_edges.tolist() == [2 * left[n] for n in graphs.num_nodes.tolist()]
    assert abs(np.bincount(graphs.num_nodes)[list(left)] - 250).max() < 70
    # the stored set's means over 5,000 graphs; five standard errors of 1,000 graphs
    assert (abs(graphs.y.mean(axis=0) - [5.015, 35.15, 61.46, 10.50]) < [0.5, 4.1, 2.8, 1.1]).all()
    for size in left:
        alike = np.flatnonzero(graphs.num_nodes == size)
        dense = adjacency(graphs, alike)
        assert dense.sum(axis=2).max() <= dict(RR_SHAPES)[size]
        assert (dense.sum(axis=(1, 2)) == 2 * left[size]).all()  # no edge twice


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
    codes = np.sort(edges[0] * 6 + edges[1], axis=1)
    kinds, seen = np.unique(codes, axis=0, return_counts=True)
    assert len(kinds) == 70  # 60 hexagons and 10 pairs of triangles on six labelled nodes
    assert seen.min() > 10


def test_impossible_regular_graphs_are_refused() -> None:
    with pytest.raises(DataError):
        random_regular(5, 3, 1, np.random.default_rng(0))


@pytest.mark.parametrize("draw", [counting_er, counting_rr])
def test_the_generator_alone_decides(draw: Callable[[int, np.random.Generator], PackedGraphs]) -> None:
    one, same, other = (draw(50, np.random.default_rng(seed)) for seed in (1, 1, 2))
    assert (one.edge_index == same.edge_index).all()
    assert (one.extras["train"] == same.extras["train"]).all()
    assert not np.array_equal(one.edge_index, other.edge_index)
