"""A policy that looks with the prediction network's own encoder: each copy is computed once, nothing else changes."""

from __future__ import annotations

import copy

import pytest
import torch
from torch import Tensor

from policylearn.bags import Graphs, Selection
from tests.graphs import batch_of, molecules, small_model


def squared(output: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    return (output - y).square(), torch.ones_like(output, dtype=torch.bool)


@pytest.mark.parametrize("level", ["graph", "node"])
def test_predictions_are_those_of_the_picks_handed_in(level: str) -> None:
    model = small_model(picks=3, shared=True, estimator="reinforce", level=level, dtype=torch.float64).eval()
    graphs = Graphs.of(batch_of(*molecules(6)))
    selection = model.select(graphs)
    assert selection.nodes is not None
    with torch.no_grad():
        assert torch.allclose(model(graphs), model.predict(graphs, Selection(selection.roots)), atol=1e-10)


@pytest.mark.parametrize("norm", ["batch", "layer"])
def test_every_copy_is_computed_once(norm: str) -> None:
    model = small_model(picks=3, shared=True, estimator="reinforce", norm=norm).train()
    rows: list[int] = []
    model.encoder.register_forward_hook(lambda _module, _inputs, output: rows.append(len(output)))
    graphs = Graphs.of(batch_of(*molecules(5)))
    model.objective(graphs, torch.zeros(5, 1), squared)
    assert rows == [graphs.num_nodes] * 4  # slot 0 and three copies


def test_weights_stand_once_and_a_copy_shares_nothing() -> None:
    model = small_model(picks=2, shared=True, estimator="reinforce")
    assert not [name for name in model.state_dict() if name.startswith("policy.encoder")]
    twin = copy.deepcopy(model)
    assert twin.policy.encoder is twin.encoder
    assert twin.encoder is not model.encoder
    model.double()
    assert model.policy.encoder.layers[0].features.conv.lin1.weight.dtype == torch.float64


def test_costs_of_first_copies_come_from_the_same_pass() -> None:
    model = small_model(picks=3, shared=True, estimator="reinforce", norm="layer", dtype=torch.float64).train()
    graphs, y = Graphs.of(batch_of(*molecules(5))), torch.randn(5, 1).double()
    seen = {}

    def surrogate(selection: Selection, evidence: object) -> None:
        seen["prefix"], seen["selection"] = evidence.prefix_costs(), selection

    model.policy.surrogate = surrogate
    model.objective(graphs, y, squared, generator=torch.Generator().manual_seed(0))
    for picks in range(4):
        outputs = model.predict(graphs, seen["selection"].steps(0, picks))
        assert torch.allclose(seen["prefix"][picks, 0], (outputs - y).square().squeeze(1))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"estimator": "rloo", "samples": 2}, "one bag per graph"),
        ({"estimator": "reinforce", "mode": "paper"}, "needs mode 'incremental'"),
        ({"estimator": "reinforce", "order": "nodes"}, "order 'copies'"),
    ],
)
def test_what_cannot_be_shared_is_refused(settings: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        small_model(picks=2, shared=True, **settings)


def test_both_losses_reach_the_encoder_and_the_selector() -> None:
    model = small_model(picks=2, shared=True, estimator="reinforce").train()
    model.objective(batch_of(*molecules(8)), torch.randn(8, 1), squared).loss.backward()
    weights = [*model.encoder.parameters(), *model.policy.selector.parameters()]
    assert all(weight.grad is not None for weight in weights)
    assert {id(w) for w in model.selection_parameters()} == {id(w) for w in model.policy.selector.parameters()}
