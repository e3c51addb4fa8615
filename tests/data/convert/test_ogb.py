import gzip
import os
import shutil
from pathlib import Path

import numpy as np
import pytest

from policylearn.data.convert import pack_ogb_folder
from policylearn.data.packed import GRAPH_ARRAYS, DataError, PackedGraphs

ROOT = Path(os.environ.get("POLICYLEARN_DATA", "/nowhere"))


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(text.encode()))


@pytest.fixture
def folder(tmp_path):
    """A molecule of three atoms, one of a single atom, one of two."""
    raw = tmp_path / "raw"
    write(raw / "num-node-list.csv.gz", "3\n1\n2\n")
    write(raw / "num-edge-list.csv.gz", "2\n0\n1\n")
    write(raw / "edge.csv.gz", "0,1\n1,2\n1,0\n")
    write(raw / "node-feat.csv.gz", "5,0\n6,0\n7,300\n5,0\n5,0\n5,0\n")
    write(raw / "edge-feat.csv.gz", "0\n1\n2\n")
    write(raw / "graph-label.csv.gz", "1,\n,0\n0,1\n")
    for part, ids in {"train": "2\n0\n", "valid": "1\n", "test": ""}.items():
        write(tmp_path / "split" / "scaffold" / f"{part}.csv.gz", ids)
    write(tmp_path / "mapping" / "mol.csv.gz", 'a,smiles,mol_id\n1,CCO ,"x, y"\n,C,b\n0,CC,c\n')
    return tmp_path


def test_official_folder_gives_exactly_the_stored_file(tmp_path):
    official = ROOT / "official" / "ogbg_molesol"
    if not official.exists():
        pytest.skip(f"{official} is absent; set POLICYLEARN_DATA")
    packed, stored = pack_ogb_folder(official), PackedGraphs.load(ROOT / "ogbg-molesol.npz")
    packed.save(tmp_path / "again.npz")
    for graphs in (packed, PackedGraphs.load(tmp_path / "again.npz")):
        assert graphs.extras.keys() == stored.extras.keys()
        ours, theirs = ({name: getattr(g, name) for name in GRAPH_ARRAYS} | dict(g.extras) for g in (graphs, stored))
        for name, array in theirs.items():
            np.testing.assert_array_equal(ours[name], array, err_msg=name)


def test_edges_go_there_and_back(folder):
    packed = pack_ogb_folder(folder)
    np.testing.assert_array_equal(packed.edge_index, [[0, 1, 1, 2, 1, 0], [1, 0, 2, 1, 0, 1]])
    np.testing.assert_array_equal(packed.edge_attr.ravel(), [0, 0, 1, 1, 2, 2])
    np.testing.assert_array_equal(packed.edge_ptr, [0, 4, 4, 6])
    np.testing.assert_array_equal(packed.y, [[1, np.nan], [np.nan, 0], [0, 1]])
    assert packed.x[2, 1] == 300
    assert packed.smiles == ["CCO ", "C", "CC"]
    assert packed.extras["train"].tolist() == [2, 0]
    assert packed.extras["test"].tolist() == []


def test_directed_datasets_keep_their_edges(folder):
    packed = pack_ogb_folder(folder, add_inverse_edge=False)
    np.testing.assert_array_equal(packed.edge_index, [[0, 1, 1], [1, 2, 0]])


def test_absent_parts_and_real_features(folder):
    for part in ("split", "mapping"):
        shutil.rmtree(folder / part)
    (folder / "raw" / "edge-feat.csv.gz").unlink()
    write(folder / "raw" / "node-feat.csv.gz", "1.0\n2.0\n3.5\n4.0\n5.0\n1e3\n")
    packed = pack_ogb_folder(folder)
    assert packed.x.dtype == np.float32
    assert packed.edge_attr.shape == (6, 0)
    assert not packed.extras
    (folder / "raw" / "node-feat.csv.gz").unlink()
    np.testing.assert_array_equal(pack_ogb_folder(folder).x, np.ones((6, 1)))


@pytest.mark.parametrize(
    ("file", "text", "named"),
    [
        ("raw/edge.csv.gz", "0,1\n1,x\n1,0\n", "edge.csv.gz.*'x'"),
        ("raw/edge.csv.gz", "0,1\n1,2.5\n1,0\n", "edge.csv.gz"),
        ("raw/edge.csv.gz", "0,1\n1,2,3\n1,0\n", "edge.csv.gz.*line 2"),
        ("raw/edge.csv.gz", "0,1\n1,2\n", "edge.csv.gz"),
        ("raw/edge.csv.gz", "0,1\n1,9\n1,0\n", "graph 0, edge 2"),
        ("raw/edge.csv.gz", "0,1,2\n1,2,2\n1,0,2\n", "edge.csv.gz"),
        ("raw/node-feat.csv.gz", "1\n", "node-feat.csv.gz"),
        ("raw/node-feat.csv.gz", "1.\nnan\n1.\n1.\n1.\n1.\n", "line 2"),
        ("raw/graph-label.csv.gz", "1\n", "graph-label.csv.gz"),
        ("raw/num-node-list.csv.gz", "", "num-edge-list.csv.gz"),
        ("raw/num-edge-list.csv.gz", "2\n-1\n2\n", "line 2: -1"),
        ("split/scaffold/test.csv.gz", "7\n", "test.csv.gz.*graph 7"),
        ("split/random/test.csv.gz", "1\n", "random, scaffold"),
        ("mapping/mol.csv.gz", "SMILES\nC\nC\nC\n", "'smiles'"),
        ("mapping/mol.csv.gz", "smiles\nC\n", "mol.csv.gz"),
    ],
)
def test_broken_files_are_named(folder, file, text, named):
    write(folder / file, text)
    with pytest.raises(DataError, match=named):
        pack_ogb_folder(folder)


def test_missing_and_damaged_files(folder):
    with pytest.raises(DataError):
        pack_ogb_folder(folder, split="time")
    path = folder / "raw" / "edge.csv.gz"
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(DataError):
        pack_ogb_folder(folder)
    path.unlink()
    with pytest.raises(DataError):
        pack_ogb_folder(folder)
