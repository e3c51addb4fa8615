"""Random damage: whatever comes in, a converter gives valid graphs or a `DataError`, and no half-written file."""

import csv
import gzip
import io

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from policylearn.data.convert import pack_ogb_folder, pack_tu_folder, read_csv
from policylearn.data.packed import DataError
from tests.errors import raises_naming

SHARED_FOLDER = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])

smiles = st.sampled_from(["C", "CCO", "c1ccccc1", "[Na+].[Cl-]", "C1", "N(C)(C)(C)(C)C", "", "?"]) | st.text(max_size=6)
cells = st.sampled_from(["1", "0", "2.5", "-3e2", "", "nan", "x", "inf", "1,5", '"', "a\nb"]) | st.text(max_size=5)
TU = {
    "A": "1, 2\n2, 1\n3, 4\n4, 3\n",
    "graph_indicator": "1\n1\n2\n2\n",
    "graph_labels": "0\n1\n",
    "node_labels": "0\n1\n1\n0\n",
    "edge_attributes": "0.5\n0.5\n1.5\n1.5\n",
}

OGB = {
    "raw/num-node-list": "2\n1\n",
    "raw/num-edge-list": "1\n0\n",
    "raw/edge": "0,1\n",
    "raw/node-feat": "5,0\n6,1\n7,0\n",
    "raw/edge-feat": "0.5\n",
    "raw/graph-label": "1,\n0,1\n",
    "split/scaffold/train": "0\n",
    "split/scaffold/valid": "1\n",
    "split/scaffold/test": "",
    "mapping/mol": "a,smiles\n1,CO\n0,N\n",
}


def written(rows):
    text = io.StringIO()
    csv.writer(text).writerows([["smiles", "y", "z"], *rows])
    return text.getvalue().encode("utf-8", "surrogatepass")


@SHARED_FOLDER
@given(
    rows=st.lists(st.tuples(smiles, cells, cells), min_size=1, max_size=8),
    targets=st.sampled_from([["y"], ["y", "z"]]),
    task=st.sampled_from([None, "regression", "binary", "classes"]),
)
def test_every_row_is_kept_or_reported(tmp_path, rows, targets, task):
    path = tmp_path / "t.csv"
    path.write_bytes(written(rows))
    blank = sum(not any(cell.strip() for cell in row) for row in rows)
    try:
        table = read_csv(path, targets=targets, task=task, on_error="skip")
    except DataError as error:
        assert "t.csv" in str(error)  # noqa: PT017 - either outcome is right
        return
    assert table.report.rows == len(rows) - blank
    assert len(table.graphs) + len(table.report.dropped) == table.report.rows
    assert table.graphs.validate() is table.graphs
    assert len(table.graphs.smiles) == len(table.lines) == len(table.graphs)
    assert not set(table.lines.tolist()) & {row.line for row in table.report.dropped}
    if table.report.dropped:
        with raises_naming(DataError, f"line {table.report.dropped[0].line}:"):
            read_csv(path, targets=targets, task=task)
    else:
        np.testing.assert_array_equal(read_csv(path, targets=targets, task=task).graphs.y, table.graphs.y)


@SHARED_FOLDER
@given(content=st.binary(max_size=60) | st.binary(max_size=30).map(lambda tail: b"smiles,y\nCC,1\n" + tail))
def test_random_bytes_are_a_table_or_a_data_error(tmp_path, content):
    for name in ("t.csv", "t.csv.gz"):
        (tmp_path / name).write_bytes(content)
        try:
            read_csv(tmp_path / name, on_error="skip")
        except DataError as error:
            assert name in str(error)  # noqa: PT017 - either outcome is right


@SHARED_FOLDER
@given(
    part=st.sampled_from(sorted(TU)),
    position=st.integers(0, 30),
    junk=st.sampled_from(["", "9", "-", "x", ",", "\n", "\n\n", ".", "nan", "1e9", "\r", "\0", " ", "é"])
    | st.text(max_size=4),
    cut=st.integers(0, 6),
)
def test_damaged_tu_folders(tmp_path, part, position, junk, cut):
    for name, text in TU.items():
        broken = text[:position] + junk + text[position + cut :] if name == part else text
        (tmp_path / f"TOY_{name}.txt").write_bytes(broken.encode("utf-8", "surrogatepass"))
    try:
        packed = pack_tu_folder(tmp_path)
    except DataError as error:
        assert str(tmp_path) in str(error)  # noqa: PT017 - either outcome is right
        return
    assert packed.validate() is packed


@SHARED_FOLDER
@given(
    part=st.sampled_from(sorted(OGB)),
    position=st.integers(0, 30),
    junk=st.sampled_from(["", "9", "-", "x", ",", "\n", ".", "nan", "1e9", "\r", '"', " "]) | st.text(max_size=4),
    cut=st.integers(0, 6),
)
def test_damaged_ogb_folders(tmp_path, part, position, junk, cut):
    for name, text in OGB.items():
        broken = text[:position] + junk + text[position + cut :] if name == part else text
        file = tmp_path / f"{name}.csv.gz"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(gzip.compress(broken.encode("utf-8", "surrogatepass"), compresslevel=0))
    try:
        packed = pack_ogb_folder(tmp_path)
    except DataError as error:
        assert str(tmp_path) in str(error)  # noqa: PT017 - either outcome is right
        return
    assert packed.validate() is packed
    assert len(packed.smiles) == len(packed) == 2


def test_a_failed_save_leaves_nothing_behind(tmp_path, monkeypatch):
    path = tmp_path / "t.csv"
    path.write_text("smiles,y\nC,1.5\nCC,2\n")
    graphs = read_csv(path).graphs
    target = tmp_path / "packed" / "t.npz"
    graphs.save(target)
    before = target.read_bytes()

    def fail_midway(file, **arrays):
        file.write(b"half a file")
        raise OSError("no space left on device")

    monkeypatch.setattr(np, "savez_compressed", fail_midway)
    for file in (target, tmp_path / "packed" / "new.npz"):
        with raises_naming(OSError, "no space"):
            graphs.save(file)
    assert [entry.name for entry in target.parent.iterdir()] == ["t.npz"]
    assert target.read_bytes() == before


def test_a_failed_conversion_writes_nothing(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("smiles,y\nC,1.5\nC1,2\n")
    with pytest.raises(DataError):
        read_csv(path).graphs.save(tmp_path / "t.npz")
    assert [entry.name for entry in tmp_path.iterdir()] == ["t.csv"]
