"""Both estimators against what they estimate."""

from __future__ import annotations

import itertools

import networkx as nx
import pytest
import torch
from torch import Tensor

from policylearn.bags import Members, Selection
from policylearn.models import SubgraphGNN
from policylearn.nn import Graphs
from policylearn.policies import Evidence, Gapped, LearnedPolicy, Reinforce, StraightThrough, leave_one_out
from policylearn.policies.estimators.reinforce import residuals
from tests.graphs import batch_of, data_of, molecules, repeated, small_model


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


def drawn(estimator: Gapped | StraightThrough, scores: Tensor, noise: Tensor, batch: Tensor) -> tuple[Tensor, Tensor]:
    sizes = torch.bincount(batch)
    pick = estimator.draw(scores, noise, Members(batch, torch.cat([sizes.new_zeros(1), sizes.cumsum(0)])), 1)
    assert pick.marks is not None
    return pick.nodes[0], pick.marks


@pytest.mark.parametrize("tau", [0.33, 1.0, 2.0])
def test_gradient_of_straight_through_is_the_softmax_jacobian(tau: float) -> None:
    generator = torch.Generator().manual_seed(0)
    batch = torch.tensor([0, 0, 0, 1, 1, 1, 1])
    scores = torch.randn(7, generator=generator, dtype=torch.float64).requires_grad_()
    noise = torch.randn(7, generator=generator, dtype=torch.float64)
    upstream = torch.randn(7, generator=generator, dtype=torch.float64)
    roots, marks = drawn(StraightThrough(tau), scores, noise, batch)
    (gradient,) = torch.autograd.grad((marks * upstream).sum(), scores)
    for graph in (0, 1):
        own = batch == graph
        y = torch.softmax((scores.detach() + noise)[own] / tau, 0)
        jacobian = (torch.diag(y) - torch.outer(y, y)) / tau
        assert torch.allclose(gradient[own], jacobian @ upstream[own], atol=1e-12)
        assert int(roots[graph]) == int(own.nonzero()[0]) + int(y.argmax())


@pytest.mark.parametrize(("tau", "gap"), [(0.33, 1.0), (1.0, 1.0), (1.0, 0.2)])
def test_gapped_picks_the_same_with_the_jacobian_of_the_gapped_softmax(tau: float, gap: float) -> None:
    generator = torch.Generator().manual_seed(1)
    batch = torch.tensor([0, 0, 0, 1, 1, 1, 1])
    scores = torch.randn(7, generator=generator, dtype=torch.float64)
    scores[4] = -torch.inf
    scores.requires_grad_()
    noise = torch.randn(7, generator=generator, dtype=torch.float64)
    upstream = torch.randn(7, generator=generator, dtype=torch.float64)
    roots, marks = drawn(Gapped(tau, gap), scores, noise, batch)
    assert torch.equal(roots, drawn(StraightThrough(tau), scores, noise, batch)[0])
    assert torch.equal(marks.detach(), torch.zeros_like(noise).index_fill(0, roots, 1.0))
    (gradient,) = torch.autograd.grad((marks * upstream).sum(), scores)
    for graph in (0, 1):
        own = (batch == graph) & scores.isfinite()
        top = scores.detach()[own].max()
        moved = scores.detach().clamp(max=top - gap).index_fill(0, roots[graph], float(top))[own]
        y = torch.softmax(moved / tau, 0)
        assert torch.allclose(gradient[own], (torch.diag(y) - torch.outer(y, y)) / tau @ upstream[own], atol=1e-12)
    assert gradient[4] == 0


def test_the_gradient_of_gapped_knows_the_noise_by_its_choice_alone() -> None:
    scores = torch.tensor([0.3, -0.2, 0.1, 0.0], requires_grad=True)
    batch, upstream = torch.zeros(4, dtype=torch.long), torch.tensor([1.0, -2.0, 0.5, 3.0])
    seen: dict[bool, list[Tensor]] = {True: [], False: []}
    for noise in (torch.tensor([0.0, 2.0, 0.0, 0.0]), torch.tensor([1.0, 5.0, -3.0, 0.7])):
        for estimate, kind in ((Gapped(), True), (StraightThrough(), False)):
            roots, marks = drawn(estimate, scores, noise, batch)
            assert roots.tolist() == [1]
            seen[kind].append(torch.autograd.grad((marks * upstream).sum(), scores)[0])
    assert torch.equal(*seen[True])
    assert not torch.allclose(*seen[False])


def test_leave_one_out_by_hand() -> None:
    costs = torch.tensor([[1.0, 5.0], [2.0, 5.0], [6.0, 5.0]])
    advantage = leave_one_out(costs, standardise=False)
    assert torch.allclose(advantage[:, 0], torch.tensor([1 - 4.0, 2 - 3.5, 6 - 1.5]))
    assert torch.equal(advantage[:, 1], torch.zeros(3))
    standardised = leave_one_out(costs, standardise=True)
    assert torch.allclose(standardised.square().mean(), torch.tensor(1.0))
    with pytest.raises(ValueError, match="'samples' must be >= 2"):
        leave_one_out(costs[:1], standardise=False)


