import numpy as np
import pytest
import torch
from torch_geometric.data import Data, HeteroData

from policylearn.data.batches import make_data
from policylearn.data.convert import pack_pyg
from policylearn.data.packed import DataError
from tests.errors import raises_naming

EDGES = torch.tensor([[0, 1], [1, 0]])


def molecules():
    return [
        Data(
            x=torch.tensor([[1, 300], [0, 2], [0, 3]]),
            edge_index=torch.tensor([[0, 1, 2], [1, 0, 2]]),
            edge_attr=torch.tensor([[0.1], [0.2], [0.3]]),
            y=torch.tensor([[1.5, float("nan")]]),
        ),
        Data(
            x=torch.tensor([[-1, 0]]),
            edge_index=torch.empty((2, 0), dtype=torch.int64),
            edge_attr=torch.empty((0, 1)),
            y=torch.tensor([[2.5, 0.0]]),
        ),
    ]


def assert_equal_data(ours: Data, theirs: Data):
    assert set(ours.keys()) == set(theirs.keys())
    for key in theirs.keys():  # noqa: SIM118 - Data is no dictionary
        assert ours[key].dtype == theirs[key].dtype, key
        torch.testing.assert_close(ours[key], theirs[key], rtol=0, atol=0, equal_nan=True)


def test_round_trip():
    packed = pack_pyg(molecules())
    assert packed.x.dtype == np.int16  # the narrowest that holds -1 and 300
    assert packed.edge_attr.dtype == np.float32
    for index, data in enumerate(molecules()):
        assert_equal_data(make_data(packed, index), data)


def test_round_trip_of_node_targets_and_class_ids():
    nodes = [Data(x=torch.rand(n, 2), edge_index=EDGES, y=torch.arange(n)) for n in (2, 3, 2)]
    packed = pack_pyg(nodes)
    assert packed.y.shape == (7,)
    classes = [Data(x=torch.rand(2, 2), edge_index=EDGES, y=torch.tensor([label])) for label in (3, 0)]
    assert pack_pyg(classes).y.tolist() == [3, 0]
    for originals, again in ((nodes, packed), (classes, pack_pyg(classes))):
        for index, data in enumerate(originals):
            assert_equal_data(make_data(again, index), data)


def test_missing_parts():
    packed = pack_pyg([Data(edge_index=EDGES, num_nodes=3), Data(num_nodes=1)])
    np.testing.assert_array_equal(packed.x, np.ones((4, 1)))
    assert packed.edge_attr.shape == (2, 0)
    assert packed.edge_index.shape == (2, 2)
    assert np.isnan(packed.y).all()


def test_shapes_of_targets():
    def pack(*targets, **options):
        return pack_pyg([Data(x=torch.ones(3, 1), edge_index=EDGES, y=y) for y in targets], **options).y

    assert pack(torch.tensor(1.0), torch.tensor(2.0)).shape == (2,)
    assert pack(1, 2).tolist() == [1, 2]
    assert pack(torch.rand(4), torch.rand(4)).shape == (2, 4)
    assert pack(torch.rand(3), torch.rand(3)).shape == (6,)
    assert pack(torch.rand(3), torch.rand(3), level="graph").shape == (2, 3)
    with raises_naming(DataError, "graph 1: 'y'"):
        pack(torch.rand(4), torch.rand(2))
    with raises_naming(DataError, "graph 1"):
        pack(torch.rand(1), None)


def test_smiles_are_kept_and_flat_features_stay_flat():
    graphs = [Data(x=torch.tensor([n] * 2), edge_index=EDGES, edge_attr=torch.ones(2), smiles="CC") for n in (1, 2)]
    packed = pack_pyg(graphs)
    assert packed.smiles == ["CC", "CC"]
    assert packed.x.shape == (4,)
    assert packed.edge_attr.shape == (4,)


@pytest.mark.parametrize(
    ("second", "message"),
    [
        (Data(x=torch.ones(2, 3), edge_index=EDGES), r"'x'.*\(2, 3\).*\(2, 2\)"),
        (Data(x=torch.ones(2, 2).long(), edge_index=EDGES), "'x'.*int64.*float32"),
        (Data(edge_index=EDGES, num_nodes=2), "graph 1.*'x'"),
        (Data(x=torch.ones(2, 2), edge_index=EDGES + 1), "graph 1, edge 0"),
        (Data(x=torch.ones(2, 2), edge_index=EDGES.float()), "graph 1.*'edge_index'"),
        (
            Data(x=torch.ones(2, 2), edge_index=EDGES, edge_attr=torch.ones(3, 1)),
            "'edge_attr', graph 1",
        ),
        (Data(x=torch.full((2, 2), torch.nan), edge_index=EDGES), "graph 1, x row 0.*nan"),
        (Data(x=torch.ones(2, 2), adj_t=EDGES), "graph 1.*sparse"),
        (HeteroData(), "1 is a HeteroData"),
        ("CCO", "1 is a str"),
    ],
)
def test_graphs_that_do_not_fit_are_named(second, message):
    with pytest.raises(DataError, match=message):
        pack_pyg([Data(x=torch.ones(2, 2), edge_index=EDGES), second])


def test_sizes_are_told_not_guessed():
    with raises_naming(DataError, "'num_nodes'"):
        pack_pyg([Data(edge_index=EDGES)])
    with pytest.raises(DataError):
        pack_pyg([Data()])
    with raises_naming(DataError, "graph 0"):
        pack_pyg([Data(x=torch.ones(2, 2), edge_index=EDGES, edge_attr=torch.ones(3, 1))])
    with pytest.raises(DataError):
        pack_pyg([])
