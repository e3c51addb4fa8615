import time

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from policylearn.data.packed import DataError, PackedGraphs
from policylearn.data.synthetic import num_components
from tests.molecule_graphs import adjacency, grid, molecule_like, path


def degrees(graphs: PackedGraphs) -> np.ndarray:
    rows = graphs.edge_index[0] + np.repeat(graphs.node_ptr[:-1], graphs.num_edges)
    return np.bincount(rows, minlength=len(graphs.x))


@given(seed=st.integers(0, 2**32), mean=st.floats(1, 60), count=st.integers(1, 12))
def test_graphs_are_connected_simple_and_sparse_at_every_size(seed: int, mean: float, count: int) -> None:
    graphs = molecule_like(count, np.random.default_rng(seed), mean_nodes=mean).validate()
    assert len(graphs) == count
    assert (num_components(graphs) == 1).all()
    assert degrees(graphs).max(initial=0) <= 4
    for number in range(count):
        dense = adjacency(graphs, number)
        assert dense.sum() == graphs.num_edges[number]  # no edge twice
        assert (dense == dense.T).all()
        assert not dense.diagonal().any()


@given(seed=st.integers(0, 2**32))
def test_every_cycle_is_a_ring_of_five_or_six_and_the_target_counts_the_fives(seed: int) -> None:
    graphs = molecule_like(5, np.random.default_rng(seed))
    for number in range(5):
        rings = nx.cycle_basis(nx.from_numpy_array(adjacency(graphs, number)))
        sizes = [len(ring) for ring in rings]
        assert set(sizes) <= {5, 6}
        assert sizes.count(5) == graphs.y[number]


def test_statistics_are_near_zincs() -> None:
    graphs = molecule_like(5000, np.random.default_rng(0), mean_nodes=23.16)
    assert graphs.num_nodes.mean() == pytest.approx(23.16, rel=0.01)
    assert graphs.num_nodes.std() == pytest.approx(4.48, rel=0.05)
    assert graphs.num_edges.mean() == pytest.approx(49.83, rel=0.01)
    shares = np.bincount(degrees(graphs), minlength=5) / len(graphs.x)
    assert abs(shares - [0, 0.178, 0.506, 0.303, 0.014]).max() < 0.08
    bonds = np.bincount(graphs.edge_attr, minlength=4) / len(graphs.edge_attr)
    assert abs(bonds - [0, 0.743, 0.254, 0.003]).max() < 0.02
    atoms = np.bincount(graphs.x, minlength=21) / len(graphs.x)
    assert len(atoms) == 21
    assert abs(atoms[:3] - [0.701, 0.096, 0.109]).max() < 0.01


def test_a_bond_has_one_type_in_both_directions() -> None:
    graphs = molecule_like(50, np.random.default_rng(0))
    row = graphs.edge_index + np.repeat(graphs.node_ptr[:-1], graphs.num_edges)
    there = dict(zip(map(tuple, row.T.tolist()), graphs.edge_attr.tolist(), strict=True))
    assert all(there[b, a] == bond for (a, b), bond in there.items())


def test_triple_bonds_lie_outside_rings() -> None:
    graphs = molecule_like(200, np.random.default_rng(0))
    row = graphs.edge_index + np.repeat(graphs.node_ptr[:-1], graphs.num_edges)
    bridges = set(nx.bridges(nx.from_edgelist(row.T.tolist())))
    triple = row[:, graphs.edge_attr == 3].T.tolist()
    assert len(triple) > 0
    assert all((a, b) in bridges or (b, a) in bridges for a, b in triple)


def test_a_graph_of_a_million_nodes_takes_seconds() -> None:
    start = time.perf_counter()
    graph = molecule_like(1, np.random.default_rng(0), mean_nodes=1_000_000, spread=0)
    assert time.perf_counter() - start < 10
    assert graph.num_nodes.tolist() == [1_000_000]
    assert graph.num_edges[0] / 1e6 == pytest.approx(49.83 / 23.16, rel=0.01)
    assert degrees(graph).max() <= 4
    assert degrees(graph).min() >= 1


def test_the_generator_alone_decides_and_no_spread_means_one_size() -> None:
    one, same, other = (molecule_like(20, np.random.default_rng(seed), spread=0) for seed in (1, 1, 2))
    assert (one.num_nodes == 23).all()
    for name in ("x", "edge_index", "edge_attr", "y"):
        assert np.array_equal(getattr(one, name), getattr(same, name))
    assert not np.array_equal(one.x, other.x)


def test_grids_and_paths_are_those_of_networkx() -> None:
    assert nx.is_isomorphic(nx.from_numpy_array(adjacency(grid(3, 5))), nx.grid_2d_graph(3, 5))
    assert (adjacency(path(6)) == nx.to_numpy_array(nx.path_graph(6))).all()
    assert path(1).validate().num_edges.tolist() == [0]


def test_senseless_sizes_are_refused() -> None:
    with pytest.raises(DataError):
        molecule_like(1, np.random.default_rng(0), mean_nodes=0)
    with pytest.raises(DataError):
        path(0)
