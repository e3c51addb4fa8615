"""The same numbers on CPU and GPU."""

from __future__ import annotations

from copy import deepcopy

import pytest
import torch

from tests.graphs import POLICIES, batch_of, molecules, small_model, symmetric_graphs

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device here")


def squared(output: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    return (output - y) ** 2, torch.ones_like(output, dtype=torch.bool)


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("level", ["graph", "node"])
@torch.no_grad()
def test_outputs_agree(policy: str, level: str) -> None:
    model = small_model(policy, level=level, dtype=torch.float64).eval()
    batch = batch_of(*molecules(5), *symmetric_graphs()[:5])
    there = deepcopy(model).cuda()
    here, picks = model(batch), model.select(batch).roots
    batch = batch.to("cuda")
    assert torch.equal(there.select(batch).roots.cpu(), picks)
    assert torch.allclose(there(batch).cpu(), here, atol=1e-8)


@pytest.mark.parametrize("estimator", ["reinforce", "straight_through"])
@pytest.mark.parametrize("mode", ["incremental", "paper"])
def test_a_training_step_runs(estimator: str, mode: str) -> None:
    model = small_model("learned", estimator=estimator, mode=mode, node_dropout=0.2).cuda().train()
    batch = batch_of(*molecules(5)).to("cuda")
    y = torch.zeros(5, 1, device="cuda")
    step = model.objective(batch, y, squared, generator=torch.Generator("cuda").manual_seed(0))
    step.loss.backward()
    assert all(parameter.grad is None or parameter.grad.isfinite().all() for parameter in model.parameters())
    assert any(parameter.grad is not None and parameter.grad.abs().sum() > 0 for parameter in model.policy.parameters())
