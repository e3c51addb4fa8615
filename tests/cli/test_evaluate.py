"""``policylearn evaluate`` gives the logged metric, and ``policylearn info`` tells what a run is."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from policylearn.cli import main
from policylearn.training import load_run
from policylearn.training.reevaluation import other_versions
from tests.training.molecules import molesol, small_run, write_table


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    smiles, values = molesol()
    return write_table(tmp_path_factory.mktemp("data") / "m.csv", ("smiles", "logS"), smiles[:100], values[:100])


@pytest.fixture(scope="module")
def run(table: Path) -> Path:
    return small_run(table.parent / "run", table, "logS", fit={"evaluation_batch_size": 3})


def test_evaluate_equals_the_logged_metric(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    logged = json.loads((run / "metrics.json").read_text())
    for words, part in (([], "test"), (["--part", "test"], "test"), (["--part", "valid"], "valid")):
        assert main(["evaluate", str(run), *words]) == 0
        assert capsys.readouterr().out == f"{part} rmse: {logged[part]!r} (10 graphs)\n"
    assert main(["evaluate", str(run), "--part", "train"]) == 0
    assert capsys.readouterr().out.endswith("(80 graphs)\n")


@pytest.mark.parametrize(
    "changes",
    [
        {"selection": {"name": "random"}},
        {"selection": {"mode": "paper", "estimator": "straight_through"}, "fit": {"evaluation_batch_size": 3}},
        {"fit": {"precision": "64-true"}},
        {"prediction": {"track_running_stats": False}, "fit": {"evaluation_batch_size": 3}},
    ],
)
def test_so_it_does_for_other_settings(
    changes: dict[str, object], table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = small_run(tmp_path / "run", table, "logS", **changes)
    assert main(["evaluate", str(folder)]) == 0
    assert capsys.readouterr().out.split()[2] == repr(json.loads((folder / "metrics.json").read_text())["test"])


def test_data_that_has_moved_or_changed(
    run: Path, table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = shutil.copytree(run, tmp_path / "run")
    config = (folder / "config.yaml").read_text()
    (folder / "config.yaml").write_text(config.replace(str(table), str(tmp_path / "gone.csv")))
    moved = shutil.copy(table, tmp_path / "moved.csv")
    assert main(["evaluate", str(folder)]) == 2
    assert "--data" in capsys.readouterr().err
    assert main(["evaluate", str(folder), "--data", str(moved)]) == 0
    lines = moved.read_text().splitlines(keepends=True)
    lines[5] = lines[5].rsplit(",", 1)[0] + ",0.25\n"
    moved.write_text("".join(lines))
    assert main(["evaluate", str(folder), "--data", str(moved)]) == 2
    assert "fingerprint" in capsys.readouterr().err


def test_a_metric_that_differs_is_explained(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = shutil.copytree(run, tmp_path / "run")
    assert other_versions(load_run(folder).facts) == ""
    metrics = json.loads((folder / "metrics.json").read_text())
    (folder / "metrics.json").write_text(json.dumps(metrics | {"test": 0.125}))
    facts = json.loads((folder / "run.json").read_text())
    facts["versions"] |= {"torch": "1.0", "no-such-package": "3"}
    (folder / "run.json").write_text(json.dumps(facts))
    assert main(["evaluate", str(folder)]) == 0
    last = capsys.readouterr().out.splitlines()[-1]
    assert last.startswith("the run logged 0.125; since then torch 1.0 -> ")
    assert last.endswith("no-such-package 3 -> not installed")


def test_info_on_a_run(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["info", str(run)]) == 0
    text = capsys.readouterr().out
    logged = json.loads((run / "metrics.json").read_text())
    for expected in (
        "m.csv, 100 graphs, fingerprint",
        "regression of logS, one prediction per graph",
        "name learned, picks 2, mode incremental",
        f"estimator {logged['estimator']}",
        "channels 8, layers 2, conv gin",
        f"{logged['test']:.6g}",
        f"prediction {logged['parameters']['prediction']:,}",
        "batches of 3, 1 threads",
    ):
        assert expected in text
    assert "⚠" not in text


def test_info_on_a_run_of_folds(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "run"
    inner = shutil.copytree(run, folder / "fold-0")
    metrics = json.loads((inner / "metrics.json").read_text())
    (folder / "metrics.json").write_text(
        json.dumps(metrics | {"folds": [1.0, 2.0], "test": 1.5, "test_deviation": 0.5})
    )
    assert main(["info", str(folder)]) == 0
    rows = [line.strip("│").split("│") for line in capsys.readouterr().out.splitlines() if "│" in line]
    figures = {name.strip(): value.strip() for name, value in rows}
    told = figures[f"test {metrics['metric']}"], figures["test deviation"], len(figures["folds"].split(", "))
    assert told == ("1.5", "0.5", 2)


def test_info_on_what_is_no_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["info", str(tmp_path)]) == 2
    assert "run.json" in capsys.readouterr().err


def test_info_on_the_installation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("POLICYLEARN_DATA", str(tmp_path))
    (tmp_path / "csl.npz").touch()
    assert main(["info"]) == 0
    rows = dict(line.strip("│").split("│", 1) for line in capsys.readouterr().out.splitlines() if line.startswith("│"))
    rows = {name.strip(): value.strip() for name, value in rows.items()}
    assert rows["datasets there"] == "csl"
    assert "zinc" in rows["datasets absent"]
    assert rows["data root"] == str(tmp_path)
    assert {"torch", "system", "extra 'tensorboard'"} <= rows.keys()
