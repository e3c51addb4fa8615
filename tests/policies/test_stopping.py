"""Picks stop where a further one is expected to gain too little, graph by graph."""

from __future__ import annotations

from itertools import pairwise

import pytest
import torch
from torch import Tensor, nn

from policylearn.bags import NO_PICK, Graphs, Selection
from policylearn.fast import accelerate
from policylearn.models import SubgraphGNN
from policylearn.policies.learned import gain_error
from policylearn.policies.protocol import Evidence
from tests.graphs import batch_of, molecules, repeated, small_model, symmetric_graphs

PICKS = 3


def squared(output: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    return (output - y).square(), torch.ones_like(output, dtype=torch.bool)


def stopping_model(stop_below: float = 0.05, **settings: object) -> SubgraphGNN:
    """One whose predicted gains differ much from graph to graph."""
    model = small_model(picks=PICKS, stop_below=stop_below, dtype=torch.float64, **settings)
    with torch.no_grad():
        list(model.policy.gain.parameters())[-2].mul_(10)
    return model


def picks_of(model: SubgraphGNN, graphs: Graphs) -> Tensor:
    with torch.no_grad():
        roots = model.select(graphs).roots
    return (roots != NO_PICK).sum(0)


def middle(model: SubgraphGNN, graphs: Graphs) -> float:
    """A threshold that some graphs are below at first, and none is at up to rounding."""
    with torch.no_grad():
        view = model.policy.look(graphs, 1)
        gains = model.policy.predicted_gain(view.nodes(), graphs, 0).flatten().sort().values
    own = gains[len(gains) // 4 : -len(gains) // 4]
    at = int(own.diff().argmax())
    return float(own[at : at + 2].mean())


@pytest.mark.parametrize("fast", [False, True])
@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("pooling", ["mean", "sum", "min"])
def test_a_graph_alone_and_in_company(fast: bool, shared: bool, pooling: str) -> None:
    model = stopping_model(shared=shared, pooling=pooling).eval()
    model = accelerate(model) if fast else model
    company = molecules(20, seed=100)
    everybody = Graphs.of(batch_of(*company, *symmetric_graphs()))
    model.policy.stop_below = middle(model, everybody)
    counts = picks_of(model, everybody)
    assert len(counts.unique()) > 1, "some graphs have more picks than others"
    with torch.no_grad():
        for data in (*symmetric_graphs(), *company[:4]):
            alone = model(batch_of(data))
            assert (model(batch_of(*company, data))[-1:] - alone).abs().max() < 1e-9


@pytest.mark.parametrize("shared", [False, True])
def test_the_prediction_is_that_of_the_picks_that_were_made(shared: bool) -> None:
    model = stopping_model(shared=shared).eval()
    graphs = Graphs.of(batch_of(*molecules(12)))
    model.policy.stop_below = middle(model, graphs)
    with torch.no_grad():
        selection = model.select(graphs)
        assert torch.allclose(model(graphs), model.predict(graphs, Selection(selection.roots)), atol=1e-9)
        full = small_model(picks=PICKS, dtype=torch.float64, shared=shared)
        full.load_state_dict({name: value for name, value in model.state_dict().items() if "gain" not in name})
        whole = full.eval().select(graphs).roots
    made = selection.roots != NO_PICK
    assert torch.equal(selection.roots[made], whole[: selection.picks][made]), "the same picks, as far as they go"


def test_thresholds_at_the_ends() -> None:
    graphs = Graphs.of(batch_of(*molecules(6)))
    assert picks_of(stopping_model(-1e9).eval(), graphs).tolist() == [PICKS] * 6
    never = stopping_model(1e9).eval()
    assert picks_of(never, graphs).tolist() == [0] * 6
    with torch.no_grad():
        assert torch.allclose(never(graphs), never.predict(graphs, Selection.nothing(graphs.ptr)))


def test_a_higher_threshold_never_makes_more_picks() -> None:
    model, graphs = stopping_model().eval(), Graphs.of(batch_of(*molecules(20)))
    counts = []
    for threshold in torch.linspace(-2, 2, 9).tolist():
        model.policy.stop_below = threshold
        counts.append(picks_of(model, graphs))
    assert all(bool((later <= sooner).all()) for sooner, later in pairwise(counts))


def test_several_samples_are_the_batch_repeated() -> None:
    model, graphs = stopping_model().eval(), Graphs.of(batch_of(*molecules(12)))
    model.policy.stop_below, policy = middle(model, graphs), model.policy
    with torch.no_grad():
        one = policy(graphs, samples=3, sample=True, generator=torch.Generator().manual_seed(0))
        other = policy(repeated(graphs, 3), sample=True, generator=torch.Generator().manual_seed(0))
    assert torch.equal(one.roots, other.roots)
    assert bool((one.roots == NO_PICK).any())


def test_training_always_makes_all_picks() -> None:
    model, y = stopping_model(1e9).train(), torch.randn(8, 1).double()
    graphs = Graphs.of(batch_of(*molecules(8)))
    objective = model.objective(graphs, y, squared, generator=torch.Generator().manual_seed(0))
    selection = objective.selection
    assert bool((selection.roots != NO_PICK).all())
    objective.loss.backward()
    assert all(weight.grad is not None for weight in model.parameters())


def test_the_loss_is_the_mean_over_first_copies() -> None:
    model, y = stopping_model(norm="layer").train(), torch.randn(8, 1).double()
    model.policy.surrogate = lambda _selection, _evidence: None
    graphs = Graphs.of(batch_of(*molecules(8)))
    objective = model.objective(graphs, y, squared, generator=torch.Generator().manual_seed(0))
    means = [
        squared(model.predict(graphs, objective.selection.steps(0, picks)), y)[0].mean() for picks in range(PICKS + 1)
    ]
    assert torch.allclose(objective.loss, torch.stack(means).mean())
    assert torch.allclose(objective.prediction_loss, means[-1])


def test_the_error_of_gains() -> None:
    costs = torch.tensor([[[1.0, 2.0]], [[0.5, 2.5]]])  # T = 1, one bag of two graphs: gains 0.5 and -0.5
    gains = torch.tensor([[0.0, 0.0]], requires_grad=True)
    evidence = Evidence(costs[-1], lambda: costs)
    error = gain_error(Selection(torch.zeros(1, 2).long(), gains=gains), evidence)
    assert error is not None
    assert error.item() == pytest.approx(0.125)  # half the square of each, within a distance of 1
    error.backward()
    assert gains.grad.tolist() == [[pytest.approx(-0.25), pytest.approx(0.25)]]


def test_gains_send_no_gradient_into_the_encoder() -> None:
    model = stopping_model(shared=True).train()
    selection = model.policy(Graphs.of(batch_of(*molecules(5))), generator=torch.Generator().manual_seed(0))
    selection.gains.sum().backward()
    assert all(weight.grad is None for weight in model.encoder.parameters())
    assert all(weight.grad is not None for weight in model.policy.gain.parameters())


def test_gains_are_learned() -> None:
    """Where every graph gains alike from a copy, that is what is predicted."""
    model = stopping_model().train()
    graphs = Graphs.of(batch_of(*molecules(16)))
    optimizer = torch.optim.Adam(model.policy.gain.parameters(), lr=0.02)
    costs = torch.stack([torch.full((1, 16), value) for value in (1.0, 0.6, 0.5, 0.5)])
    for _ in range(200):
        optimizer.zero_grad()
        selection = model.policy(graphs, generator=torch.Generator().manual_seed(0))
        gain_error(selection, Evidence(costs[-1], lambda: costs)).backward()
        optimizer.step()
    assert (selection.gains - torch.tensor([[0.4], [0.1], [0.0]])).abs().mean() < 0.02


@pytest.mark.parametrize(("settings", "message"), [({"stop_below": 0.1, "mode": "paper"}, "needs mode 'incremental'")])
def test_what_makes_no_sense_is_refused(settings: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        small_model(**settings)


def test_a_gain_needs_a_threshold() -> None:
    policy = small_model().policy
    with pytest.raises(ValueError, match="go together"):
        type(policy)(policy.encoder, policy.selector, picks=1, gain=nn.Linear(8, 1))
