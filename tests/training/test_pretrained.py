"""Start from the encoder of another run: its weights, frozen or not, other targets, and a gain on few rows."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
import torch

from policylearn.cli import main
from policylearn.prediction.pack import pack_run
from policylearn.settings import ConfigError
from policylearn.settings.run_files import RunError
from policylearn.training import load_run, load_source, run_config, train
from tests.training.molecules import molesol, write_table

ALONE = {"data.transforms": {"fingerprint": None, "descriptors": None}, "data.split": "random", "fit.threads": 1}


@pytest.fixture(scope="module")
def start(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A network alone that has learned solubility from 700 molecules."""
    smiles, values = molesol()
    folder = tmp_path_factory.mktemp("start")
    table = write_table(folder / "m.csv", ("smiles", "logS"), smiles[:700], values[:700])
    network = {"prediction.channels": 16, "prediction.layers": 2, "selection.name": "none", "fit.epochs": 12}
    return fitted(table, "logS", folder / "run", network)


def fitted(table: Path, target: str, folder: Path, settings: dict[str, object]) -> Path:
    config = run_config(table, {"data.target": target, **ALONE, **settings})
    train(config, load_source(config.data), folder)
    return folder


@pytest.fixture(scope="module")
def few(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Another target that goes with solubility, for 50 molecules to learn from and 200 to test."""
    smiles, values = molesol()
    solvation = [2 - 3 * value for value in values[700:950]]
    split = ["train"] * 40 + ["valid"] * 10 + ["test"] * 200
    return write_table(
        tmp_path_factory.mktemp("few") / "f.csv", ("smiles", "g", "split"), smiles[700:950], solvation, split
    )


def settings(start: Path | None, **more: object) -> dict[str, object]:
    names: dict[str, object] = {
        "data.split": "column",
        "data.split_column": "split",
        "fit.epochs": 40,
        "fit.batch_size": 16,
        **more,
    }
    return names if start is None else names | {"fit.start": str(start)}


def weights(folder: Path) -> dict[str, torch.Tensor]:
    return load_run(folder).build().state_dict()


def test_the_model_is_that_of_the_start(start: Path, few: Path, tmp_path: Path) -> None:
    config = run_config(few, {"data.target": "g", **settings(start), "fit.batch_size": 8})
    assert config.system["prediction"]["channels"] == 16
    assert config.system["selection"]["name"] == "none"
    assert config.fit.batch_size == 8
    with pytest.raises(RunError):
        fitted(few, "g", tmp_path / "wide", settings(start, **{"prediction.channels": 32}))


@pytest.mark.parametrize("packed", [False, True])
def test_a_frozen_encoder_stays_and_the_head_learns(start: Path, few: Path, tmp_path: Path, packed: bool) -> None:
    source = start
    if packed:
        source = tmp_path / "start.plm"
        pack_run(start, source)
    frozen = {"fit.freeze": True, "fit.calibration_batches": 2, "fit.epochs": 4}
    run = fitted(few, "g", tmp_path / "run", settings(source, **frozen))
    before, after = weights(start), weights(run)
    changed = {name.split(".")[0] for name in after if not torch.equal(before[name], after[name])}
    assert changed == {"head"}


def test_without_freezing_all_learns(start: Path, few: Path, tmp_path: Path) -> None:
    run = fitted(few, "g", tmp_path / "run", settings(start, **{"fit.epochs": 1, "optim.learning_rate": 1e-5}))
    before, after = weights(start), weights(run)
    names = [name for name in after if name.startswith("encoder.") and name.endswith("weight")]
    assert not all(torch.equal(before[name], after[name]) for name in names)
    for name in names:
        torch.testing.assert_close(before[name], after[name], atol=1e-3, rtol=0)


def test_it_helps_on_a_small_related_table(start: Path, few: Path, tmp_path: Path) -> None:
    def errors(source: Path | None, network: dict[str, object]) -> Sequence[float]:
        found = []
        for seed in range(3):
            folder = tmp_path / f"{source is None}-{seed}"
            found.append(
                load_run(fitted(few, "g", folder, settings(source, **network, **{"fit.seed": seed}))).metrics["test"]
            )
        return found

    scratch = errors(None, {"prediction.channels": 16, "prediction.layers": 2, "selection.name": "none"})
    tuned = errors(start, {})
    assert (np.array(tuned) < np.array(scratch)).all()


def test_the_command_takes_it(start: Path, few: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = [
        "train",
        str(few),
        "--target",
        "g",
        "--data.split",
        "column",
        "--data.split_column",
        "split",
        "--epochs",
        "1",
    ]
    words += ["--network-only", "--from", str(start), "--freeze", "-o", str(tmp_path / "run")]
    assert main(words) == 0
    assert f"started from the weights of {start}" in (tmp_path / "run" / "model_card.md").read_text()
    with pytest.raises(ConfigError):
        run_config(few, {"fit.freeze": True})
