"""ASAM and falling rates: what a step does, and that runs with them learn, stop and go on."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import Tensor
from torch_geometric.data import Batch

from policylearn.training import load_source, train
from policylearn.training.asam import Asam, scaled_weights
from policylearn.training.folds import read_history
from policylearn.training.module import RunModule
from tests.errors import raises_naming
from tests.training.tiny import tiny_config, write_graphs


@pytest.fixture(scope="module")
def graphs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_graphs(tmp_path_factory.mktemp("data") / "tiny.npz")


def test_a_step_takes_the_gradient_uphill_and_starts_from_the_weights() -> None:
    weight, bias = (torch.nn.Parameter(torch.tensor([value], dtype=torch.float64)) for value in (2.0, 3.0))
    unused = torch.nn.Parameter(torch.ones(1, dtype=torch.float64))
    base = torch.optim.SGD([weight, bias, unused], lr=0.1)
    asam = Asam(base, [weight], rho=0.5, eta=1.0)

    def closure() -> Tensor:
        asam.zero_grad()
        loss = weight.square().sum() + bias.square().sum()
        loss.backward()
        return loss

    asam.step(closure)
    size = (12.0**2 + 6.0**2) ** 0.5  # the weight's gradient 4 times its scale 3, the bias's 6 times 1
    assert weight.item() == pytest.approx(2 - 0.1 * 2 * (2 + 0.5 * 9 * 4 / size))
    assert bias.item() == pytest.approx(3 - 0.1 * 2 * (3 + 0.5 * 6 / size))
    assert unused.item() == 1
    with raises_naming(ValueError, "closure"):
        asam.step()
    with raises_naming(ValueError, "asam_rho"):
        Asam(base, [], rho=0.0)


def test_biases_are_not_scaled() -> None:
    model = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.LayerNorm(3))
    assert [tuple(weight.shape) for weight in scaled_weights(model)] == [(3, 2), (3,)]


@pytest.mark.parametrize("optimizer", ["adam", "sgd"])
def test_a_run_with_asam_looks_at_each_batch_twice_and_learns(
    optimizer: str, graphs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[int] = []
    plain = RunModule.training_step

    def counted(self: RunModule, batch: Batch, batch_idx: int) -> Tensor:
        seen.append(self.passes)
        return plain(self, batch, batch_idx)

    monkeypatch.setattr(RunModule, "training_step", counted)
    optim = {"optimizer": optimizer, "asam_rho": 0.05, "learning_rate": 0.01}
    config = tiny_config(graphs, selection={"name": "none"}, fit={"epochs": 15}, optim=optim)
    train(config, load_source(config.data), tmp_path / "run")
    assert seen == [0, 1] * (len(seen) // 2)
    curve = read_history(tmp_path / "run" / "history.csv")
    assert min(curve["loss"][-5:]) < 0.7 * curve["loss"][0]


def test_rates_fall_on_a_plateau_and_training_stops(graphs: Path, tmp_path: Path) -> None:
    optim = {"schedule": "plateau", "plateau_patience": 0, "learning_rate": 1e-3, "decay": 0.01, "least_rate": 1e-4}
    config = tiny_config(graphs, selection={"name": "none"}, fit={"epochs": 200}, optim=optim)
    train(config, load_source(config.data), tmp_path / "run")
    valid = read_history(tmp_path / "run" / "history.csv")["valid"]
    assert len(valid) < 200
    # The rate falls behind the first epoch without progress, and training stops behind the next one.
    best = [min(valid[: epoch + 1]) for epoch in range(len(valid))]
    assert [epoch for epoch in range(1, len(valid) - 1) if valid[epoch] >= best[epoch - 1]] == [len(valid) - 2]
