"""The entropy bonus that is compared with `reinforce`."""

from __future__ import annotations

import pytest
import torch
from torch_geometric.data import Batch, Data

from policylearn.bags import Graphs
from policylearn.policies import ESTIMATORS, Evidence, Reinforce, gumbel, selection_of

PAIRS = 2000
"""Graphs of two nodes and no edge."""


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


def test_the_bonus_lowers_scores_that_lead(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ESTIMATORS, "_things", dict(ESTIMATORS))  # other tests do not know the lab's estimator
    from lab.rules import Explore

    without = likelier_gradient(Reinforce())
    # of two nodes with p = sigmoid(2) and q = 1 - p, the gradient of sum(p log p) is p q (log p - log q)
    p = torch.sigmoid(torch.tensor(2.0))
    exact = float(p * (1 - p) * 2)
    for entropy in (0.5, 1.0):
        assert likelier_gradient(Explore(entropy=entropy)) - without == pytest.approx(entropy * exact, rel=0.1)
