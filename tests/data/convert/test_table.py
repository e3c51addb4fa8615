import os
from pathlib import Path

import numpy as np
import pytest
import torch

from policylearn.data.convert import Duplicate, read_csv
from policylearn.data.packed import GRAPH_ARRAYS, DataError, PackedGraphs
from policylearn.data.tasks import Task
from tests.errors import raises_naming

ROOT = Path(os.environ.get("POLICYLEARN_DATA", "/nowhere"))
CARBONS = ["C" * length for length in range(1, 50)]


@pytest.fixture
def write(tmp_path):
    def write_table(text):
        path = tmp_path / "t.csv"
        path.write_text(text)
        return path

    return write_table


def column(values):
    return "smiles,y\n" + "".join(f"{CARBONS[i]},{value}\n" for i, value in enumerate(values))


def test_molesol_from_its_table_is_the_stored_dataset():
    path = ROOT / "official" / "ogbg_molesol" / "mapping" / "mol.csv.gz"
    if not path.exists():
        pytest.skip(f"{path} is absent; set POLICYLEARN_DATA")
    table = read_csv(path, targets="measured log solubility in mols per litre")
    stored = PackedGraphs.load(ROOT / "ogbg-molesol.npz")
    for name in GRAPH_ARRAYS:
        np.testing.assert_array_equal(getattr(table.graphs, name), getattr(stored, name), err_msg=name)
    np.testing.assert_allclose(table.task.scaling.shift, stored.y.mean(0), rtol=1e-5)
    np.testing.assert_allclose(table.task.scaling.scale, stored.y.std(0), rtol=1e-5)
    assert (table.task.loss, table.task.metric) == ("mse", "rmse")
    assert len(table.report.duplicates) == 11
    assert table.report.kept == 1128


@pytest.mark.parametrize(
    ("values", "kind", "classes", "y"),
    [
        ([0, 1, 1], "binary", (), [[0], [1], [1]]),
        (["1.0", "0.0", "1"], "binary", (), [[1], [0], [1]]),
        ([-1, 1, 1], "binary", ("-1", "1"), [[0], [1], [1]]),
        (["toxic", "safe", "toxic"], "binary", ("safe", "toxic"), [[1], [0], [1]]),
        (["red", "blue", "green", "red"], "classes", ("blue", "green", "red"), [2, 0, 1, 2]),
        ([0, 1, 2], "regression", (), [[0], [1], [2]]),
        ([0.5, 1.5], "regression", (), [[0.5], [1.5]]),
        (["1e-1", "-2", "+3.5"], "regression", (), [[0.1], [-2], [3.5]]),
    ],
)
def test_the_task_is_inferred(write, values, kind, classes, y):
    table = read_csv(write(column(values)))
    assert (table.task.kind, table.task.classes) == (kind, classes)
    np.testing.assert_allclose(table.graphs.y, y)
    assert table.task.targets == ("y",)
    assert "column 'y' holds" in table.explanation
    assert table.task.metric in table.explanation
    assert table.graphs.extras.get("classes", np.array([])).tolist() == list(classes)


def test_the_task_can_be_stated(write):
    path = write(column([0, 1, 1, 2]))
    classes = read_csv(path, task="classes")
    assert classes.task.classes == ("0", "1", "2")
    assert classes.graphs.y.tolist() == [0, 1, 1, 2]
    assert "stated" in classes.explanation
    with pytest.raises(DataError):
        read_csv(path, task="binary")
    two = write(column([0, 1]))
    assert read_csv(two, task="regression").task.kind == "regression"
    numbered = read_csv(write(column([10, 9, 10.0, 2])), task="classes")
    assert numbered.task.classes == ("2", "9", "10")
    with pytest.raises(DataError):
        read_csv(write(column(["a", "a"])), task="classes")


def test_several_targets_may_have_gaps(write):
    path = write("smiles,a,b,c\nC,1,,x\nCC,,0,x\nCCC,,NaN,y\nCCCC,0,1,y\n")
    binary = read_csv(path, targets=["a", "b"])
    assert (binary.task.kind, binary.task.outputs, binary.task.metric) == ("binary", 2, "rocauc")
    np.testing.assert_array_equal(binary.graphs.y, [[1, np.nan], [np.nan, 0], [np.nan, np.nan], [0, 1]])
    with raises_naming(DataError, "'a'"):
        read_csv(path, targets=["a"])
    with raises_naming(DataError, "0, 1, x, y"):
        read_csv(path, targets=["a", "c"])
    with raises_naming(DataError, "classes", "a, b"):
        read_csv(path, targets=["a", "b"], task="classes")

    numbers = read_csv(write("smiles,a,b\nC,1.5,\nCC,,0\nCCC,2.5,\n"), targets=["a", "b"])
    assert (numbers.task.kind, numbers.task.outputs) == ("regression", 2)
    assert numbers.task.scaling.shift == (2.0, 0.0)
    assert numbers.task.scaling.scale == (0.5, 1.0)  # a column without spread keeps its scale
    y = torch.from_numpy(numbers.graphs.y)
    assert torch.isfinite(numbers.task.compute_loss(torch.zeros(3, 2), y))


