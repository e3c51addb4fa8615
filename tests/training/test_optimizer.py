"""Learning rates that fall at given epochs, and decay of weights by way of their gradient."""

from __future__ import annotations

from pathlib import Path

import lightning
import pytest
import torch
from torch import nn

from policylearn.cli.main import main
from policylearn.settings.run_config import OptimConfig, OptimizerName
from policylearn.training import load_source
from policylearn.training.fitting import fit
from policylearn.training.module import make_optimizer
from tests.errors import raises_naming
from tests.training.tiny import tiny_config, write_graphs


@pytest.fixture(scope="module")
def graphs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_graphs(tmp_path_factory.mktemp("data") / "tiny.npz")


class Rates(lightning.Callback):
    """The rate of each group in each epoch."""

    def __init__(self) -> None:
        self.seen: list[list[float]] = []

    def on_train_epoch_start(self, trainer: lightning.Trainer, pl_module: lightning.LightningModule) -> None:
        self.seen.append([group["lr"] for group in trainer.optimizers[0].param_groups])


def test_rates_fall_at_milestones_and_the_selections_stays(graphs: Path, tmp_path: Path) -> None:
    optim = {"schedule": "milestones", "milestones": [2, 3], "decay": 0.1, "learning_rate": 1e-2}
    config = tiny_config(graphs, selection={"name": "learned"}, fit={"epochs": 5}, optim=optim)
    rates = Rates()
    fit(config, load_source(config.data), tmp_path / "run", fold=0, callbacks=[rates])
    prediction, selection = zip(*rates.seen, strict=True)
    assert prediction == pytest.approx([1e-2, 1e-2, 1e-3, 1e-4, 1e-4])
    assert set(selection) == {1e-2}


@pytest.mark.parametrize(
    "optim", [{"schedule": "milestones"}, {"milestones": [3]}, {"schedule": "milestones", "milestones": [0, 3]}]
)
def test_milestones_without_their_schedule_are_refused(graphs: Path, optim: dict[str, object]) -> None:
    with raises_naming(ValueError, "milestones"):
        tiny_config(graphs, optim=optim)


def test_the_command_takes_milestones(graphs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["train", str(graphs), "--policy=none", "--epochs=2", "--fit.threads=1", "-o", str(tmp_path / "a")]
    small = ["--prediction.channels=8", "--prediction.layers=1"]
    assert main([*words, *small, "--optim.schedule=milestones", "--optim.milestones=[1,2]"]) == 0
    assert main([*words, "--optim.milestones=[4]"]) == 2
    assert "milestones" in capsys.readouterr().err


@pytest.mark.parametrize(("name", "moved"), [("adam", 0.1), ("sgd", 0.05), ("adamw", 0.05)])
def test_weights_decay_through_the_gradient_but_with_adamw(name: OptimizerName, moved: float) -> None:
    """Of a weight of 2 without gradient: Adam makes a whole step of what L2 adds, the others one of 0.25 * 2."""
    weight = nn.Parameter(torch.tensor([2.0]))
    optim = OptimConfig(optimizer=name, weight_decay=0.25, eps=1e-12)
    optimizer = make_optimizer(optim, [{"params": [weight], "lr": 0.1}])
    weight.grad = torch.zeros(1)
    optimizer.step()
    assert 2.0 - weight.item() == pytest.approx(moved, rel=1e-5)
