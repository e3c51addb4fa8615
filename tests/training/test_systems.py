"""Every registered system goes all the way: train, resume, evaluate, predict, info."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from policylearn.cli import main
from policylearn.cli.verbs.train import system_notes
from policylearn.data import DataError
from policylearn.models import SYSTEMS, complete
from policylearn.prediction import load
from policylearn.settings import RunConfig, changed
from policylearn.settings.flat import differences, flat
from policylearn.settings.schema import RunNote
from policylearn.training import fit, load_run, load_source
from policylearn.training.reevaluation import reevaluate
from tests.errors import raises_naming
from tests.training.molecules import molesol, read_table, write_table


@pytest.fixture(autouse=True, scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    smiles, values = molesol()
    return write_table(tmp_path_factory.mktemp("table") / "some.csv", ["smiles", "y"], smiles[:40], values[:40])


def small_config(name: str, table: Path) -> RunConfig:
    settings = SYSTEMS[name].settings()
    small = {key: value for key, value in {"channels": 40, "layers": 2}.items() if hasattr(settings, key)}
    base = {
        "model": name,
        "system": small,
        "data": {"name": str(table), "target": ["y"], "split": "random"},
        "fit": {"epochs": 2, "batch_size": 16, "threads": 1},
    }
    return changed(RunConfig(), base)


@pytest.mark.parametrize("name", sorted(SYSTEMS))
def test_a_system_goes_all_the_way(name: str, table: Path, tmp_path: Path) -> None:
    config = small_config(name, table)
    source = load_source(config.data)
    folder = fit(config, source, tmp_path / "run").folder
    run = load_run(folder)
    assert run.config.model == run.metrics["model"] == name
    assert run.config.system == complete(config).system  # written out, so that a later default changes nothing
    again = reevaluate(run)
    assert again.value == again.logged
    predictor = load(folder)
    smiles = [row["smiles"] for row in read_table(table)][:6]
    torch.manual_seed(1)
    first = predictor.predict(smiles)
    torch.manual_seed(2)
    assert np.array_equal(first, predictor.predict(smiles))  # what is drawn has a seed of its own
    assert first.shape == (6, 1)
    assert np.isfinite(first).all()
    if not predictor.depends_on_batch:
        assert predictor.predict(smiles, batch_size=1) == pytest.approx(first, abs=1e-4)
    assert run.label in repr(predictor)


@pytest.mark.parametrize("name", ["sun", "hymn", "pna"])
def test_a_killed_run_goes_on_as_it_would_have(name: str, table: Path, tmp_path: Path) -> None:
    config = small_config(name, table)
    source = load_source(config.data)
    whole = fit(config, source, tmp_path / "whole").metrics["test"]
    fit(changed(config, {"fit": {"epochs": 1}}), source, tmp_path / "cut")
    (tmp_path / "cut" / "metrics.json").unlink()
    with pytest.warns(RunNote):
        assert fit(config, source, tmp_path / "cut", resume=True).metrics["test"] == whole


def test_the_command_takes_it(table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run, out = str(tmp_path / "run"), str(tmp_path / "out.csv")
    words = ["train", str(table), "--target", "y", "--model", "sun", "--channels", "8", "--system.layers=1"]
    assert main([*words, "--epochs", "1", "--data.split", "random", "-o", run]) == 0
    assert "pairs of nodes" in capsys.readouterr().err  # what a step holds is said before it is taken
    settings = load_run(Path(run)).config.system
    assert (settings["channels"], settings["layers"]) == (8, 1)
    assert main(["info", run]) == 0
    assert "channels 8" in capsys.readouterr().out
    assert main(["predict", run, str(table), "-o", out]) == 0
    assert len(read_table(Path(out))) == 40
    assert main(["evaluate", run]) == 0
    assert main(["predict", run, str(table), "-o", out, "--picks"]) == 2
    assert "'sun'" in capsys.readouterr().err


def test_other_settings_are_another_run() -> None:
    one = complete(changed(RunConfig(), {"model": "sun"}))
    other = complete(changed(one, {"channels": 8}))
    assert set(differences(one, other)) == {"channels"}
    assert "model" in differences(one, complete(RunConfig()))
    assert "model" in flat(one)


def test_memory_is_stated_for_full_bags_alone(table: Path) -> None:
    graphs = load_source(small_config("sun", table).data).dataset.graphs
    _, text = system_notes(small_config("sun", table), graphs)
    top = np.sort(graphs.num_nodes.astype(int) ** 2)[::-1][:16].sum()
    assert f"at worst {top:,}" in text
    assert list(system_notes(RunConfig(), graphs)) == []


def test_a_transform_that_nothing_reads_is_refused(table: Path, tmp_path: Path) -> None:
    config = changed(small_config("sun", table), {"data": {"transforms": {"descriptors": {}}}})
    with raises_naming(DataError, "'descriptors'"):
        fit(config, load_source(config.data), tmp_path / "run")


def test_what_transforms_learned_reaches_the_system(table: Path, tmp_path: Path) -> None:
    config = small_config("pna", table)
    folder = fit(config, load_source(config.data), tmp_path / "run").folder
    stored = json.loads((folder / "run.json").read_text())["transforms"]
    assert [one["name"] for one in stored] == ["mean_log_degree"]
