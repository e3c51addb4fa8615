"""A prior moves the first pick alone."""

from __future__ import annotations

import pytest
import torch

from policylearn.bags import Graphs
from policylearn.policies import RankedPolicy, degree, log_degree, subgraph_centrality
from tests.graphs import batch_of, molecules, repeated, small_model, symmetric_graphs

PRIORS = {"degree": log_degree, "centrality": subgraph_centrality}


@pytest.mark.parametrize("name", PRIORS)
def test_its_logarithm_is_added_to_the_scores_of_the_first_pick(name: str) -> None:
    plain = small_model(picks=3, dtype=torch.float64).eval()
    model = small_model(picks=3, dtype=torch.float64, prior=name).eval()
    graphs = Graphs.of(batch_of(*molecules(9)))
    with torch.no_grad():
        before, after = plain.select(graphs), model.select(graphs)
        assert before.logits is not None
        assert after.logits is not None
        assert torch.allclose(after.logits[0], before.logits[0] + PRIORS[name](graphs))
        # Later picks see their own copies and nothing else of the prior.
        same = (before.roots[0] == after.roots[0]).index_select(0, graphs.batch)
        free = same & before.logits[1].isfinite()
        assert bool(free.any())
        assert torch.allclose(after.logits[1][free], before.logits[1][free])


def test_scores_that_say_nothing_leave_the_first_pick_to_it() -> None:
    model = small_model(picks=1, prior="degree").eval()
    with torch.no_grad():
        for weight in model.policy.selector.parameters():
            weight.zero_()
    graphs = Graphs.of(batch_of(*molecules(9), *symmetric_graphs()))
    with torch.no_grad():
        assert torch.equal(model.select(graphs).roots, RankedPolicy(degree, 1)(graphs).roots)


def test_draws_follow_it() -> None:
    """With scores that say nothing, a node is drawn in proportion to one more than its degree."""
    model = small_model(picks=1, prior="degree").train()
    with torch.no_grad():
        for weight in model.policy.selector.parameters():
            weight.zero_()
    graphs = Graphs.of(batch_of(molecules(1)[0]))
    times = 4000
    drawn = model.policy(graphs, samples=times, generator=torch.Generator().manual_seed(0)).roots % graphs.num_nodes
    share = torch.bincount(drawn[0], minlength=graphs.num_nodes) / times
    wanted = (degree(graphs) + 1) / (degree(graphs) + 1).sum()
    assert (share - wanted).abs().max() < 4 * (0.25 / times) ** 0.5


def test_several_samples_are_the_batch_repeated() -> None:
    policy = small_model(picks=2, dtype=torch.float64, prior="centrality", estimator="rloo").train().policy
    graphs = Graphs.of(batch_of(*molecules(6)))
    one = policy(graphs, samples=3, generator=torch.Generator().manual_seed(0))
    other = policy(repeated(graphs, 3), generator=torch.Generator().manual_seed(0))
    assert torch.equal(one.roots, other.roots)
    assert torch.allclose(one.logits, other.logits)


def test_a_graph_alone_and_in_company() -> None:
    model = small_model(picks=2, prior="centrality", dtype=torch.float64).eval()
    company = molecules(20, seed=100)
    with torch.no_grad():
        for data in (*symmetric_graphs(), *molecules(5)):
            alone = model(batch_of(data))
            assert (model(batch_of(*company, data))[-1:] - alone).abs().max() < 1e-9


def test_an_unknown_one_is_refused() -> None:
    with pytest.raises(ValueError, match="'prior' must be one of degree, centrality"):
        small_model(prior="pagerank")
