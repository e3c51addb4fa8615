"""Calibrated statistics are those of training steps, whatever bags these draw."""

from __future__ import annotations

import copy

import pytest
import torch

from policylearn.models import build_model, calibrate
from policylearn.nn import RowBatchNorm
from tests.graphs import batch_of, molecules


@pytest.mark.parametrize(
    "selection",
    [
        {"name": "learned", "norm": "batch"},
        {"name": "learned", "norm": "batch", "estimator": "straight_through"},
        {"name": "random"},
        {"name": "none"},
    ],
)
def test_one_batch_gives_the_statistics_of_a_training_step(selection: dict[str, str]) -> None:
    torch.manual_seed(0)
    model = build_model(settings={"prediction": {"channels": 8, "layers": 2}, "selection": selection})
    trained = copy.deepcopy(model)
    for norm in trained.modules():
        if isinstance(norm, RowBatchNorm):
            norm.momentum = 1.0
    batch = batch_of(*molecules(6))

    def loss_terms(outputs: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return (outputs - y) ** 2, torch.ones_like(outputs, dtype=torch.bool)

    trained.objective(batch, torch.zeros(6, 1), loss_terms, generator=torch.Generator().manual_seed(2))
    assert calibrate(model, [batch], generator=torch.Generator().manual_seed(2)) == 1
    expected = trained.state_dict()
    for name, value in model.state_dict().items():
        assert torch.allclose(value, expected[name], atol=1e-6), name
