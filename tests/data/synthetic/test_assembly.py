from dataclasses import replace

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from policylearn.data.packed import DataError, PackedGraphs
from policylearn.data.synthetic import join, num_components, shuffle_nodes
from policylearn.data.synthetic.assembly import one_graph
from tests.molecule_graphs import adjacency, pack_edges

RANDOM_GRAPHS = st.lists(st.tuples(st.integers(1, 9), st.integers(0, 2**31)), min_size=1, max_size=6)


def random_graphs(recipe: list[tuple[int, int]]) -> tuple[PackedGraphs, list[nx.Graph]]:
    drawn = [nx.gnp_random_graph(size, 0.35, seed=seed) for size, seed in recipe]
    packed = [one_graph(np.array(list(g.edges), dtype=np.int64).reshape(-1, 2).T, len(g)) for g in drawn]
    return join(packed, y=np.arange(len(packed))).validate(), drawn


def features_of_the_ends(graphs: PackedGraphs) -> list[tuple[int, int, int]]:
    first = np.repeat(graphs.node_ptr[:-1], graphs.num_edges)
    ends = graphs.x[graphs.edge_index + first]
    return sorted(zip(ends[0].tolist(), ends[1].tolist(), graphs.edge_attr.tolist(), strict=True))


@given(recipe=RANDOM_GRAPHS)
def test_components_and_adjacency_agree_with_networkx(recipe: list[tuple[int, int]]) -> None:
    packed, drawn = random_graphs(recipe)
    assert num_components(packed).tolist() == [nx.number_connected_components(g) for g in drawn]
    for number, graph in enumerate(drawn):
        assert (adjacency(packed, number) == nx.to_numpy_array(graph)).all()


@given(recipe=RANDOM_GRAPHS, seed=st.integers(0, 2**32))
def test_a_random_relabelling_keeps_each_graph_up_to_isomorphism(recipe: list[tuple[int, int]], seed: int) -> None:
    packed, drawn = random_graphs(recipe)
    shuffled = shuffle_nodes(packed, np.random.default_rng(seed)).validate()
    again = shuffle_nodes(packed, np.random.default_rng(seed))
    assert (shuffled.edge_index == again.edge_index).all()
    for number, graph in enumerate(drawn):
        assert nx.is_isomorphic(graph, nx.from_numpy_array(adjacency(shuffled, number)))


def test_features_edge_features_and_node_rows_move_with_their_nodes() -> None:
    names = np.arange(100, 120)
    ring = np.stack([np.arange(20), (np.arange(20) + 1) % 20])
    packed = pack_edges(ring, np.array([20]), np.array([20]), x=names, edge_attr=ring[0])
    packed = replace(packed, extras={"id": names})
    shuffled = shuffle_nodes(packed, np.random.default_rng(0))
    assert shuffled.x.tolist() != names.tolist()
    assert (shuffled.extras["id"] == shuffled.x).all()
    assert features_of_the_ends(shuffled) == features_of_the_ends(packed)


def test_the_order_of_nodes_is_uniform() -> None:
    paths = join([one_graph(np.array([[0, 1], [1, 2]]), 3)] * 6000)
    shuffled = shuffle_nodes(replace(paths, x=np.tile(np.arange(3), 6000)), np.random.default_rng(0))
    orders, seen = np.unique(shuffled.x.reshape(-1, 3), axis=0, return_counts=True)
    assert len(orders) == 6
    assert abs(seen - 1000).max() < 150  # five standard deviations


def test_edges_come_sorted_by_source_in_both_directions() -> None:
    packed = one_graph(np.array([[2, 0], [1, 2]]), 3)
    assert packed.edge_index.tolist() == [[0, 1, 2, 2], [2, 2, 0, 1]]


def test_nothing_to_join_is_refused() -> None:
    with pytest.raises(DataError):
        join([])
