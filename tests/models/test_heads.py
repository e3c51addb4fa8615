"""Several heads on one vector: an ensemble at the price of its last layers."""

from __future__ import annotations

import pytest
import torch
from torch.nn import functional

from policylearn.data import Task
from policylearn.fast import accelerate
from policylearn.nn import MLP, Heads
from tests.graphs import batch_of, molecules, small_model

TERMS = Task("regression", "mse", "rmse").loss_terms


def single(heads: Heads, number: int) -> MLP:
    """One of the heads as a module of its own."""
    hidden = heads.weight.shape[1]
    mlp = MLP(heads.lin1.in_features, hidden, heads.weight.shape[2]).to(heads.weight.dtype)
    at = slice(number * hidden, (number + 1) * hidden)
    with torch.no_grad():
        mlp.lin1.weight.copy_(heads.lin1.weight[at])
        mlp.lin1.bias.copy_(heads.lin1.bias[at])
        mlp.lin2.weight.copy_(heads.weight[number].t())
        mlp.lin2.bias.copy_(heads.bias[number, 0])
    return mlp


@torch.no_grad()
def test_each_head_is_an_mlp_of_its_own_and_their_mean_is_predicted() -> None:
    torch.manual_seed(0)
    heads = Heads(5, 7, 3, 4).double()
    x = torch.randn(11, 5, dtype=torch.float64)
    apart = torch.stack([single(heads, number)(x) for number in range(4)])
    torch.testing.assert_close(heads.apart(x), apart)
    torch.testing.assert_close(heads(x), apart.mean(0))
    assert apart.std(0).min() > 1e-3  # they begin differently


def test_one_head_is_what_it_was() -> None:
    assert isinstance(small_model("none").head, MLP)
    assert isinstance(small_model("none", heads=4).head, Heads)
    with pytest.raises(ValueError, match="'members' must be >= 1"):
        Heads(2, 2, 1, 0)


@pytest.mark.parametrize("policy", ["none", "random"])
def test_the_loss_is_the_mean_of_each_heads_own(policy: str) -> None:
    model = small_model(policy, heads=3, dtype=torch.float64).train()
    batch = batch_of(*molecules(9))
    y = torch.randn(9, 1, dtype=torch.float64, generator=torch.Generator().manual_seed(1))

    def step() -> torch.Generator:
        return torch.Generator().manual_seed(2)

    vectors: list[torch.Tensor] = []
    hook = model.head.lin1.register_forward_pre_hook(lambda _module, given: vectors.append(given[0]))
    found = model.objective(batch, y, TERMS, generator=step())
    hook.remove()
    apart = [single(model.head, number)(vectors[0]) for number in range(3)]
    losses = torch.stack([functional.mse_loss(out, y) for out in apart])
    torch.testing.assert_close(found.loss, losses.mean())
    torch.testing.assert_close(found.outputs, torch.stack(apart).mean(0))
    torch.testing.assert_close(found.costs, torch.stack([(out - y).square()[:, 0] for out in apart]).mean(0).detach())
    # A loss of the mean would be another one, by how far the heads disagree.
    assert float(found.loss.detach()) > float(functional.mse_loss(found.outputs, y).detach()) + 1e-6


@pytest.mark.parametrize("estimator", ["reinforce", "rloo", "straight_through"])
@pytest.mark.parametrize("shared", [False, True])
def test_picks_learn_from_the_mean_cost_over_heads(estimator: str, shared: bool) -> None:
    model = accelerate(small_model("learned", heads=3, estimator=estimator, shared=shared)).train()
    batch = batch_of(*molecules(8))
    y = torch.randn(8, 1, generator=torch.Generator().manual_seed(1))
    found = model.objective(batch, y, TERMS, generator=torch.Generator().manual_seed(2))
    assert found.costs.shape == (8,)
    found.loss.backward()
    for name, weight in model.named_parameters():
        if name.startswith(("head.", "policy.selector")):
            assert weight.grad is not None, name
            assert bool(weight.grad.any()), name


@torch.no_grad()
def test_what_is_predicted_does_not_depend_on_company() -> None:
    model = small_model("learned", heads=5, readout="both", dtype=torch.float64).eval()
    company = molecules(12, seed=3)
    for data in molecules(4):
        alone = model(batch_of(data))
        torch.testing.assert_close(model(batch_of(*company, data))[-1:], alone, rtol=0, atol=1e-9)