def small_rloo(**changes) -> SubgraphGNN:
    settings = {"picks": 2, "norm": "layer", "standardise": False, "estimator": "rloo", "samples": 3, "seed": 1}
    return small_model(dtype=torch.float64, layers=2, **settings | changes).train()


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


@pytest.mark.parametrize(("estimator", "baseline"), [("rloo", "all"), ("reinforce", "batch"), ("reinforce", "prefix")])
def test_score_functions_are_unbiased(estimator: str, baseline: str) -> None:
    """The mean estimate against exact enumeration over all bags, a graph of 4 nodes, T = 2."""
    model = small_rloo(estimator=estimator, baseline=baseline)
    graphs = Graphs.of(batch_of(data_of(nx.path_graph(4), torch.Generator().manual_seed(0))))
    y = torch.full((1, 1), 2.0, dtype=torch.float64)
    for norm in model.encoder.modules():  # statistics of the batch would couple its graphs
        norm.eval()
    weights = [weight for weight in model.parameters() if weight.requires_grad]
    exact = torch.cat([g.flatten() for g in gradients(expected_cost(model, graphs, y), weights)])
    generator = torch.Generator().manual_seed(0)
    rounds = []
    many = repeated(graphs, 50)  # an average of 50 independent estimates
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
    values, known = torch.randn(12, generator=generator), torch.randn(12, generator=generator)
    got = residuals(values, [known], ridge=0.0)
    for left_out in range(12):
        kept = torch.arange(12) != left_out
        design = torch.stack([torch.ones(12), known], 1).double()
        weights = torch.linalg.lstsq(design[kept], values[kept].double()).solution
        assert abs(float(got[left_out]) - float(values[left_out] - design[left_out] @ weights)) < 1e-5


def test_a_baseline_that_knows_the_cost_leaves_nothing_to_learn() -> None:
    costs = torch.tensor([[1.0, 2.0, 5.0, 3.0, 8.0, 4.0]])
    selection = Selection(torch.zeros(1, 6).long(), log_prob=torch.zeros(1, 6, requires_grad=True))

    def gradient(baseline: str, past: Tensor | None) -> Tensor:
        evidence = Evidence(costs, lambda: None, past)
        loss = Reinforce(baseline, standardise=False, ridge=1e-9).surrogate(selection, evidence)
        return torch.autograd.grad(loss, selection.log_prob)[0]

    assert gradient("past", costs[0] * 3 + 1).abs().max() < 1e-4
    assert gradient("batch", costs[0]).abs().max() > 0.1
    unknown = torch.full((6,), torch.nan)
    assert torch.equal(gradient("past", unknown), gradient("batch", None)), "a graph that is new has no past"


def gradients(loss: Tensor, weights: list[Tensor]) -> list[Tensor]:
    found = torch.autograd.grad(loss, weights, allow_unused=True, retain_graph=True)
    return [torch.zeros_like(w) if g is None else g for w, g in zip(weights, found, strict=True)]


def policy_weights(model: SubgraphGNN) -> list[Tensor]:
    assert isinstance(model.policy, LearnedPolicy)
    return list(model.policy.parameters())


def test_rloo_leaves_prediction_weights_the_plain_gradient() -> None:
    model = small_rloo(standardise=True)
    graphs, y = Graphs.of(batch_of(*molecules(5))), torch.zeros(5, 1, dtype=torch.float64)
    step = model.objective(graphs, y, squared, generator=torch.Generator().manual_seed(0))
    head = list(model.head.parameters())
    plain = squared(step.outputs, y.repeat(3, 1))[0].mean()
    for a, b in zip(gradients(step.loss, head), gradients(plain, head), strict=True):
        assert torch.allclose(a, b)
    assert step.outputs.shape == (15, 1)


@pytest.mark.parametrize("mode", ["incremental", "paper"])
@pytest.mark.parametrize("norm", ["layer", "batch", "none"])
def test_each_learned_estimator_moves_the_selection_network(mode: str, norm: str) -> None:
    for estimator in ("reinforce", "rloo", "straight_through", "gapped", "imle"):
        # The choices of I-MLE change at a distance that grows with the size of the gradients, small here.
        model = small_model(picks=3, estimator=estimator, mode=mode, norm=norm, imle_strength=1e4).train()
        model.objective(batch_of(*molecules(8)), torch.randn(8, 1), squared).loss.backward()
        assert max(float(w.grad.abs().max()) for w in policy_weights(model)) > 1e-6
