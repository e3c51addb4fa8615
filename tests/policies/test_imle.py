"""I-MLE: what it chooses, and what gradient it hands back."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from policylearn.bags import Graphs, Members
from policylearn.models.systems.osan_networks import keep_best
from policylearn.policies import Imle, node_uniform
from policylearn.settings import ConfigError
from tests.graphs import batch_of, molecules

MEMBERS = Members(torch.tensor([0, 0, 0, 1, 1, 1, 1, 2]), torch.tensor([0, 3, 7, 8]))


def test_the_gradient_is_the_change_of_the_choice() -> None:
    scores = torch.tensor([3.0, 2.0, 1.0, 0.0, 5.0, 4.0, 3.0, 1.0], requires_grad=True)
    pick = Imle(strength=10.0).draw(scores, torch.zeros(8), MEMBERS)
    assert pick.nodes.tolist() == [0, 4, 7]
    assert pick.marks is not None
    assert pick.marks.tolist() == [1, 0, 0, 0, 1, 0, 0, 1]
    # Of the first graph the mark costs 1 at node 0 and nothing elsewhere: moved by ten, node 1 would be picked.
    (gradient,) = torch.autograd.grad((pick.marks * torch.tensor([1.0, 0, 0, 0, 0, 0, 0, 1.0])).sum(), scores)
    assert gradient.tolist() == [1, -1, 0, 0, 0, 0, 0, 0]


def test_a_node_that_must_not_be_picked_is_not_the_target_either() -> None:
    scores = torch.tensor([3.0, -torch.inf, 1.0], requires_grad=True)
    members = Members(torch.zeros(3, dtype=torch.long), torch.tensor([0, 3]))
    pick = Imle().draw(scores, torch.zeros(3), members)
    assert pick.marks is not None
    (gradient,) = torch.autograd.grad((pick.marks * torch.tensor([1.0, -5.0, 0.0])).sum(), scores)
    assert gradient.tolist() == [1, 0, -1]


def test_any_rule_will_do() -> None:
    scores = torch.tensor([0.3, -0.2], requires_grad=True)
    choice = Imle(strength=1.0).choose(scores, torch.zeros(2), lambda values: (values > 0).to(values.dtype))
    (gradient,) = torch.autograd.grad((choice * torch.tensor([1.0, -1.0])).sum(), scores)
    assert gradient.tolist() == [1, -1]
    with pytest.raises(ConfigError):
        Imle(0.0)


@given(st.integers(0, 1000), st.integers(-9, 9).filter(bool))
def test_so_many_nodes_are_kept_and_no_better_one_is_dropped(seed: int, keep: int) -> None:
    scores = torch.randn(8, 3, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    mask = keep_best(scores, MEMBERS, keep, tolerance=0.0)
    wanted = [max(1, size + keep) if keep < 0 else min(size, keep) for size in (3, 4, 1)]
    for graph, (values, kept) in enumerate(zip(scores.split([3, 4, 1]), mask.split([3, 4, 1]), strict=True)):
        assert kept.sum(0).tolist() == [wanted[graph]] * 3
        for column in range(3):
            dropped = values[:, column][kept[:, column] == 0]
            assert not len(dropped) or dropped.max() < values[:, column][kept[:, column] == 1].min()


def test_ties_at_the_threshold_are_all_kept_whatever_the_rounding() -> None:
    scores = torch.tensor([[1.0], [1.0 + 1e-7], [2.0], [0.0], [0.0], [0.0], [0.0], [1.0]])
    assert keep_best(scores, MEMBERS, 2).squeeze(1).tolist() == [1, 1, 1, 1, 1, 1, 1, 1]


def test_numbers_by_seed_belong_to_the_graph_and_not_to_the_batch() -> None:
    first, second = molecules(2)
    together = node_uniform(Graphs.of(batch_of(first, second)), 4, seed=3)
    alone = node_uniform(Graphs.of(batch_of(second)), 4, seed=3)
    assert torch.equal(together[first.num_nodes :], alone)
    assert len(alone.unique()) == alone.numel()
