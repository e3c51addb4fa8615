"""Files as chemists have them; each test is named after a fault that a user met."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest
from rdkit import Chem

from policylearn.data import DataError, read_table
from policylearn.data.convert import is_table, open_rows, table_columns
from tests.data.convert.test_rows import rows_of
from tests.errors import raises_naming

SMILES = ["CCO", "c1ccccc1", "CC(=O)O", "CCN"]
Y = ["1.5", "-0.5", "2", "0.25"]


def csv_text(smiles: str = "smiles", delimiter: str = ",") -> str:
    lines = [delimiter.join(pair) for pair in zip(SMILES, Y, strict=True)]
    return "\n".join([f"{smiles}{delimiter}y", *lines]) + "\n"


def sdf_text() -> str:
    records = []
    for smiles, y in zip(SMILES, Y, strict=True):
        block = Chem.MolToMolBlock(Chem.MolFromSmiles(smiles))
        records.append(f"{block}>  <y>\n{y}\n\n>  <note>  (1)\ntwo\nlines\n\n$$$$\n")
    return "".join(records)


def parquet_bytes(tmp_path: Path) -> bytes:
    import pyarrow
    from pyarrow import parquet

    parquet.write_table(
        pyarrow.table({"smiles": SMILES, "y": [float(y) for y in Y], "on": [True, None, False, True]}), tmp_path / "p"
    )
    return (tmp_path / "p").read_bytes()


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("name", ["t.csv", "t.CSV", "t.tsv", "t.Tsv", "t.txt", "t.smi", "t.SMI", "t.sdf", "t.parquet"])
def test_kinds_of_files_in_any_case_and_packed(tmp_path: Path, name: str, packed: bool) -> None:
    kind = name.lower().rsplit(".", 1)[1]
    content = {
        "csv": csv_text().encode(),
        "txt": csv_text(delimiter=";").encode(),
        "tsv": csv_text(delimiter="\t").encode(),
        "smi": csv_text(delimiter=" ").encode(),
        "sdf": sdf_text().encode(),
    }.get(kind) or parquet_bytes(tmp_path)
    path = tmp_path / (f"{name}.gz" if packed else name)
    path.write_bytes(gzip.compress(content) if packed else content)
    assert is_table(path)
    table = read_table(path)
    np.testing.assert_allclose(table.graphs.y[:, 0], [float(y) for y in Y])
    assert table.graphs.smiles is not None
    assert [Chem.CanonSmiles(text) for text in table.graphs.smiles] == [Chem.CanonSmiles(text) for text in SMILES]
    assert not table.report.notes


def test_other_files_are_no_tables() -> None:
    assert not any(map(is_table, ("zinc", "t.npz", "t.gz", "t.xlsx", "csv", "folder.csv/t.npz")))


@pytest.mark.parametrize("encoding", ["cp1252", "latin-1", "utf-16", "utf-8-sig"])
def test_encodings_of_spreadsheets_are_known_by_themselves(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes("naïve,smiles,y\ncafé,CCO,1.5\nplain,CC,2.5\nstraße,CCC,1\n".encode(encoding))
    with open_rows(path, ("y",), smiles="smiles") as rows:
        assert rows.header == ["naïve", "smiles", "y"]
        assert [row.fields["naïve"] for row in rows] == ["café", "plain", "straße"]
    foreign = encoding in ("cp1252", "latin-1")
    notes = read_table(path).report.notes
    assert notes == (("3 lines are not UTF-8 and were read as Windows-1252",) if foreign else ())


def test_an_unrelated_bad_column_never_fails_a_row(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(b"note,smiles,y\ncaf\xc3\xa9,CCO,1.5\n\x81\x8d\xff\xfe,CC,2.5\n\xe9,CCC,3.5\n")
    table = read_table(path)
    assert table.graphs.y[:, 0].tolist() == [1.5, 2.5, 3.5]
    assert not table.report.dropped


@pytest.mark.parametrize("most", [True, False])
def test_decimal_commas_are_named_as_such(tmp_path: Path, most: bool) -> None:
    path = tmp_path / "t.csv"
    others = ["2,5", "-3,25e2", ",5"] if most else ["2.5", "3", "4"]
    path.write_text("smiles;y\nC;1,5\n" + "".join(f"{'C' * i};{cell}\n" for i, cell in enumerate(others, 2)))
    with raises_naming(DataError, "line 2", "1.5"):
        read_table(path)


def test_decimal_commas_between_commas_are_named_as_such(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("smiles,y\nC,1,5\nCC,2,5\n")
    with raises_naming(DataError, "decimal point"):
        read_table(path)


@pytest.mark.parametrize("name", ["SMILES", "Smiles", "canonical_smiles", "Canonical_SMILES", "isomeric_smiles", "smi"])
def test_the_column_of_molecules_is_found_by_itself(tmp_path: Path, name: str) -> None:
    path = tmp_path / "t.csv"
    path.write_text(csv_text(smiles=name))
    assert len(read_table(path).graphs) == len(SMILES)
    assert [row.fields[name] for row in rows_of(path)] == SMILES


def test_of_several_columns_of_molecules_the_named_one_is_taken(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("canonical_smiles,Smiles,y\nC,CC,1\nC,CCC,2\n")
    assert read_table(path, task="regression").graphs.smiles == ["CC", "CCC"]
    assert read_table(path, smiles="canonical_smiles", task="regression").graphs.smiles == ["C", "C"]
    path.write_text("SMILES,Smiles,y\nC,CC,1\n")
    with raises_naming(DataError, "'SMILES', 'Smiles'"):
        read_table(path)
    with raises_naming(DataError, "'molecule'"):
        read_table(path, smiles="molecule")


def test_without_a_target_the_columns_are_listed(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("SMILES,logP,assay\nC,1,2\n")
    assert table_columns(path) == ["SMILES", "logP", "assay"]
    with raises_naming(DataError, "'logP'"):
        read_table(path, targets=[])


def test_labels_that_differ_in_case_only_are_reported(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("smiles,y\nC,Active\nCC,active\nCCC,inactive\nCCCC,inactive\n")
    table = read_table(path)
    assert table.report.notes == (
        "labels 'Active' and 'active' of 'y' differ in case only and count as different; write them alike",
    )
    assert "⚠ labels 'Active' and 'active'" in table.report.summary()


@pytest.mark.parametrize(
    ("no", "yes"),
    [
        ("inactive", "active"), ("Inactive", "Active"), ("no", "yes"), ("neg", "pos"), ("negative", "positive"),
        ("False", "True"), ("N", "Y"), ("0", "1"), ("a", "b"), ("nontoxic", "toxic"),
    ],
)  # fmt: skip
def test_words_that_mean_yes_are_the_positive_class(tmp_path: Path, no: str, yes: str) -> None:
    path = tmp_path / "t.csv"
    path.write_text(f"smiles,y\nC,{yes}\nCC,{no}\nCCC,{no}\nCCCC,{yes}\n")
    table = read_table(path)
    assert table.task.kind == "binary"
    assert table.graphs.y[:, 0].tolist() == [1, 0, 0, 1]
    assert f"({no} and {yes}), so the task is yes or no, and {yes} is yes" in table.explanation


def test_constant_targets_are_warned_of(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("smiles,y,z\nC,1.50,1\nCC,1.5,2\nCCC,,3\n")
    table = read_table(path, targets=["y", "z"])
    assert table.report.notes == ("target 'y' is 1.5 in every row: there is nothing to learn from it",)


def test_lines_of_a_smiles_file_need_no_header(tmp_path: Path) -> None:
    path = tmp_path / "t.smi"
    path.write_text("CCO ethanol 95 %\n\nCC\n  c1ccccc1\tbenzene\n")
    rows = list(rows_of(path))
    assert [(row.line, row.fields["smiles"], row.fields["name"]) for row in rows] == [
        (1, "CCO", "ethanol 95 %"),
        (3, "CC", ""),
        (4, "c1ccccc1", "benzene"),
    ]


def test_records_of_an_sdf_keep_their_values_and_their_faults(tmp_path: Path) -> None:
    path = tmp_path / "t.sdf"
    good = sdf_text().split("$$$$\n")
    broken = "\n\n\n  1  0  0  0  0  0  0  0  0  0999 V2000\n    0.0\nM  END\n> <y>\n7\n\n"
    path.write_text("$$$$\r\n".join([good[0], broken, good[1]]).replace("\n>  <note>  (1)\ntwo\nlines\n", "\n", 1))
    with open_rows(path, ("y",), smiles="smiles") as rows:
        assert rows.header == ["smiles", "name", "y", "note"]
        first, second, third = rows
    assert first.fields == {"smiles": "CCO", "name": "", "y": "1.5", "note": ""}
    assert second.problem.startswith("RDKit rejects the record")
    assert second.cells[2] == "7"
    assert third.fields["note"] == "two lines"
    assert third.line > second.line > first.line == 1
    assert [row.line for row in read_table(path, on_error="skip").report.dropped] == [second.line]


def test_a_parquet_file_that_is_none_is_named(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    path.write_bytes(b"smiles,y\nC,1\n")
    with pytest.raises(DataError):
        read_table(path)
    path.write_bytes(parquet_bytes(tmp_path))
    (first, second, *_) = rows_of(path)
    assert first.fields == {"smiles": "CCO", "y": "1.5", "on": "1"}
    assert second.fields["on"] == ""
