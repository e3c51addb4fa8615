import numpy as np
import pytest
import torch
from torch_geometric.io import read_tu_data

from policylearn.data.convert import pack_tu_folder
from policylearn.data.packed import DataError
from tests.errors import raises_naming

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


def test_a_row_that_is_too_short_is_named(folder):
    (folder / "TOY_graph_attributes.txt").write_text("0.5, 1\n1.5\n2.5, 3\n")
    with raises_naming(DataError, "line 2"):
        pack_tu_folder(folder)
    (folder / "TOY_A.txt").write_text("1, 2\n2, 1.5\n")
    with raises_naming(DataError, "line 2"):
        pack_tu_folder(folder)


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
    ("part", "text", "named"),
    [
        ("A", "1, 2\n2, 4\n" + "1, 2\n" * 4, "TOY_A.txt, line 2: joins nodes 2 and 4"),
        ("A", "1, 2\n0, 1\n", "TOY_A.txt, line 2"),
        ("A", "1, 2\n1, 7\n", "TOY_A.txt, line 2"),
        ("A", "1\n2\n", "TOY_A.txt"),
        ("A", "1, 2\n1, two\n", "TOY_A.txt.*two"),
        ("graph_indicator", "1\n2\n1\n2\n2\n3\n", "line 3: graph 1"),
        ("graph_indicator", "1\n1\n1\n3\n3\n4\n", "line 4: graph 3"),
        ("graph_indicator", "0\n0\n0\n1\n1\n2\n", "line 1: graph 0"),
        ("graph_indicator", "", "graph_indicator.txt"),
        ("graph_indicator", "1\n1\n1\n2\n2\n2\n", "graph_labels.txt"),
        ("graph_labels", "1\n\n1\n", "graph_labels.txt"),
        ("graph_labels", "1, 0\n1, 0\n0, 0\n", "graph_labels.txt"),
        ("graph_labels", "1\n0.5\n1\n", "graph_labels.txt"),
        ("node_labels", "1\n", "node_labels.txt"),
        ("node_labels", "1\n2\n3\n4\n5\n99999999\n", "99999999"),
        ("node_labels", "1\n2\n3\n4\n5\n99999999999999999999\n", r"e\+20"),
        ("node_attributes", "1.\n" * 5 + "1e999\n", "attributes.txt.*inf"),
        ("edge_attributes", "1e95\n" * 6, r"attributes.txt.*1e\+95"),
        ("node_labels", "1\n" * 5 + "\U0010ffff1\n", "node_labels.txt"),
        ("node_labels", "1\n" * 5 + "٣\n", "node_labels.txt"),
        ("node_attributes", "nan\n" * 6, "line 1"),
        ("edge_labels", "1\n", "edge_labels.txt"),
    ],
)
def test_broken_files_are_named(folder, part, text, named):
    (folder / f"TOY_{part}.txt").write_text(text)
    with pytest.raises(DataError, match=named):
        pack_tu_folder(folder)


def test_which_dataset_must_be_clear(folder):
    (folder / "TOY_graph_labels.txt").unlink()
    with raises_naming(DataError, "TOY_graph_labels"):
        pack_tu_folder(folder)
    with raises_naming(DataError, "OTHER_graph_indicator"):
        pack_tu_folder(folder, "OTHER")
    (folder / "OTHER_A.txt").write_text("")
    with raises_naming(DataError, "OTHER, TOY"):
        pack_tu_folder(folder)
    with pytest.raises(DataError):
        pack_tu_folder(folder / "nowhere")


def test_one_hot_is_a_partition(folder):
    packed = pack_tu_folder(folder)
    assert torch.from_numpy(packed.edge_attr).sum(1).eq(1).all()
