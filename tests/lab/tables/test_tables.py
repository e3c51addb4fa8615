"""Peers on tables: every method gets the same rows, and the scores are what they say."""

import csv
import io
import json
import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from lab.tables.inner_splits import inner_split
from lab.tables.peers import PeerJob, jobs, score
from lab.tables.splits import TABLES, SplitTable, split_file, split_text, split_words
from lab.tables.summary import compare, read
from policylearn.data import read_csv
from tests.errors import raises_naming

FREESOLV = TABLES["freesolv"]
LABELS = SplitTable("labels", ("a", "b"), "classification", seeds=1)


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data root with a FreeSolv of 30 alkanes and a packed molesol of three molecules, one of them unreadable."""
    root = tmp_path / "data"
    (root / "tables").mkdir(parents=True)
    lines = [f"name,{'C' * (1 + size)},{-size / 4},0" for size in range(30)]
    (root / "tables" / "freesolv.csv").write_text("\n".join(["iupac,smiles,expt,calc", *lines]) + "\n")
    np.savez(
        root / "ogbg-molesol.npz",
        smiles=np.frombuffer(b"CO \nO[AlH3](O)O\nCN", dtype=np.uint8),
        y=np.array([[0.1], [0.2], [-0.77]], dtype=np.float32),
        train=np.array([2]),
        valid=np.array([1]),
        test=np.array([0]),
    )
    monkeypatch.setenv("POLICYLEARN_DATA", str(root))
    return root


def rows_of(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


@pytest.mark.usefixtures("data")
def test_a_seed_fixes_the_split_and_another_seed_changes_nothing_but_the_split() -> None:
    first, again, other = split_text(FREESOLV, 0), split_text(FREESOLV, 0), split_text(FREESOLV, 1)
    assert first == again
    assert first != other
    one, two = rows_of(first), rows_of(other)
    assert [(row["smiles"], row["expt"]) for row in one] == [(row["smiles"], row["expt"]) for row in two]
    for rows in (one, two):
        assert [sum(row["split"] == part for row in rows) for part in ("train", "val", "test")] == [24, 3, 3]


@pytest.mark.usefixtures("data")
def test_a_packed_table_keeps_its_split_and_loses_what_cannot_be_read() -> None:
    text = split_text(TABLES["ogbg-molesol"], 0)
    assert text == "smiles,y,split\nCO,0.1,test\nCN,-0.77,train\n"
    assert text == split_text(TABLES["ogbg-molesol"], 3)


@pytest.mark.usefixtures("data")
def test_policylearn_reads_the_very_file_of_the_peers(tmp_path: Path) -> None:
    file = split_file(tmp_path, FREESOLV, 0)
    table = read_csv(file, "smiles", "expt", split_column="split")
    split = [row["split"] for row in rows_of(file.read_text())]
    for part, word in (("train", "train"), ("valid", "val"), ("test", "test")):
        assert table.graphs.extras[part].tolist() == [row for row, found in enumerate(split) if found == word]


def test_every_row_needs_one_part() -> None:
    with raises_naming(ValueError, "row 0"):
        split_words({"train": np.array([0, 1]), "test": np.array([0])}, 2)
    with raises_naming(ValueError, "row 1"):
        split_words({"train": np.array([0])}, 2)


def test_scores_leave_out_missing_labels_and_other_parts(tmp_path: Path) -> None:
    file = tmp_path / "labels.csv"
    file.write_text("smiles,a,b,split\nC,1,0,test\nC,0,,test\nC,1,0,train\nC,,0,test\nC,1,0,test\n")
    predicted = pd.DataFrame({"a": [0.9, 0.2, 5.0, 0.1], "b": [0.1, 0.3, 0.0, 0.7]})
    # of 'a' the label 1 stands above 0 in one of two pairs; 'b' has one label only, and no area
    assert score(LABELS, file, predicted) == 0.5
    with raises_naming(ValueError, "(3, 2)"):
        score(LABELS, file, predicted[:3])


def test_the_error_of_a_regression_is_its_root_mean_square(tmp_path: Path) -> None:
    file = tmp_path / "numbers.csv"
    file.write_text("smiles,expt,split\nC,1,test\nC,2,test\nC,9,val\n")
    assert score(FREESOLV, file, pd.DataFrame({"expt": [1.0, 5.0]})) == pytest.approx(math.sqrt(4.5))


def test_each_seed_has_its_peers_in_turn() -> None:
    order = list(jobs(["chemprop", "chemprop-rdkit2d"], ["freesolv", "ogbg-molbace"]))
    assert order[:2] == [PeerJob("chemprop", FREESOLV, 0), PeerJob("chemprop-rdkit2d", FREESOLV, 0)]
    assert [(job.table.name, job.seed) for job in order[19:21]] == [("freesolv", 9), ("ogbg-molbace", 0)]
    assert len(set(order)) == len(order) == 30
    for peers, tables in ((["chempropp"], ["freesolv"]), (["chemprop"], ["freesolvv"])):
        with raises_naming(ValueError, "did you mean"):
            list(jobs(peers, tables))


def write_records(folder: Path, peer: str, tests: list[float]) -> None:
    lines = [{"peer": peer, "seed": seed, "test": test, "cpu_seconds": 2.0} for seed, test in enumerate(tests)]
    with (folder / "freesolv.jsonl").open("a") as file:
        file.writelines(json.dumps(line) + "\n" for line in lines)


def test_methods_are_compared_on_the_seeds_that_all_have(tmp_path: Path) -> None:
    write_records(tmp_path, "chemprop", [1.0, 2.0, 3.0])
    write_records(tmp_path, "ours", [0.5, 1.7])
    seeds, methods = compare(FREESOLV, read([tmp_path], "freesolv"), "chemprop")
    assert seeds == [0, 1]
    assert methods.index.tolist() == ["ours", "chemprop"]
    assert methods["rank"].tolist() == [1, 2]
    assert methods["cpu_seconds"].tolist() == [2.0, 2.0]
    assert methods.loc["ours", ["test", "error", "gain", "gain_error"]].tolist() == pytest.approx([1.1, 0.6, 0.4, 0.1])
    assert methods.loc["chemprop", ["gain", "gain_error"]].tolist() == [0.0, 0.0]


def test_a_run_recorded_twice_is_refused(tmp_path: Path) -> None:
    write_records(tmp_path, "chemprop", [1.0])
    write_records(tmp_path, "chemprop", [1.0])
    with raises_naming(ValueError, "chemprop with seed 0"):
        read([tmp_path], "freesolv")


def test_inner_splits_hold_no_test_row_and_train_on_no_scaffold_that_validates() -> None:
    rings = [f"C1{'C' * size}1" for size in range(2, 41)]
    rows = [{"smiles": ring + more, "y": "0", "split": "train"} for ring in rings for more in ("O", "N")]
    rows += [{"smiles": "CC", "y": "1", "split": "val"}, {"smiles": "CCC", "y": "2", "split": "test"}]
    inner = inner_split(pd.DataFrame(rows), 0, by_scaffold=True).to_dict("records")
    assert {row["smiles"] for row in inner if row["split"] == "test"} == {"CC"}
    assert "CCC" not in {row["smiles"] for row in inner}
    validating = sorted(row["smiles"] for row in inner if row["split"] == "val")
    assert len(validating) == 8
    assert [one[:-1] for one in validating[::2]] == [one[:-1] for one in validating[1::2]], "both of each ring"
    assert (inner_split(pd.DataFrame(rows), 0, by_scaffold=False)["split"] == "val").sum() == 8
