from itertools import combinations
from math import comb

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from policylearn.data.packed import DataError, PackedGraphs
from policylearn.data.synthetic import (
    csl_classes,
    csl_graph,
    csl_members,
    csl_unions,
    join,
    union_classes,
)
from policylearn.data.synthetic.assembly import one_graph
from policylearn.data.synthetic.csl import assemble
from tests.molecule_graphs import adjacency, grid, pack_edges, path


def union_family(parts: PackedGraphs, size: int) -> PackedGraphs:
    members = union_classes(parts, size)
    return assemble(parts, members, np.arange(len(members)), None)


MIXED = join([path(3), grid(2, 3), csl_graph(5, 2), csl_graph(8, 3)])


def member_graph(parts: PackedGraphs, number: int) -> nx.Graph:
    return nx.from_numpy_array(adjacency(parts, number))


def check_unions(unions: PackedGraphs, parts: PackedGraphs, size: int) -> None:
    subsets = list(combinations(range(len(parts)), size))
    unions.validate()
    for number in range(len(unions)):
        nodes = slice(unions.node_ptr[number], unions.node_ptr[number + 1])
        component, member = unions.extras["component"][nodes], unions.extras["member"][nodes]
        graph = member_graph(unions, number)
        pieces = list(nx.connected_components(graph))
        assert len(pieces) == size
        for piece in pieces:
            rows = sorted(piece)
            assert len(set(component[rows])) == 1
            assert len(set(member[rows])) == 1
            assert nx.is_isomorphic(graph.subgraph(piece), member_graph(parts, member[rows[0]]))
        by_position = tuple(int(member[component == position][0]) for position in range(size))
        assert by_position == subsets[unions.y[number]]


@pytest.mark.parametrize(("n", "components", "classes"), [(13, 2, 3), (17, 3, 4), (29, 3, 35)])
def test_the_csl_families_have_the_papers_number_of_classes(n: int, components: int, classes: int) -> None:
    family = union_family(csl_members(n), components)
    assert len(family) == classes == comb(len(csl_classes(n)), components)
    assert family.y.tolist() == list(range(classes))
    assert (family.num_nodes == n * components).all()
    assert (family.num_edges == 4 * n * components).all()


@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_every_union_of_a_mixed_collection_is_made_of_its_members(size: int) -> None:
    check_unions(union_family(MIXED, size), MIXED, size)


@given(seed=st.integers(0, 2**32), size=st.integers(1, 4), shuffle=st.booleans())
def test_sampled_unions_of_a_mixed_collection_are_made_of_their_members(seed: int, size: int, shuffle: bool) -> None:
    generator = np.random.default_rng(seed)
    members = union_classes(MIXED, size)
    labels = generator.integers(len(members), size=4)
    check_unions(assemble(MIXED, members, labels, generator if shuffle else None), MIXED, size)


def test_sampled_csl_unions_are_made_of_csl_graphs() -> None:
    check_unions(csl_unions(13, 2, 6, np.random.default_rng(0)), csl_members(13), 2)


def test_the_generator_alone_decides_and_classes_are_uniform() -> None:
    one = csl_unions(17, 3, 4000, np.random.default_rng(3))
    same = csl_unions(17, 3, 4000, np.random.default_rng(3))
    other = csl_unions(17, 3, 4000, np.random.default_rng(4))
    assert (one.edge_index == same.edge_index).all()
    assert (one.y == same.y).all()
    assert not np.array_equal(one.edge_index, other.edge_index)
    assert abs(np.bincount(one.y, minlength=4) - 1000).max() < 140  # five standard deviations


def test_nodes_come_in_random_order_unless_told_otherwise() -> None:
    unions = csl_unions(13, 3, 3000, np.random.default_rng(0))
    component = unions.extras["component"].reshape(3000, 39)
    shares = np.stack([(component == position).mean(axis=0) for position in range(3)])
    assert abs(shares - 1 / 3).max() < 0.045  # every position of the list sees every component alike
    orderly = csl_unions(13, 3, 5, np.random.default_rng(0), shuffle=False)
    assert (orderly.extras["component"].reshape(5, 39) == np.repeat(np.arange(3), 13)).all()


def test_features_of_the_members_travel_along() -> None:
    ends = np.array([[0, 1, 0, 1, 2], [1, 2, 1, 2, 3]])
    parts = pack_edges(ends, np.array([3, 4]), np.array([2, 3]), x=np.arange(7), edge_attr=np.array([7, 8, 17, 18, 19]))
    unions = assemble(parts, union_classes(parts, 2), np.zeros(3, dtype=np.int64), np.random.default_rng(0))
    degree_one_to = {(0, 1): 7, (1, 2): 8, (3, 4): 17, (4, 5): 18, (5, 6): 19}
    ends_x = unions.x[unions.edge_index + np.repeat(unions.node_ptr[:-1], unions.num_edges)]
    expected = [degree_one_to[min(a, b), max(a, b)] for a, b in ends_x.T.tolist()]
    assert unions.edge_attr.tolist() == expected
    assert (unions.extras["member"] == (unions.x > 2)).all()


def test_wrong_sizes_and_disconnected_members_are_refused() -> None:
    with pytest.raises(DataError):
        union_family(csl_members(13), 4)
    with pytest.raises(DataError):
        union_family(join([path(3), one_graph(np.array([[0, 2], [1, 3]]), 4)]), 1)
    with pytest.raises(DataError):
        union_family(join([path(2)] * 30), 15)
