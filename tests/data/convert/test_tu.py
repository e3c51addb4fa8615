import numpy as np
import pytest
import torch
from torch_geometric.io import read_tu_data

from policylearn.data.convert import pack_tu_folder
from policylearn.data.packed import DataError

FILES = {
    "A": "1, 2\n2, 1\n2, 3\n3, 2\n4, 5\n5, 4\n",
    "graph_indicator": "1\n1\n1\n2\n2\n3\n",
    "graph_labels": "1\n-1\n1\n",
    "node_labels": "3\n5\n3\n3\n5\n3\n",
    "node_attributes": "0.5, 1\n1.5, 1\n2.5, 1\n3.5, 1\n4.5, 1\n5.5, 1\n",
    "edge_labels": "0\n0\n2\n2\n1\n1\n",
}


@pytest.fixture
def folder(tmp_path):
    for part, text in FILES.items():
        (tmp_path / f"TOY_{part}.txt").write_text(text)
    return tmp_path


def test_same_arrays_as_pyg_reads(folder):
    packed = pack_tu_folder(folder)
    data, slices, _ = read_tu_data(str(folder), "TOY")
    np.testing.assert_array_equal(packed.x, data.x)
    np.testing.assert_array_equal(packed.edge_index, data.edge_index)
    np.testing.assert_array_equal(packed.edge_attr, data.edge_attr)
    np.testing.assert_array_equal(packed.y, data.y)
    np.testing.assert_array_equal(packed.node_ptr, slices["x"])
    np.testing.assert_array_equal(packed.edge_ptr[:-1], slices["edge_index"])  # PyG forgets graph 3, it has no edges
    assert packed.x.dtype == packed.edge_attr.dtype == np.float32


def test_arrays_by_hand(folder):
    packed = pack_tu_folder(folder, "TOY")
    assert packed.x.shape == (6, 5)  # two attributes, then labels 3, 4 and 5
    np.testing.assert_array_equal(packed.x[1], [1.5, 1, 0, 0, 1])
    np.testing.assert_array_equal(packed.edge_ptr, [0, 4, 6, 6])
    np.testing.assert_array_equal(packed.edge_index[:, 4:], [[0, 1], [1, 0]])
    assert packed.y.tolist() == [1, 0, 1]
    assert packed.extras["label_values"].tolist() == [-1, 1]
    assert pack_tu_folder(folder, attributes=False).x.shape == (6, 3)


def test_graph_attributes_are_the_targets(folder):
    (folder / "TOY_graph_attributes.txt").write_text("0.5, 1\n1.5, 2\n2.5, 3\n")
    packed = pack_tu_folder(folder)
    np.testing.assert_array_equal(packed.y, np.array([[0.5, 1], [1.5, 2], [2.5, 3]], dtype=np.float32))


def test_bare_graphs_get_a_constant_column(folder):
    for part in ("node_labels", "node_attributes", "edge_labels"):
        (folder / f"TOY_{part}.txt").unlink()
    packed = pack_tu_folder(folder)
    np.testing.assert_array_equal(packed.x, np.ones((6, 1)))
    assert packed.edge_attr.shape == (6, 0)


def test_edges_in_any_order_loops_and_doubles_stay(folder):
    (folder / "TOY_A.txt").write_text("6, 6\n4, 5\n1, 2\n1, 2\n5, 4\n2, 1\n")
    packed = pack_tu_folder(folder)
    np.testing.assert_array_equal(packed.edge_index, [[0, 0, 1, 0, 1, 0], [1, 1, 0, 1, 0, 0]])
    np.testing.assert_array_equal(packed.edge_attr.argmax(1), [2, 2, 1, 0, 1, 0])


def test_no_edges_at_all(folder):
    (folder / "TOY_A.txt").write_text("")
    (folder / "TOY_edge_labels.txt").write_text("")
    assert pack_tu_folder(folder).edge_ptr.tolist() == [0, 0, 0, 0]


