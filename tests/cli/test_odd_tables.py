"""Odd tables: names with markup, targets without labels, large offsets, long ids, signs of spreadsheets."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from policylearn.cli import main
from policylearn.data import DataError, read_table
from tests.errors import raises_naming
from tests.training.molecules import molesol

QUICK = [
    "--network-only",
    "--epochs",
    "1",
    "--prediction.channels",
    "4",
    "--prediction.layers",
    "1",
    "--policy",
    "none",
]


def write(path: Path, header: list[str], rows: list[tuple[object, ...]]) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([header, *rows])
    return path


def train(table: Path, folder: Path, *words: str) -> int:
    return main(["train", str(table), "-o", str(folder), *QUICK, *words])


def column(path: Path, name: str) -> list[str]:
    with path.open(newline="", encoding="utf-8") as file:
        return [row[name] for row in csv.DictReader(file)]


def test_markup_in_names_is_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    smiles, values = molesol()
    table = write(tmp_path / "m[bold].csv", ["smiles", "a[/red]"], list(zip(smiles[:40], values[:40], strict=True)))
    assert train(table, tmp_path / "run", "--target", "a[/red]", "--data.split", "random") == 0
    assert main(["predict", str(tmp_path / "run"), str(table), "-o", str(tmp_path / "out[/b].csv")]) == 0
    assert main(["evaluate", str(tmp_path / "run"), str(table)]) == 0
    said = capsys.readouterr()
    assert "m[bold].csv" in said.out
    assert "a[/red]" in said.out
    assert main(["info", str(tmp_path / "run")]) == 0
    told = capsys.readouterr().out
    assert "m[bold].csv" in told
    assert "regression of a[/red]," in told
    assert main(["explain", str(tmp_path / "run"), str(table), "-o", str(tmp_path / "out[/b].html")]) == 0
    assert "out[/b].html" in capsys.readouterr().out


def test_a_target_without_a_label_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    smiles, values = molesol()
    rows = [(text, value, "") for text, value in zip(smiles[:40], values[:40], strict=True)]
    table = write(tmp_path / "m.csv", ["smiles", "known", "empty"], rows)
    for targets in (["known", "empty"], ["empty"]):
        with raises_naming(DataError, "no row has a value of 'empty'"):
            read_table(table, targets=targets)
    parts = ["train"] * 30 + ["valid"] * 5 + ["test"] * 5
    rows = [
        (text, value, value if part != "train" else "", part)
        for (text, value, _), part in zip(rows, parts, strict=True)
    ]
    table = write(tmp_path / "n.csv", ["smiles", "known", "late", "part"], rows)
    assert train(table, tmp_path / "run", "--target", "known", "late", "--data.split_column", "part") == 2
    assert "'late'" in capsys.readouterr().err


def test_an_interval_that_cannot_be_calibrated_is_empty(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    smiles, values = molesol()
    parts = ["train"] * 30 + ["valid"] * 2 + ["test"] * 8
    table = write(tmp_path / "m.csv", ["smiles", "y", "part"], list(zip(smiles[:40], values[:40], parts, strict=True)))
    assert train(table, tmp_path / "run", "--target", "y", "--data.split_column", "part") == 0
    said = capsys.readouterr().out
    assert "9 labels" in said
    assert "--interval 0.6" in said
    assert main(["predict", str(tmp_path / "run"), str(table), "-o", str(tmp_path / "out.csv")]) == 0
    said = capsys.readouterr().err
    assert "2 validation labels of y" in said
    assert "--interval 0.6" in said
    assert set(column(tmp_path / "out.csv", "lower_y")) == {""}
    assert "inf" not in (tmp_path / "out.csv").read_text()
    page = tmp_path / "page.html"
    assert main(["explain", str(tmp_path / "run"), str(table), "-o", str(page)]) == 0
    assert "-inf" not in page.read_text()
    assert main(["report", str(tmp_path / "run")]) == 0
    assert "none: too few labels" in (tmp_path / "run" / "report.html").read_text()


def test_large_offsets_keep_their_digits(tmp_path: Path) -> None:
    smiles, values = molesol()
    table = write(
        tmp_path / "m.csv",
        ["smiles", "y"],
        [(s, f"{1e8 + float(v):.3f}") for s, v in zip(smiles[:60], values[:60], strict=True)],
    )
    read = read_table(table, targets="y")
    np.testing.assert_allclose(read.graphs.y[:, 0] - 1e8, np.array(values[:60], float), atol=1e-3)
    assert train(table, tmp_path / "run", "--target", "y", "--data.split", "random") == 0
    assert main(["predict", str(tmp_path / "run"), str(table), "-o", str(tmp_path / "out.csv")]) == 0
    predicted = np.array(column(tmp_path / "out.csv", "predicted_y"), float) - 1e8
    assert len(np.unique(predicted)) > 50
    assert np.abs(predicted).max() < 100


def test_models_beside_the_network_keep_the_digits_of_large_offsets(tmp_path: Path) -> None:
    smiles, values = molesol()
    alone = []
    for name, offset in (("near", 0.0), ("far", 1e8)):
        rows = [(s, f"{offset + float(v):.2f}") for s, v in zip(smiles[:60], values[:60], strict=True)]
        table = write(tmp_path / f"{name}.csv", ["smiles", "y"], rows)
        words = ["--target", "y", "--data.split", "random", "--epochs", "1", "--prediction.channels", "4"]
        assert main(["train", str(table), "-o", str(tmp_path / name), *words]) == 0
        alone.append(json.loads((tmp_path / name / "metrics.json").read_text())["alone"])
    near, far = alone
    for model in ("kernel", "trees"):
        assert far[model] == {part: pytest.approx(value, rel=0.02) for part, value in near[model].items()}


def test_labels_beyond_2_to_the_53_stay_apart(tmp_path: Path) -> None:
    ids = ["9007199254740992", "9007199254740993"] * 10
    table = write(tmp_path / "m.csv", ["smiles", "y"], list(zip(["CC", "CCO"] * 10, ids, strict=True)))
    read = read_table(table, targets="y", task="classes")
    assert read.task.classes == ("9007199254740992", "9007199254740993")
    assert any("ids" in note and "'y'" in note for note in read.report.notes)


@pytest.mark.parametrize("minus", ["-", "\u2212"])
def test_a_minus_sign_of_a_spreadsheet_is_a_minus(tmp_path: Path, minus: str) -> None:
    rows = [("C" * n, f"{minus}{n}.5") for n in range(1, 40)]
    read = read_table(write(tmp_path / "m.csv", ["smiles", "y"], rows), targets="y")
    assert read.task.kind == "regression"
    assert read.graphs.y[2, 0] == -3.5


def test_a_comma_is_explained_in_both_readings(tmp_path: Path) -> None:
    rows = [("C" * n, f"{n},010") for n in range(1, 20)]
    with raises_naming(DataError, "line 2", "1010", "1.010"):
        read_table(write(tmp_path / "m.csv", ["smiles", "y"], rows), targets="y")


@pytest.mark.parametrize("value", ["1.7e308", "-1.7e308", "3.3e38"])
def test_targets_near_the_largest_number_give_one_message(tmp_path: Path, value: str) -> None:
    rows = [("C" * n, value if n == 5 else str(n / 3)) for n in range(1, 30)]
    table = write(tmp_path / "m.csv", ["smiles", "y"], rows)
    if "308" in value:
        with raises_naming(DataError, "line 6", value, "3.4e+38"):
            read_table(table, targets="y")
    else:
        assert read_table(table, targets="y").graphs.y.max() > 3e38


@pytest.mark.parametrize("size", [3e38, 1e-30])
def test_targets_at_the_ends_of_single_precision_are_learned(
    tmp_path: Path, size: float, recwarn: pytest.WarningsRecorder
) -> None:
    smiles, _ = molesol()
    rows = [(text, size * (1 + len(text) % 7 / 100)) for text in smiles[:60]]
    table = write(tmp_path / "m.csv", ["smiles", "y"], rows)
    words = ["--target", "y", "--data.split", "random", "--epochs", "1", "--prediction.channels", "4"]
    assert main(["train", str(table), "-o", str(tmp_path / "run"), *words]) == 0
    assert not [one for one in recwarn if issubclass(one.category, RuntimeWarning)]
    assert main(["predict", str(tmp_path / "run"), str(table), "-o", str(tmp_path / "out.csv")]) == 0
    predicted = np.array(column(tmp_path / "out.csv", "predicted_y"), float) / size
    assert predicted.min() > 0.9
    assert predicted.max() < 1.2
    assert len(np.unique(predicted)) > 30


def test_a_column_of_too_large_numbers_is_no_column_of_labels(tmp_path: Path) -> None:
    table = write(tmp_path / "m.csv", ["smiles", "y"], [("C" * n, f"{1.5e308 + n * 1e305}") for n in range(1, 40)])
    with raises_naming(DataError, "line 2", "3.4e+38"):
        read_table(table, targets="y")
    ids = ["1" * 45, "2" * 45] * 10
    table = write(tmp_path / "ids.csv", ["smiles", "y"], list(zip(["CC", "CCO"] * 10, ids, strict=True)))
    assert read_table(table, targets="y").task.classes == ("1" * 45, "2" * 45)


def test_a_name_behind_a_molecule_is_no_salt(tmp_path: Path) -> None:
    rows = [(f"{'C' * n}O No. {n}", n) for n in range(1, 20)]
    report = read_table(write(tmp_path / "m.csv", ["smiles", "y"], rows), targets="y").report
    assert not any("salts" in note for note in report.notes)


def test_a_split_of_train_and_test_alone_gets_a_validation_part(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    smiles, values = molesol()
    parts = ["train"] * 50 + ["test"] * 10
    table = write(tmp_path / "m.csv", ["smiles", "y", "split"], list(zip(smiles[:60], values[:60], parts, strict=True)))
    words = ["--target", "y", "--data.split", "column", "--data.split_column", "split"]
    assert train(table, tmp_path / "run", *words) == 0
    said = capsys.readouterr().err
    assert "45 / 5 / 10" in said
    assert "5 of the 50 training rows" in said
    assert [int(row) for row in column(tmp_path / "run" / "predictions.csv", "graph")][-10:] == list(range(50, 60))


def test_test_figures_by_group(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    smiles, values = molesol()
    groups, parts = ["0", "1"] * 30, ["train"] * 30 + ["valid"] * 10 + ["test"] * 20
    rows = list(zip(smiles[:60], values[:60], groups, parts, strict=True))
    table = write(tmp_path / "m.csv", ["smiles", "y", "cliff", "split"], rows)
    words = ["--target", "y", "--data.split_column", "split", "--data.group_column", "cliff"]
    assert train(table, tmp_path / "run", *words) == 0
    assert "where cliff 1:" in capsys.readouterr().out
    metrics = json.loads((tmp_path / "run" / "metrics.json").read_text())
    parts, groups, truth, guess = (
        column(tmp_path / "run" / "predictions.csv", name) for name in ("part", "group", "true_y", "predicted_y")
    )
    chosen = [at for at in range(len(parts)) if parts[at] == "test" and groups[at] == "1"]
    errors = [float(guess[at]) - float(truth[at]) for at in chosen]
    assert metrics["groups"]["1"]["rows"] == len(errors) == 10
    assert metrics["groups"]["1"]["metric"] == pytest.approx(np.sqrt(np.mean(np.square(errors))), rel=1e-5)
    assert train(table, tmp_path / "no", "--target", "y", "--data.split", "random", "--data.group_column", "clif") == 2
    assert "'cliff'" in capsys.readouterr().err
