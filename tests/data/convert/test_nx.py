import networkx as nx
import numpy as np
import pytest

from policylearn.data.convert import pack_networkx
from policylearn.data.packed import DataError
from tests.errors import raises_naming


def labelled():
    graph = nx.Graph(kind=1, energy=[0.5, 1.5])
    graph.add_node("b", size=2, place=(0.0, 1.0))
    graph.add_node("a", size=300, place=(2.0, 3.0))
    graph.add_edge("a", "b", bond=7)
    graph.add_edge("b", "b", bond=9)
    return graph


def test_nodes_keep_their_order_and_edges_go_both_ways():
    packed = pack_networkx([labelled(), nx.path_graph(0), nx.path_graph(3)], targets=[1, 0, 2])
    np.testing.assert_array_equal(packed.edge_index, [[0, 1, 0, 0, 1, 1, 2], [1, 0, 0, 1, 0, 2, 1]])
    np.testing.assert_array_equal(packed.edge_ptr, [0, 3, 3, 7])
    np.testing.assert_array_equal(packed.x, np.ones((5, 1)))
    assert packed.edge_attr.shape == (7, 0)
    assert packed.y.tolist() == [1, 0, 2]


def test_named_attributes_become_columns():
    packed = pack_networkx([labelled()], node_features=["size", "place"], edge_features=["bond"], targets="kind")
    np.testing.assert_array_equal(packed.x, np.array([[2, 0, 1], [300, 2, 3]], dtype=np.float32))
    np.testing.assert_array_equal(packed.edge_attr, [[7], [7], [9]])
    assert packed.y.tolist() == [1]
    assert pack_networkx([labelled()], node_features=["size"]).x.dtype == np.int16
    assert pack_networkx([labelled()], targets=["kind", "energy"]).y.tolist() == [[1, 0.5, 1.5]]
    assert pack_networkx([labelled()], targets="size", level="node").y.tolist() == [2, 300]


def test_directed_and_parallel_edges_stay():
    directed = nx.DiGraph([(0, 1), (1, 2)])
    parallel = nx.MultiDiGraph([(0, 1), (0, 1)])
    packed = pack_networkx([directed, parallel])
    np.testing.assert_array_equal(packed.edge_index, [[0, 1, 0, 0], [1, 2, 1, 1]])
    assert np.isnan(packed.y).all()


def test_counts_match_networkx_on_random_graphs():
    graphs = [nx.gnp_random_graph(n, 0.3, seed=n) for n in range(1, 12)]
    packed = pack_networkx(graphs)
    assert packed.num_nodes.tolist() == [len(graph) for graph in graphs]
    assert packed.num_edges.tolist() == [2 * graph.number_of_edges() for graph in graphs]
    for number, graph in enumerate(graphs):
        start, end = packed.edge_ptr[number : number + 2]
        assert {tuple(pair) for pair in packed.edge_index[:, start:end].T.tolist()} == set(graph.to_directed().edges)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"node_features": ["mass"]}, "node 'b'.*'mass'"),
        ({"edge_features": ["mass"]}, "edge 'b'.*'mass'"),
        ({"targets": "mass"}, "graph 0.*'mass'"),
        ({"targets": [1, 2]}, r"\(2,\)"),
        ({"targets": [[1, 2], [3]]}, "targets"),
        ({"targets": [1e300]}, r"1e\+300"),
        ({"targets": 3}, r"\(\)"),
    ],
)
def test_missing_attributes_are_named(options, message):
    with pytest.raises(DataError, match=message):
        pack_networkx([labelled()], **options)


def test_widths_and_types():
    other = nx.Graph()
    other.add_node(0, place=(1.0,))
    with raises_naming(DataError, "graph 1, node 0"):
        pack_networkx([labelled(), other], node_features=["place"])
    other.nodes[0]["place"] = "north"
    with raises_naming(DataError, "'north'"):
        pack_networkx([other], node_features=["place"])
    other.nodes[0]["place"] = float("nan")
    with pytest.raises(DataError):
        pack_networkx([other], node_features=["place"])
    with pytest.raises(DataError):
        pack_networkx([[(0, 1)]])
    with pytest.raises(DataError):
        pack_networkx([])
