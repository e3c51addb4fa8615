"""A training whose loss is no number any more says so by its exit code, whichever of its parts it was."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from policylearn.cli import main
from policylearn.training.module import RunModule
from tests.training.molecules import molesol, write_table

SMALL = ["--prediction.channels=8", "--prediction.layers=1", "--fit.threads=1", "--epochs=3", "--network-only"]


@pytest.fixture
def words(tmp_path: Path) -> list[str]:
    smiles, values = molesol()
    table = write_table(tmp_path / "m.csv", ("smiles", "logS"), smiles[:60], values[:60])
    return ["train", str(table), "--target=logS", "--data.split=random", "-o", str(tmp_path / "run"), *SMALL]


def poison(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    """Spoil a weight before the last epoch of the training with that seed."""

    def spoil(module: RunModule) -> None:
        before(module)
        if module.seed == seed and module.current_epoch == 2:
            with torch.no_grad():
                next(module.parameters()).fill_(torch.nan)

    before = RunModule.on_train_epoch_start
    monkeypatch.setattr(RunModule, "on_train_epoch_start", spoil)


@pytest.mark.parametrize(("seed", "more"), [(0, []), (1, ["--ensemble=2"])])
def test_a_loss_that_is_no_number_is_an_exit_code(
    words: list[str],
    seed: int,
    more: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    poison(monkeypatch, seed)
    assert main([*words, *more]) == 1
    assert "epoch 3" in " ".join(capsys.readouterr().err.split())
    assert json.loads((tmp_path / "run" / "metrics.json").read_text())["diverged"] == 3
    assert main(["info", str(tmp_path / "run")]) == 0
    assert "diverged │ 3" in " ".join(capsys.readouterr().out.split())


def test_a_loss_that_is_no_number_from_the_start_leaves_nothing(
    words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*words, "--optim.learning_rate=1e30", "--recipe=paper"]) == 2
    assert "optim.learning_rate" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()