def test_one_class_alone_in_a_column_of_many_tasks(write):
    table = read_csv(write("smiles,a,b\nC,1,1\nCC,1,0\n"), targets=["a", "b"])
    assert table.task == Task("binary", "bce", "rocauc", ("a", "b"))


def test_bad_rows_raise_or_are_skipped_and_reported(write):
    text = "smiles,y\nCCO,1.5\nC1CC,2\n,3\nCC,four\nCCC,\nCCCC,5\nCCCCC\n"
    path = write(text)
    with raises_naming(DataError, "line 3", "'C1CC'", "4 more"):
        read_csv(path)
    table = read_csv(path, on_error="skip")
    report = table.report
    assert [row.line for row in report.dropped] == [3, 4, 5, 6, 8]
    assert "'four', which is no number" in report.dropped[2].reason
    assert (report.rows, report.kept, len(table.graphs)) == (7, 2, 2)
    assert table.lines.tolist() == table.graphs.extras["line"].tolist() == [2, 7]
    assert table.graphs.smiles == ["CCO", "CCCC"]
    assert "7 rows, 2 kept, 5 dropped" in report.summary()
    assert "line 5" in report.summary()


def test_a_class_of_dropped_rows_only_is_no_class(write):
    table = read_csv(write("smiles,y\nC,a\nCC,b\nC1,c\n"), on_error="skip")
    assert (table.task.kind, table.task.classes) == ("binary", ("a", "b"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("smiles,y\n", "header"),
        ("smiles,y\nC1,1\nC2,1\n", "line 2.*'C1'"),
        ("smiles,y\nC,\n", "'y'"),
        ("smiles,y\nC,a\nCC,a\n", "'a'"),
        (column([f"name{i}" for i in range(40)]), "40"),
        ("smiles,yy\nC,1\n", "'y'.*'yy'"),
    ],
)
def test_tables_without_a_task(write, text, message):
    with pytest.raises(DataError, match=message):
        read_csv(write(text), on_error="skip")


def test_numbers_must_fit(write):
    path = write(column([1.5, 2.5, "inf", "1_0", "1e39", "0x1F", 3.5, 4.5]))
    assert [row.line for row in read_csv(path, on_error="skip").report.dropped] == [4, 5, 6, 7]


def test_rows_of_empty_cells_are_passed_over(write):
    table = read_csv(write("smiles,y,z\nCCO,1.5,a\n,\nCCC,3.5,c\n"), targets="y")
    assert table.graphs.y.reshape(-1).tolist() == [1.5, 3.5]


def test_a_comma_is_read_in_every_way_that_it_can_be_meant(write):
    reasons = []
    for cell in ("12,010", "1,234,567", "12,010.5"):
        rows = read_csv(write(f'smiles,y\nC,1.5\nCC,2.5\nCCC,"{cell}"\n'), task="regression", on_error="skip")
        reasons.append(rows.report.dropped[0].reason)
    assert all(plain in reason for plain, reason in zip(("12010", "1234567", "12010.5"), reasons, strict=True))
    assert ["decimal" in reason for reason in reasons] == [True, False, False]


def test_duplicates_and_salts(write):
    table = read_csv(write("smiles,y\nCCO,1.5\nOCC,2.5\nCC,1\nCC,1\n[Na+].[Cl-],3\n"))
    assert table.report.duplicates == (Duplicate("CCO", (2, 3), True), Duplicate("CC", (4, 5), False))
    assert len(table.graphs) == 5  # reported, and kept
    assert "2 molecules come more than once, 1 with different targets" in table.report.summary()
    assert "line 6: [Na+].[Cl-]" in table.report.summary()


def test_split_column(write):
    text = "smiles,y,fold\nC,1.0,train\nCC,3.0,Training\nCCC,99.5,val\nCCCC,7.0,test\n"
    table = read_csv(write(text), split_column="fold")
    parts = {part: table.graphs.extras[part].tolist() for part in ("train", "valid", "test")}
    assert parts == {"train": [0, 1], "valid": [2], "test": [3]}
    assert table.task.scaling.shift == (2.0,)  # only the train rows are looked at
    with raises_naming(DataError, "line 6", "'later'"):
        read_csv(write(text + "CCCCC,1,later\n"), split_column="fold")


def test_a_saved_table_loads_back(write, tmp_path):
    graphs = read_csv(write(column(["a", "b", "c"]))).graphs
    graphs.save(tmp_path / "t.npz")
    again = PackedGraphs.load(tmp_path / "t.npz")
    assert again.smiles == ["C", "CC", "CCC"]
    assert again.extras["classes"].tolist() == ["a", "b", "c"]
    assert again.extras["y_names"].tolist() == ["y"]


def test_wrong_arguments(write):
    path = write(column([1, 2]))
    with raises_naming(ValueError, "'on_error'"):
        read_csv(path, on_error="ignore")
    with raises_naming(DataError, "'y'"):
        read_csv(path, targets=[])
