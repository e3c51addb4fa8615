"""A policy that looks with the prediction network's own encoder: each copy is computed once, nothing else changes."""

from __future__ import annotations

import copy

import pytest
import torch
from torch import Tensor

from policylearn.bags import Graphs, Selection
from policylearn.fast import accelerate
from policylearn.nn import RowBatchNorm, RowLayerNorm
from tests.graphs import batch_of, molecules, permuted, repeated, small_model, symmetric_graphs


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


@pytest.mark.parametrize("fast", [False, True])
def test_a_graph_alone_and_in_company(fast: bool) -> None:
    model = small_model(picks=3, shared=True, dtype=torch.float64).eval()
    model = accelerate(model) if fast else model
    company = molecules(20, seed=100)
    with torch.no_grad():
        for data in (*symmetric_graphs(), *molecules(5)):
            alone = model(batch_of(data))
            assert (model(batch_of(data, *company))[:1] - alone).abs().max() < 1e-10
            assert (model(batch_of(*company, data))[-1:] - alone).abs().max() < 1e-10


def test_names_of_nodes_play_no_part() -> None:
    model = small_model(picks=3, shared=True, dtype=torch.float64).eval()
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for data in molecules(12):
            order = torch.randperm(data.num_nodes, generator=generator)
            assert torch.allclose(model(permuted(data, order)), model(data), atol=1e-9)


@pytest.mark.parametrize("fast", [False, True])
@pytest.mark.parametrize("level", ["graph", "node"])
def test_several_samples_are_the_batch_repeated(fast: bool, level: str) -> None:
    settings = {"estimator": "rloo", "samples": 4, "norm": "layer", "level": level}
    model = small_model(picks=3, shared=True, dtype=torch.float64, **settings).train()
    model = accelerate(model) if fast else model
    graphs = Graphs.of(batch_of(*molecules(7)))
    one = model.policy(graphs, samples=4, generator=torch.Generator().manual_seed(0))
    other = model.policy(repeated(graphs, 4), generator=torch.Generator().manual_seed(0))
    assert torch.equal(one.roots, other.roots)
    assert torch.allclose(model.predict(graphs, one, samples=4), model.predict(repeated(graphs, 4), other))


def test_every_estimator_learns() -> None:
    for estimator in ("reinforce", "rloo", "straight_through", "gapped", "imle"):
        model = small_model(picks=2, shared=True, estimator=estimator, imle_strength=1e4).train()
        objective = model.objective(batch_of(*molecules(8)), torch.randn(8, 1), squared)
        assert len(objective.outputs) == 8 * model.bags_per_graph
        objective.loss.backward()
        first = next(model.policy.selector.parameters())  # a shift of all scores, the last bias, has no gradient
        assert first.grad is not None
        assert bool(first.grad.any())


def test_norms_are_those_of_a_selection_network() -> None:
    """Batch norms of single copies would differ between training and evaluation."""
    model = small_model(picks=2, shared=True)
    assert isinstance(model.encoder.layers[0].features.norm, RowLayerNorm)
    assert isinstance(small_model(picks=2).encoder.layers[0].features.norm, RowBatchNorm)
