"""``--ensemble``: members in one folder, answers with a deviation and an interval, taken up again after a stop."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

import policylearn
from policylearn.cli import main
from policylearn.settings import RunConfig
from policylearn.settings.run_files import RunError
from policylearn.training import load_source, train_ensemble
from tests.training.molecules import molesol, read_table, write_table

SMALL = ["--epochs", "2", "--prediction.channels", "8", "--prediction.layers", "2", "--fit.threads", "1"]
SMALL += ["--network-only"]


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    smiles, values = molesol()
    toxic = [int(value < -3) for value in values[:150]]
    return write_table(
        tmp_path_factory.mktemp("data") / "m.csv", ("smiles", "logS", "toxic"), smiles[:150], values[:150], toxic
    )


def train(table: Path, target: str, folder: Path, *more: object, split: str = "random") -> int:
    words = ["train", table, "--target", target, "--data.split", split, "-o", folder, *SMALL, *more]
    return main([str(word) for word in words])


@pytest.fixture(scope="module")
def ensemble(table: Path) -> Path:
    folder = table.parent / "ensemble"
    assert train(table, "logS", folder, "--ensemble", 3) == 0
    return folder


def test_an_ensemble_is_the_mean_of_its_members(table: Path, ensemble: Path) -> None:
    smiles = molesol()[0][200:260]
    together = policylearn.load(ensemble).answer(smiles)
    members = np.stack([policylearn.load(ensemble / f"member-{number}").predict(smiles) for number in (1, 2, 3)])
    np.testing.assert_allclose(together.values, members.mean(axis=0), atol=1e-6)
    np.testing.assert_allclose(together.std, members.std(axis=0, ddof=1), atol=1e-6)
    assert together.lower is not None
    assert (together.lower < together.values).all()
    assert (together.values < together.upper).all()
    assert np.ptp(together.upper - together.lower) > 0
    metrics = json.loads((ensemble / "metrics.json").read_text())
    assert len(metrics["members"]) == 3
    assert len({json.loads((ensemble / f"member-{n}" / "metrics.json").read_text())["test"] for n in (1, 2, 3)}) == 3


def test_the_folder_holds_the_held_out_rows(table: Path, ensemble: Path) -> None:
    rows = read_table(ensemble / "predictions.csv")
    by_smiles = {row["smiles"].strip(): float(row["logS"]) for row in read_table(table)}
    assert [row["part"] for row in rows] == ["valid"] * 15 + ["test"] * 15
    test = [row for row in rows if row["part"] == "test"]
    assert all(float(row["true_logS"]) == pytest.approx(by_smiles[row["smiles"].strip()], abs=1e-5) for row in rows)
    error = np.array([float(row["predicted_logS"]) - float(row["true_logS"]) for row in test])
    metrics = json.loads((ensemble / "metrics.json").read_text())
    assert np.sqrt(np.mean(error**2)) == pytest.approx(metrics["test"], rel=1e-5)
    inside = np.mean([float(row["lower_logS"]) <= float(row["true_logS"]) <= float(row["upper_logS"]) for row in test])
    measured = json.loads((ensemble / "calibration.json").read_text())["coverage"]
    assert measured["share"] == pytest.approx(inside)
    assert measured["labels"] == 15


def test_info_works_on_ensembles(ensemble: Path, capsys: pytest.CaptureFixture[str]) -> None:
    metrics = json.loads((ensemble / "metrics.json").read_text())
    assert main(["info", str(ensemble)]) == 0
    said = capsys.readouterr().out
    assert "3 members" in said
    assert f"{metrics['test']:.6g}" in said
    assert ", ".join(f"{one:.6g}" for one in metrics["members"]) in said


def test_predict_writes_deviation_and_interval(ensemble: Path, table: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.csv"
    for level, narrower in (("0.5", True), ("0.9", False)):
        assert main(["predict", str(ensemble), str(table), "-o", str(out), "--interval", level]) == 0
        rows = read_table(out)
        added = ["predicted_logS", "std_logS", "lower_logS", "upper_logS", "unseen", "warning", "error"]
        assert list(rows[0])[3:] == added
        width = np.mean([float(row["upper_logS"]) - float(row["lower_logS"]) for row in rows])
        before = width if narrower else before  # noqa: F821 - set in the first round
    assert before < width


def test_a_stopped_ensemble_goes_on(table: Path, ensemble: Path, tmp_path: Path) -> None:
    folder = tmp_path / "again"
    shutil.copytree(ensemble, folder)
    for name in ("ensemble.json", "metrics.json", "calibration.json"):
        (folder / name).unlink()
    shutil.rmtree(folder / "member-3")
    with pytest.raises(RunError):
        policylearn.load(folder)
    kept = (folder / "member-1" / "model.safetensors").stat().st_mtime_ns
    assert train(table, "logS", folder, "--ensemble", 3) == 2, "not without --resume"
    assert train(table, "logS", folder, "--ensemble", 3, "--resume") == 0
    assert (folder / "member-1" / "model.safetensors").stat().st_mtime_ns == kept
    smiles = molesol()[0][:20]
    np.testing.assert_allclose(policylearn.load(folder).predict(smiles), policylearn.load(ensemble).predict(smiles))


def test_yes_and_no_have_sets(table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert train(table, "toxic", tmp_path / "run") == 0
    assert "held" in (said := capsys.readouterr().out)
    assert "90% sets of" in said
    assert main(["predict", str(tmp_path / "run"), str(table), "-o", str(tmp_path / "out.csv")]) == 0
    rows = read_table(tmp_path / "out.csv")
    assert list(rows[0])[3:] == ["predicted_toxic", "probability_toxic", "set_toxic", "unseen", "warning", "error"]
    assert {row["set_toxic"] for row in rows} <= {"", "0", "1", "0|1"}


def test_members_and_folds_do_not_mix(table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert train(table, "toxic", tmp_path / "run", "--ensemble", 2, split="folds") == 2
    assert "--fold" in capsys.readouterr().err
    assert train(table, "toxic", tmp_path / "run", "--ensemble", 0) == 2


def test_what_workers_elsewhere_have_trained_is_scored_too(
    table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As with ``--ray``: the command finds finished folders, and nothing in memory."""

    def elsewhere(config: RunConfig, folder: Path, *, members: int, resume: bool) -> None:
        assert not resume
        train_ensemble(config, load_source(config.data), folder, members)

    monkeypatch.setattr("policylearn.training.ray_training.train_on_ray", elsewhere)
    assert train(table, "logS", tmp_path / "run", "--ray", "--ensemble", 2) == 0
    assert {"predictions.csv", "calibration.json", "metrics.json", "report.html"} <= {
        path.name for path in (tmp_path / "run").iterdir()
    }
