"""The learned policy's loop: one pass per step gives what the whole bag gives."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from policylearn.bags import Graphs, Selection, mark_nodes
from policylearn.models import SubgraphGNN
from policylearn.policies import LearnedPolicy
from policylearn.settings import ConfigError
from tests.graphs import batch_of, molecules, repeated, small_model

PICKS = 4


def policy_of(model: SubgraphGNN) -> LearnedPolicy:
    assert isinstance(model.policy, LearnedPolicy)
    return model.policy


def rerun(policy: LearnedPolicy, graphs: Graphs, selection: Selection, step: int) -> Tensor:
    """Scores at a step from the whole bag of that step, with no state kept from earlier ones."""
    marks = None if selection.marks is None else selection.marks[:step]
    bag = mark_nodes(graphs, Selection(selection.roots[:step], marks=marks), dtype=torch.float64)
    pooled = policy.pool.finish(policy.pool.part(policy.encoder(graphs, bag), bag))
    return policy.score(pooled, graphs)


@pytest.mark.parametrize(
    ("norm", "training"),
    [("layer", True), ("layer", False), ("none", True), ("none", False), ("batch", False)],  # in training it mixes rows
)
@pytest.mark.parametrize("estimator", ["reinforce", "straight_through"])
@pytest.mark.parametrize("pooling", ["mean", "sum", "min"])
def test_one_pass_per_step_equals_the_whole_bag(norm: str, training: bool, estimator: str, pooling: str) -> None:
    model = small_model(picks=PICKS, dtype=torch.float64, estimator=estimator, norm=norm, pooling=pooling)
    policy = policy_of(model.train(training))
    graphs = Graphs.of(batch_of(*molecules(12)))
    selection = policy(graphs, generator=torch.Generator().manual_seed(0))
    assert selection.logits is not None
    for step in range(PICKS):
        open_now = selection.logits[step].isfinite()
        wanted = rerun(policy, graphs, selection, step)
        assert (selection.logits[step] - wanted)[open_now].abs().max() < 1e-6


def test_the_gradient_of_one_pass_per_step_equals_that_of_the_whole_bag() -> None:
    policy = policy_of(small_model(picks=PICKS, dtype=torch.float64, estimator="straight_through").train())
    graphs = Graphs.of(batch_of(*molecules(6)))
    selection = policy(graphs, generator=torch.Generator().manual_seed(0))
    assert selection.logits is not None
    last = selection.logits[-1]
    open_now = last.isfinite()
    kept = torch.autograd.grad(last[open_now].square().sum(), list(policy.parameters()), retain_graph=True)
    again = rerun(policy, graphs, selection, PICKS - 1)[open_now].square().sum()
    anew = torch.autograd.grad(again, list(policy.parameters()))
    for a, b in zip(kept, anew, strict=True):
        assert (a - b).abs().max() <= 1e-9 * max(1.0, float(b.abs().max()))


def test_one_encoder_pass_per_step() -> None:
    policy = policy_of(small_model(picks=PICKS))
    rows: list[int] = []
    policy.encoder.register_forward_hook(lambda _module, _inputs, output: rows.append(len(output)))
    graphs = Graphs.of(batch_of(*molecules(5)))
    policy(graphs)
    assert rows == [graphs.num_nodes] * PICKS
    policy.mode = "paper"
    rows.clear()
    policy(graphs)
    assert rows == [graphs.num_nodes * (step + 1) for step in range(PICKS)]


def test_masking_forbids_repeats_and_its_absence_allows_them() -> None:
    graphs = Graphs.of(batch_of(*molecules(30)))
    for mask in (True, False):
        model = small_model(picks=2, mask_selected=mask, seed=3).train()
        roots = torch.cat([model.select(graphs).roots for _ in range(20)], dim=1)
        assert bool((roots[0] == roots[1]).any()) != mask


def test_sampling_follows_the_scores() -> None:
    policy = policy_of(small_model(picks=1).eval())
    graphs = repeated(molecules(3)[1], 20000)
    nodes = int(graphs.sizes[0])
    selection = policy(graphs, sample=True, generator=torch.Generator().manual_seed(0))
    assert selection.logits is not None
    wanted = torch.softmax(selection.logits[0, :nodes], 0)
    drawn = torch.bincount(selection.local_roots(graphs.ptr)[0], minlength=nodes) / graphs.num_graphs
    assert (drawn - wanted).abs().max() < 5 * (0.25 / graphs.num_graphs) ** 0.5
    assert selection.log_prob is not None
    picked = selection.local_roots(graphs.ptr)[0]
    assert torch.allclose(selection.log_prob[0], wanted.log()[picked], atol=1e-5)


def test_evaluation_takes_the_best_and_is_repeatable() -> None:
    model = small_model(picks=3).eval()
    graphs = Graphs.of(batch_of(*molecules(10)))
    first, second = model.select(graphs), model.select(graphs)
    assert torch.equal(first.roots, second.roots)
    assert first.logits is not None
    for step in range(3):
        for graph in range(10):
            scores = first.logits[step, graphs.ptr[graph] : graphs.ptr[graph + 1]]
            best = first.logits[step, first.roots[step, graph]]
            assert scores.max() - best <= 1e-4 * (1 + scores.max().abs())


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("picks", {"picks": -1}),
        ("tau", {"tau": 0.0, "estimator": "straight_through"}),
        ("tau", {"tau": 1.0}),
        ("node_dropout", {"node_dropout": 1.0}),
        ("mode", {"mode": "fast"}),
        ("best", {"estimator": "best"}),
        ("pixs", {"pixs": 3}),
    ],
)
def test_settings_that_make_no_sense_are_refused(name: str, settings: dict) -> None:
    with pytest.raises(ConfigError, match=name):
        small_model(**settings)
