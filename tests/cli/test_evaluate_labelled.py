"""A run on new labelled rows, and folds and repeats of any table."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import policylearn
from policylearn.cli import main
from policylearn.data import DataError
from policylearn.data.preparation import prepare_molecules
from policylearn.data.splits import rotating_folds
from policylearn.prediction.labelled import read_targets
from policylearn.settings import ConfigError
from policylearn.settings.run_config import DataConfig
from policylearn.training import load_source
from tests.training.molecules import molesol, read_table, write_table

SMALL = ["--epochs", "1", "--prediction.channels", "8", "--prediction.layers", "2", "--network-only"]


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    smiles, values = molesol()
    toxic = ["yes" if value < -3 else "no" for value in values[:60]]
    return write_table(
        tmp_path_factory.mktemp("data") / "m.csv", ("smiles", "logS", "toxic"), smiles[:60], values[:60], toxic
    )


def train(table: Path, folder: Path, *words: str) -> Path:
    assert main(["train", str(table), "-o", str(folder), *SMALL, *words]) == 0
    return folder


@pytest.mark.parametrize("target", ["logS", "toxic"])
def test_the_test_part_as_a_new_table_gives_the_logged_figure(
    target: str, table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = train(table, tmp_path / "run", "--target", target, "--data.split", "random")
    rows = [row for row in read_table(run / "predictions.csv") if row["part"] == "test"]
    new = write_table(
        tmp_path / "new.csv",
        ("smiles", target),
        [row["smiles"] for row in rows],
        [row[f"true_{target}"] for row in rows],
    )
    capsys.readouterr()
    assert main(["evaluate", str(run), str(new)]) == 0
    said = capsys.readouterr().out
    assert f"{json.loads((run / 'metrics.json').read_text())['test']:.4f}" in said
    assert ("intervals or sets held" in said) == (target == "toxic")  # six rows calibrate no interval of numbers
    with new.open("a") as file:
        file.write("C1CC,1\nCCO,what\nCCO,\n")
    assert main(["evaluate", str(run), str(new)]) == 1
    assert "6 rows scored, 3 not" in capsys.readouterr().out
    lacking = write_table(tmp_path / "lacking.csv", ("smiles",), ["CCO"])
    assert main(["evaluate", str(run), str(lacking)]) == 2
    assert target in capsys.readouterr().err


@pytest.mark.parametrize(("target", "stratified"), [("logS", False), ("toxic", True)])
def test_folds_of_a_table(target: str, stratified: bool, table: Path) -> None:
    source = load_source(DataConfig(str(table), (target,), split="folds", folds=5))
    splits, y = source.dataset.splits, source.dataset.graphs.y.reshape(-1)
    assert len(splits) == 5
    assert sorted(np.concatenate([split.test for split in splits])) == list(range(60))
    for split in splits:
        assert sorted([*split.train, *split.valid, *split.test]) == list(range(60))
        if stratified:
            assert abs(y[split.test].mean() - y.mean()) < 0.1
    with pytest.raises(ConfigError):
        DataConfig(str(table), (target,), split="folds", folds=2)
    with pytest.raises(DataError):
        load_source(DataConfig(str(table), (target,), split="folds", folds=61))
    assert len(rotating_folds(9, 3, labels=np.array([0] * 8 + [1]))) == 3, "a rare label is not held against it"


def test_every_fold_reports_the_trees_of_its_own_rows(table: Path, tmp_path: Path) -> None:
    words = ["--target", "logS", "--data.split", "folds", "--data.folds", "3", *SMALL[:-1]]
    assert main(["train", str(table), "-o", str(tmp_path / "run"), *words]) == 0
    dataset = load_source(DataConfig(str(table), ("logS",), split="folds", folds=3)).dataset
    found = []
    for number, split in enumerate(dataset.splits):
        folder = tmp_path / "run" / f"fold-{number}"
        predictor = policylearn.load(folder)
        graphs = prepare_molecules([dataset.graphs.smiles[row] for row in split.test], predictor.transforms).graphs
        errors = predictor.blend.trees.predict(graphs) - dataset.graphs.y[split.test]
        found.append(json.loads((folder / "metrics.json").read_text())["alone"]["trees"]["test"])
        assert found[-1] == pytest.approx(float(np.sqrt(np.mean(errors**2))), rel=1e-5)
        assert f"{found[-1]:.4g} on test" in (folder / "report.html").read_text()
    assert len(set(found)) == 3
    whole = json.loads((tmp_path / "run" / "metrics.json").read_text())
    assert whole["alone"]["trees"]["test"] == pytest.approx(np.mean(found))


def test_repeats_are_trained_one_by_one(table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = train(table, tmp_path / "run", "--target", "logS", "--data.split", "random", "--data.repeats", "2")
    metrics = json.loads((folder / "metrics.json").read_text())
    assert len(metrics["folds"]) == 2
    assert metrics["folds"][0] != metrics["folds"][1]
    for fold in ("fold-0", "fold-1"):
        assert (folder / fold / "report.html").exists()
        assert (folder / fold / "predictions.csv").exists()
    assert "±" in capsys.readouterr().out


def test_targets_of_a_row(table: Path) -> None:
    task = load_source(DataConfig(str(table), ("toxic",), split="random")).dataset.task
    assert read_targets(task, {"toxic": "yes"}) == [1.0]
    assert read_targets(task, {"toxic": "no"}) == [0.0]
    assert read_targets(task, {"toxic": ""}) == "no target is known"
    assert "one of no, yes" in read_targets(task, {"toxic": "maybe"})
