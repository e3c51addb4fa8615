"""Estimators against what they estimate."""

from __future__ import annotations

import itertools

import networkx as nx
import pytest
import torch
from torch import Tensor
from torch_geometric.data import Batch, Data

from policylearn.bags import Graphs, Members, Selection
from policylearn.models import SubgraphGNN
from policylearn.policies import (
    ESTIMATORS,
    Evidence,
    LearnedPolicy,
    LearnedSettings,
    Reinforce,
    StraightThrough,
    gumbel,
    selection_of,
)
from policylearn.policies.estimators.reinforce import RIDGE, advantages, residuals
from policylearn.settings import ConfigError, Settings
from tests.errors import raises_naming
from tests.graphs import batch_of, data_of, molecules, repeated, small_model

PAIRS = 2000
"""Graphs of two nodes and no edge."""


def squared(output: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    return (output - y).square(), torch.ones_like(output, dtype=torch.bool)


def test_gradient_of_a_mark_against_finite_differences() -> None:
    model = small_model(dtype=torch.float64).eval()
    graphs = Graphs.of(batch_of(*molecules(3)))
    roots = graphs.ptr[:-1].unsqueeze(0)
    hard = torch.zeros(1, graphs.num_nodes, dtype=torch.float64).scatter(1, roots, 1.0)

    def loss(marks: Tensor) -> Tensor:
        return model.predict(graphs, Selection(roots, marks=marks)).square().sum()

    marks = hard.clone().requires_grad_()
    (gradient,) = torch.autograd.grad(loss(marks), marks)
    step = 1e-6
    with torch.enable_grad():
        for node in range(0, graphs.num_nodes, 3):
            nudge = torch.zeros_like(hard)
            nudge[0, node] = step
            numeric = (loss(hard + nudge) - loss(hard - nudge)).item() / (2 * step)
            assert abs(numeric - gradient[0, node].item()) < 1e-5 * max(1.0, abs(numeric))


@pytest.mark.parametrize("tau", [0.33, 1.0, 2.0])
def test_gradient_of_straight_through_is_the_softmax_jacobian(tau: float) -> None:
    generator = torch.Generator().manual_seed(0)
    batch = torch.tensor([0, 0, 0, 1, 1, 1, 1])
    scores = torch.randn(7, generator=generator, dtype=torch.float64).requires_grad_()
    noise = torch.randn(7, generator=generator, dtype=torch.float64)
    upstream = torch.randn(7, generator=generator, dtype=torch.float64)
    pick = StraightThrough(tau).draw(scores, noise, Members(batch, torch.tensor([0, 3, 7])))
    assert pick.marks is not None
    (gradient,) = torch.autograd.grad((pick.marks * upstream).sum(), scores)
    for graph in (0, 1):
        own = batch == graph
        y = torch.softmax((scores.detach() + noise)[own] / tau, 0)
        jacobian = (torch.diag(y) - torch.outer(y, y)) / tau
        assert torch.allclose(gradient[own], jacobian @ upstream[own], atol=1e-12)
        assert int(pick.nodes[graph]) == int(own.nonzero()[0]) + int(y.argmax())


class Unscaled(Reinforce, frozen=True):
    """The estimate before advantages are divided by their root mean square."""

    def surrogate(self, selection: Selection, evidence: Evidence) -> Tensor:
        assert selection.log_prob is not None
        return (advantages(selection.picks, evidence) * selection.log_prob).sum(0).mean()


def expected_cost(model: SubgraphGNN, graphs: Graphs, y: Tensor) -> Tensor:
    """The exact expectation of the loss over all bags, with its gradient."""
    policy = model.policy
    assert isinstance(policy, LearnedPolicy)
    nodes = graphs.num_nodes
    total = torch.zeros((), dtype=torch.float64)
    for bag in itertools.permutations(range(nodes), policy.picks):
        noise = torch.full((policy.picks, nodes), -1e6, dtype=torch.float64)
        for step, root in enumerate(bag):
            noise[step, root] = 1e6
        selection = policy(graphs, noise=noise)
        assert selection.roots[:, 0].tolist() == list(bag)
        assert selection.log_prob is not None
        total = total + selection.log_prob.sum().exp() * squared(model.predict(graphs, selection), y)[0].sum()
    return total


def test_the_score_function_is_unbiased() -> None:
    """The mean estimate against exact enumeration over all bags, a graph of 4 nodes, T = 2."""
    model = small_model(dtype=torch.float64, layers=2, picks=2, norm="layer", estimator="reinforce", seed=1).train()
    assert isinstance(model.policy, LearnedPolicy)
    model.policy.estimator = Unscaled()
    data = data_of(nx.path_graph(4), torch.Generator().manual_seed(0))
    graphs = Graphs.of(batch_of(data))
    y = torch.full((1, 1), 2.0, dtype=torch.float64)
    for norm in model.encoder.modules():  # statistics of the batch would couple its graphs
        norm.eval()
    weights = [weight for weight in model.parameters() if weight.requires_grad]
    exact = torch.cat([g.flatten() for g in gradients(expected_cost(model, graphs, y), weights)])
    generator = torch.Generator().manual_seed(0)
    rounds = []
    many = repeated(data, 50)  # an average of 50 independent estimates
    for _ in range(60):
        loss = model.objective(many, y.repeat(50, 1), squared, generator=generator).loss
        rounds.append(torch.cat([g.flatten() for g in gradients(loss, weights)]))
    estimates = torch.stack(rounds)
    mean, error = estimates.mean(0), estimates.std(0) / len(rounds) ** 0.5
    # Along the exact gradient, and along fixed random directions: within 3 standard errors.
    directions = torch.randn(5, len(exact), dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    for direction in [exact, *directions]:
        along = estimates @ direction
        off = abs(float(along.mean() - exact @ direction)) / float(along.std() / len(rounds) ** 0.5)
        assert off < 3, f"{off:.1f} standard errors off"
    assert torch.cosine_similarity(mean, exact, dim=0) > 0.99
    assert (error < exact.abs().max()).all()
    policy_part = torch.cat([g.flatten() for g in gradients(expected_cost(model, graphs, y), policy_weights(model))])
    assert policy_part.abs().max() > 1e-4, "the policy's own gradient must not be nothing"


def test_residuals_are_those_of_leaving_each_one_out() -> None:
    generator = torch.Generator().manual_seed(0)
    values, known = torch.randn(2, 12, generator=generator, dtype=torch.float64)
    got = residuals(values, [known])
    design = torch.stack([torch.ones_like(known), (known - known.mean()) / known.std(correction=0)], 1)
    for left_out in range(12):
        kept = design[torch.arange(12) != left_out]
        gram = kept.T @ kept + RIDGE * 12 * torch.eye(2, dtype=torch.float64)
        weights = torch.linalg.solve(gram, kept.T @ values[torch.arange(12) != left_out])
        assert abs(float(got[left_out] - (values[left_out] - design[left_out] @ weights))) < 1e-6


def test_a_baseline_that_knows_the_cost_leaves_nothing_to_learn() -> None:
    costs = torch.tensor([1.0, 2.0, 5.0, 3.0, 8.0, 4.0])
    nothing, unknown = advantages(1, Evidence(costs, lambda: None)), torch.full((6,), torch.nan)
    assert nothing.abs().max() > 1
    assert advantages(1, Evidence(costs, lambda: None, costs * 3 + 1)).abs().max() < 1e-2
    assert advantages(1, Evidence(costs, lambda: torch.stack([costs, costs]))).abs().max() < 1e-2
    assert torch.equal(advantages(1, Evidence(costs, lambda: None, unknown)), nothing), "a new graph has no past"


def test_the_surrogate_makes_costly_picks_rarer() -> None:
    log_prob = torch.zeros(1, 4, requires_grad=True)
    selection = Selection(torch.zeros(1, 4).long(), log_prob=log_prob)
    surrogate = Reinforce().surrogate(selection, Evidence(torch.tensor([1.0, 2.0, 3.0, 4.0]), lambda: None))
    assert surrogate is not None
    (gradient,) = torch.autograd.grad(surrogate, log_prob)
    assert gradient.sign().tolist() == [[-1, -1, 1, 1]]  # descent lowers the log-probability of what cost much
    assert Reinforce().surrogate(selection, Evidence(torch.ones(1), lambda: None)) is None


def gradients(loss: Tensor, weights: list[Tensor]) -> list[Tensor]:
    found = torch.autograd.grad(loss, weights, allow_unused=True, retain_graph=True)
    return [torch.zeros_like(w) if g is None else g for w, g in zip(weights, found, strict=True)]


def policy_weights(model: SubgraphGNN) -> list[Tensor]:
    assert isinstance(model.policy, LearnedPolicy)
    return list(model.policy.parameters())


def test_reinforce_leaves_prediction_weights_the_plain_gradient() -> None:
    model = small_model(picks=2, dtype=torch.float64, estimator="reinforce").train()
    graphs, y = Graphs.of(batch_of(*molecules(5))), torch.zeros(5, 1, dtype=torch.float64)
    step = model.objective(graphs, y, squared, generator=torch.Generator().manual_seed(0))
    head = list(model.head.parameters())
    plain = squared(step.outputs, y)[0].mean()
    for a, b in zip(gradients(step.loss, head), gradients(plain, head), strict=True):
        assert torch.allclose(a, b)


@pytest.mark.parametrize("mode", ["incremental", "paper"])
@pytest.mark.parametrize("norm", ["layer", "batch", "none"])
@pytest.mark.parametrize("estimator", ["reinforce", "straight_through", "imle"])
def test_each_estimator_moves_the_selection_network(mode: str, norm: str, estimator: str) -> None:
    # The choices of I-MLE change at a distance that grows with the size of the gradients, small here.
    own = {"strength": 1e4} if estimator == "imle" else {}
    model = small_model(picks=3, estimator=estimator, mode=mode, norm=norm, **own).train()
    model.objective(batch_of(*molecules(8)), torch.randn(8, 1), squared).loss.backward()
    assert max(float(w.grad.abs().max()) for w in policy_weights(model)) > 1e-6


def test_a_setting_that_the_policy_has_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    class Clash(Settings, frozen=True):
        picks: float = 0.5

    monkeypatch.setitem(ESTIMATORS._things, "clash", Clash)
    with raises_naming(ConfigError, "'clash'", "'picks'"):
        LearnedSettings.read({"estimator": "clash"}, "selection.")


def likelier_gradient(rule: Reinforce) -> float:
    """The gradient of the likelier node's score, over many draws, where all picks cost the same."""
    empty = torch.empty(2, 0, dtype=torch.long)
    graphs = Graphs.of(Batch.from_data_list([Data(edge_index=empty, num_nodes=2)] * PAIRS))
    scores = torch.tensor([1.0, -1.0], requires_grad=True)
    logits, generator = scores.repeat(PAIRS), torch.Generator().manual_seed(0)
    selection = selection_of([rule.draw(logits, gumbel(2 * PAIRS, generator, logits), graphs)], graphs)
    added = rule.surrogate(selection, Evidence(torch.ones(PAIRS), lambda: torch.ones(2, PAIRS), None))
    assert added is not None
    (found,) = torch.autograd.grad(added, scores)
    return float(found[0])


def test_an_entropy_bonus_lowers_scores_that_lead() -> None:
    without = likelier_gradient(Reinforce())
    # of two nodes with p = sigmoid(2) and q = 1 - p, the gradient of sum(p log p) is p q (log p - log q)
    p = torch.sigmoid(torch.tensor(2.0))
    exact = float(p * (1 - p) * 2)
    for entropy in (0.5, 1.0):
        assert likelier_gradient(Reinforce(entropy=entropy)) - without == pytest.approx(entropy * exact, rel=0.1)
