from itertools import combinations
from math import gcd

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from policylearn.data.packed import DataError
from policylearn.data.synthetic import csl_classes, csl_edges, csl_graph, csl_members
from tests.errors import raises_naming
from tests.molecule_graphs import adjacency


def as_networkx(n: int, k: int) -> nx.Graph:
    return nx.from_edgelist(csl_edges(n, k).T.tolist())


@pytest.mark.parametrize(("n", "classes"), [(13, 3), (17, 4), (29, 7)])
def test_the_papers_sizes_have_as_many_classes_as_stated(n: int, classes: int) -> None:
    assert len(csl_classes(n)) == classes


def test_forty_one_nodes_give_the_ten_skips_of_the_csl_dataset() -> None:
    assert csl_classes(41) == (2, 3, 4, 5, 6, 9, 11, 12, 13, 16)


@pytest.mark.parametrize("n", [5, 7, 8, 9, 11, 12, 13, 15, 16, 17, 20, 21, 24])
def test_classes_are_exactly_those_of_isomorphism(n: int) -> None:
    graphs = {k: as_networkx(n, k) for k in range(2, n - 1) if gcd(n, k) == 1}
    representatives = csl_classes(n)
    for one, other in combinations(representatives, 2):
        assert not nx.is_isomorphic(graphs[one], graphs[other]), (n, one, other)
    for k, graph in graphs.items():
        assert sum(nx.is_isomorphic(graph, graphs[chosen]) for chosen in representatives) == 1, (n, k)


@given(n=st.integers(5, 60), data=st.data())
def test_every_csl_graph_is_four_regular_connected_and_a_cycle_with_skips(n: int, data: st.DataObject) -> None:
    usable = [k for k in range(2, n - 1) if gcd(n, k) == 1]
    if not usable:
        assert csl_classes(n) == ()
        return
    k = data.draw(st.sampled_from(usable))
    dense = adjacency(csl_graph(n, k).validate())
    assert (dense.sum(axis=0) == 4).all()
    assert (dense == dense.T).all()
    step = np.subtract.outer(np.arange(n), np.arange(n)) % n
    assert (dense == np.isin(step, [1, n - 1, k, n - k])).all()
    assert nx.is_connected(nx.from_numpy_array(dense))


@pytest.mark.parametrize(("n", "k"), [(13, 1), (13, 12), (13, 0), (13, 14), (12, 3), (6, 5), (4, 2)])
def test_a_skip_that_is_none_is_refused_with_a_remedy(n: int, k: int) -> None:
    with raises_naming(DataError, f"CSL({n}, {k})"):
        csl_edges(n, k)


def test_sizes_without_any_skip_are_refused() -> None:
    assert csl_classes(6) == ()
    with pytest.raises(DataError):
        csl_members(6)


def test_members_hold_one_graph_a_class_in_order() -> None:
    members = csl_members(17)
    assert members.y.tolist() == [0, 1, 2, 3]
    for number, k in enumerate(csl_classes(17)):
        assert (adjacency(members, number) == adjacency(csl_graph(17, k))).all()
