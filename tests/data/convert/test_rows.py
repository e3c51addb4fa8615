import gzip

import pytest

from policylearn.data.convert import open_rows
from policylearn.data.packed import DataError
from tests.errors import raises_naming


def rows_of(path, columns=()):
    with open_rows(path, columns, smiles="smiles") as rows:
        yield from rows


def read(path, text, **options):
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return list(rows_of(path, **options))


def test_lines_are_counted_as_a_person_does(tmp_path):
    text = 'smiles,y,note\nC,1,\n\nCC,2,"a\nb"\n , ,\n"CCC",3,"x, ""y"""\n'
    rows = read(tmp_path / "t.csv", text)
    assert [row.line for row in rows] == [2, 4, 6, 7]
    assert [row.fields["smiles"] for row in rows] == ["C", "CC", "", "CCC"]
    assert rows[1].fields["note"] == "a\nb"
    assert rows[3].fields["note"] == 'x, "y"'


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("t.csv", "smiles,y\nCC,1\n"),
        ("t.csv", "smiles,y\r\nCC,1\r\n"),
        ("t.csv", "\ufeffsmiles,y\nCC,1"),
        ("t.csv", "\n\nsmiles , y,\nCC ,1,\n"),
        ("t.csv", "smiles;y\nCC;1\n"),
        ("t.csv", "smiles\ty\nCC\t1\n"),
        ("t.tsv", "smiles\ty\nCC\t1\n"),
        ("t.csv", '"smiles","y"\n"CC","1"\n'),
        ("t.csv.gz", gzip.compress(b"smiles,y\nCC,1\n", mtime=0)),
        ("t.tsv.gz", gzip.compress(b"smiles\ty\nCC\t1\n", mtime=0)),
    ],
)
def test_kinds_of_files(tmp_path, name, text):
    (row,) = read(tmp_path / name, text, columns=["y"])
    assert (row.fields["smiles"], row.fields["y"], row.problem) == ("CC", "1", "")


def test_bad_rows_come_with_their_problem(tmp_path):
    rows = read(tmp_path / "t.csv", 'smiles,y\nCC\nC,1,2\n"C"x,1\nC,1,,\nCCC,3\n')
    assert [bool(row.problem) for row in rows] == [True, True, True, False, False]
    assert "has 1 cells, the header 2" in rows[0].problem
    assert "has 3 cells" in rows[1].problem
    assert "not valid CSV" in rows[2].problem
    assert rows[4].fields["smiles"] == "CCC"


def test_rows_keep_their_cells_as_they_stand(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(' smiles,y\n C ,1\n\n  \n,\nCC\n"C"x,1\n')
    with open_rows(path, ("y",)) as rows:
        assert rows.header == ["smiles", "y"]
        kept = list(rows)
    assert [row.cells for row in kept] == [(" C ", "1"), ("", ""), ("CC",), ()]
    assert [row.line for row in kept] == [2, 5, 6, 7]


def test_rows_stream(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(b"smiles\nC\nCC\n\xff\n")
    rows = rows_of(path)
    assert next(rows).fields == {"smiles": "C"}  # the broken end was not touched yet


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "t.csv: is empty"),
        (" \n\n", "t.csv: is empty"),
        ("smile,y\nC,1\n", "line 1.*'smiles'.*'smile'"),
        ("id,y\nC,1\n", "'smiles'.*'id', 'y'"),
        ("smiles,smiles\nC,1\n", "'smiles' 2 times"),
        ('smiles\nC\n"CC\nC\n', "t.csv, line 3.*quote"),
        ("smiles,y\rC,1\rCC,2\r", "t.csv, line 1"),
        ("smiles\nC\n".encode("utf-16") + b"C", "UTF-16"),
    ],
)
def test_files_that_cannot_be_read(tmp_path, text, message):
    with pytest.raises(DataError, match=message):
        read(tmp_path / "t.csv", text)


def test_absent_and_damaged_files(tmp_path):
    with raises_naming(DataError, "nowhere.csv"):
        list(rows_of(tmp_path / "nowhere.csv"))
    with pytest.raises(DataError):
        list(rows_of(tmp_path))
    with pytest.raises(DataError):
        read(tmp_path / "t.csv.gz", "smiles\nC\n")
    with pytest.raises(DataError):
        read(tmp_path / "t.csv.gz", gzip.compress(b"smiles\n" + b"C\n" * 50)[:-12])
