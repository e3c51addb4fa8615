"""Outputs averaged over drawn bags: the mean over the policy's distribution, the same alone and in any batch."""

from __future__ import annotations

import pytest
import torch

from policylearn.bags import Graphs, Selection
from policylearn.fast import accelerate
from policylearn.nn import segment_log_softmax
from tests.graphs import batch_of, molecules, small_model, symmetric_graphs


@pytest.mark.parametrize("estimator", ["reinforce", "rloo", "straight_through", "gapped", "imle"])
def test_outputs_are_the_mean_over_the_bags(estimator: str) -> None:
    model = small_model(picks=2, estimator=estimator, dtype=torch.float64).eval()
    graphs = Graphs.of(batch_of(*molecules(6)))
    with torch.no_grad():
        mean, selections = model.predict_drawn(graphs, 5)
        each = [model.predict(graphs, Selection(one.roots)) for one in selections]
    assert torch.allclose(mean, torch.stack(each).mean(0))
    assert len({tuple(one.roots.flatten().tolist()) for one in selections}) > 1


@pytest.mark.parametrize("fast", [False, True])
@pytest.mark.parametrize("settings", [{}, {"shared": True}, {"policy": "random"}], ids=str)
def test_a_graph_alone_and_in_company(fast: bool, settings: dict) -> None:
    model = small_model(**settings, picks=2, dtype=torch.float64).eval()
    model = accelerate(model) if fast else model
    company = molecules(20, seed=100)
    with torch.no_grad():
        for data in (*symmetric_graphs(), *molecules(5)):
            alone, own = model.predict_drawn(batch_of(data), 3)
            together, all_of_them = model.predict_drawn(batch_of(*company, data), 3)
            assert (together[-1:] - alone).abs().max() < 1e-9
            before = sum(one.num_nodes for one in company)
            for a, b in zip(own, all_of_them, strict=True):
                assert torch.equal(a.roots[:, 0], b.roots[:, -1] - before)


def test_draws_follow_the_scores() -> None:
    """Over many draws the first pick comes as often as its probability says."""
    model = small_model(picks=1, dtype=torch.float64).eval()
    graphs = Graphs.of(batch_of(molecules(1)[0]))
    times = 3000
    with torch.no_grad():
        logits = model.select(graphs).logits
        _, selections = model.predict_drawn(graphs, times)
    wanted = segment_log_softmax(logits[0], graphs.batch, 1).exp()
    counted = torch.bincount(torch.cat([one.roots[0] for one in selections]), minlength=graphs.num_nodes) / times
    assert (counted - wanted).abs().max() < 4 * (0.25 / times) ** 0.5


def test_another_seed_draws_others() -> None:
    model = small_model(picks=2).eval()
    graphs = Graphs.of(batch_of(*molecules(6)))
    with torch.no_grad():
        one, other = (model.predict_drawn(graphs, 1, seed=seed)[1][0].roots for seed in (0, 1000))
    assert not torch.equal(one, other)


def test_the_first_random_draw_is_that_of_evaluation() -> None:
    model = small_model("random", picks=3).eval()
    graphs = Graphs.of(batch_of(*molecules(6)))
    assert torch.equal(model.policy.drawn(graphs, 0).roots, model.select(graphs).roots)


@pytest.mark.parametrize("policy", ["full", "none", "degree", "centrality"])
def test_a_policy_without_chance_is_refused(policy: str) -> None:
    with pytest.raises(ValueError, match="nothing to draw"):
        small_model(policy).eval().predict_drawn(batch_of(*molecules(2)), 4)
