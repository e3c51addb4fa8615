"""Calibrated statistics are those of training steps, whatever bags these draw."""

from __future__ import annotations

import copy

import pytest
import torch

from policylearn.models import ModelConfig, NetworkConfig, PolicyConfig, build_model, calibrate
from policylearn.nn import RowBatchNorm
from tests.graphs import batch_of, molecules


@pytest.mark.parametrize(
    ("policy", "estimator"),
    [
        ("learned", "reinforce"),
        ("learned", "rloo"),
        ("learned", "straight_through"),
        ("random", "rloo"),
        ("none", "rloo"),
    ],
)
def test_one_batch_gives_the_statistics_of_a_training_step(policy: str, estimator: str) -> None:
    torch.manual_seed(0)
    config = PolicyConfig(name=policy, picks=2, estimator=estimator, norm="batch")
    model = build_model(ModelConfig(prediction=NetworkConfig(channels=8, layers=2), policy=config))
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