@pytest.mark.parametrize(
    ("part", "text", "message"),
    [
        ("A", "1, 2\n2, 4\n" + "1, 2\n" * 4, r"A.txt, line 2: joins node 2 of graph 1 and node 4 of graph 2"),
        ("A", "1, 2\n0, 1\n", r"A.txt, line 2: joins nodes 0 and 1, but node ids run from 1 to 6"),
        ("A", "1, 2\n1, 7\n", r"A.txt, line 2: joins nodes 1 and 7"),
        ("A", "1\n2\n", r"A.txt, line 1: has 1 numbers"),
        ("A", "1, 2\n1, two\n", r"A.txt, line 2: 'two' is no number"),
        ("graph_indicator", "1\n2\n1\n2\n2\n3\n", r"line 3: graph 1 follows graph 2; sort"),
        ("graph_indicator", "1\n1\n1\n3\n3\n4\n", r"line 4: graph 3 follows graph 1; number graphs without a gap"),
        ("graph_indicator", "0\n0\n0\n1\n1\n2\n", r"line 1: the first node is of graph 0; graphs count from 1"),
        ("graph_indicator", "", r"names no nodes"),
        ("graph_indicator", "1\n1\n1\n2\n2\n2\n", r"graph_labels.txt: has 3 rows for 2 graphs"),
        ("graph_labels", "1\n\n1\n", r"graph_labels.txt, line 2: is empty"),
        ("graph_labels", "1, 0\n1, 0\n0, 0\n", r"graph_labels.txt, line 1: has 2 numbers where one belongs"),
        ("graph_labels", "1\n0.5\n1\n", r"graph_labels.txt, line 2: '0.5' must hold whole"),
        ("node_labels", "1\n", r"node_labels.txt: has 1 rows for 6 nodes"),
        ("node_labels", "1\n2\n3\n4\n5\n99999999\n", r"99999999, which would make 99999999 columns"),
        ("node_labels", "1\n2\n3\n4\n5\n99999999999999999999\n", r"node_labels.txt, line 6: '9+' is not below"),
        ("node_attributes", "1.\n" * 5 + "1e999\n", r"node_attributes.txt, line 6: '1e999' is not below"),
        ("edge_attributes", "1e95\n" * 6, r"edge_attributes.txt, line 1: '1e95' is not below 3.4e\+38"),
        ("node_labels", "1\n" * 5 + "\U0010ffff1\n", r"node_labels.txt, line 6: .* is no number"),
        ("node_labels", "1\n" * 5 + "٣\n", r"node_labels.txt, line 6: '٣' is no number"),
        ("node_attributes", "nan\n" * 6, r"graph 0, x row 0, column 0 is nan"),
        ("edge_labels", "1\n", r"edge_labels.txt: has 1 rows for 6 edges"),
    ],
)
def test_broken_files_are_named(folder, part, text, message):
    (folder / f"TOY_{part}.txt").write_text(text)
    with pytest.raises(DataError, match=message):
        pack_tu_folder(folder)


def test_which_dataset_must_be_clear(folder):
    (folder / "TOY_graph_labels.txt").unlink()
    with pytest.raises(DataError, match=r"neither TOY_graph_labels.txt nor TOY_graph_attributes.txt"):
        pack_tu_folder(folder)
    with pytest.raises(DataError, match=r"OTHER_graph_indicator.txt: no such file"):
        pack_tu_folder(folder, "OTHER")
    (folder / "OTHER_A.txt").write_text("")
    with pytest.raises(DataError, match=r"several datasets \(OTHER, TOY\)"):
        pack_tu_folder(folder)
    with pytest.raises(DataError, match=r"no file NAME_A.txt"):
        pack_tu_folder(folder / "nowhere")


def test_one_hot_is_a_partition(folder):
    packed = pack_tu_folder(folder)
    assert torch.from_numpy(packed.edge_attr).sum(1).eq(1).all()
