"""Reductions with ties: values and gradients of both signs against a dense reference in double precision."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor
from torch_geometric.data import Data

from policylearn.bags import NO_PICK, Adjacency, EgoNets, Graphs, Selection, mark_nodes
from policylearn.models.systems.pna import aggregates
from policylearn.nn import CopyPool, segment_argmax, segment_log_softmax, segment_max, segment_min
from tests.graphs import batch_of, molecules

GROUP = torch.tensor([2, 0, 0, 2, 2, 0, 3, 0, 2, 3])  # nobody is in group 1
VALUES = torch.tensor([1.0, 5, 5, 3, 3, 5, -2, 4, 3, -2], dtype=torch.float64)


def shared(values: Tensor, upstream: Tensor, *, largest: bool) -> Tensor:
    """The gradient of the extreme of a column, ``(R, C)``: those that have it share it evenly."""
    tied = values == (values.amax(0) if largest else values.amin(0))
    return tied * upstream / tied.sum(0)


def with_ties(rows: int) -> Tensor:
    """Whole numbers from a small range, so that most columns tie."""
    generator = torch.Generator().manual_seed(0)
    return torch.randint(-1, 2, (rows, 6), generator=generator).double().requires_grad_()


def signed(like: Tensor) -> Tensor:
    """Upstream gradients of both signs by turns."""
    numbers = torch.arange(1, 1 + like.numel(), dtype=like.dtype).view_as(like)
    return torch.where(numbers % 2 == 0, numbers, -numbers)


@pytest.mark.parametrize("columns", [None, 6])
@pytest.mark.parametrize(("pool", "largest"), [(segment_max, True), (segment_min, False)])
def test_extremes_of_groups(pool: Callable[..., Tensor], largest: bool, columns: int | None) -> None:
    values = with_ties(len(GROUP)) if columns else VALUES.clone().requires_grad_()
    found = pool(values, GROUP, 4)
    upstream = signed(found)
    (gradient,) = torch.autograd.grad((found.nan_to_num(0, 0, 0) * upstream).sum(), values)
    for group in range(4):
        own = group == GROUP
        if not own.any():
            assert found[group].isinf().all()
            continue
        rows = values.detach()[own]
        assert torch.equal(found[group], rows.amax(0) if largest else rows.amin(0))
        assert torch.allclose(gradient[own], shared(rows, upstream[group], largest=largest), atol=1e-12)


def test_the_aggregates_of_pna() -> None:
    edges = torch.randint(9, (2, 60), generator=torch.Generator().manual_seed(0))
    edges[1][edges[1] == 4] = 5  # nobody sends to node 4
    adjacency = Adjacency.of(edges, 9)
    messages = with_ties(60)
    found = aggregates(messages, adjacency)  # mean, max, min, deviation
    upstream = signed(found)
    for place, largest in ((1, True), (2, False)):
        (gradient,) = torch.autograd.grad((found * upstream)[:, place].sum(), messages, retain_graph=True)
        for node in set(range(9)) - {4}:
            own = adjacency.target == node
            wanted = shared(messages.detach()[own], upstream[node, place], largest=largest)
            assert torch.allclose(gradient[own], wanted, atol=1e-12)
    assert not found[4].any()


@pytest.mark.parametrize(
    ("rule", "roots"),
    [
        (mark_nodes, [[0, 3], [1, 4], [2, 3]]),  # equally many copies
        (mark_nodes, [[0, 3], [1, NO_PICK]]),
        (EgoNets(hops=1), [[0, 3], [1, 4]]),  # and nodes that are in one copy alone
    ],
)
def test_the_least_over_copies(rule: Callable[..., object], roots: list[list[int]]) -> None:
    edges = torch.tensor([[0, 1, 1, 2, 3, 4], [1, 0, 2, 1, 4, 3]])
    pieces = [Data(torch.zeros(3, 1), edges[:, :4]), Data(torch.zeros(2, 1), edges[:, 4:] - 3)]
    bag = rule(Graphs.of(batch_of(*pieces)), Selection(torch.tensor(roots)), unmarked=False)
    pool, states = CopyPool("min"), with_ties(bag.num_rows)
    found = pool.finish(pool.part(states, bag))
    upstream = signed(found)
    (gradient,) = torch.autograd.grad((found * upstream).sum(), states)
    for node in range(5):
        own = bag.node == node
        if own.any():
            assert torch.equal(found[node], states.detach()[own].amin(0))
            wanted = shared(states.detach()[own], upstream[node], largest=False)
            assert torch.allclose(gradient[own], wanted, atol=1e-12)


def test_two_pieces_of_a_bag_share_what_ties() -> None:
    graphs = Graphs.of(batch_of(*molecules(2)))
    bag = mark_nodes(graphs, Selection(graphs.ptr[:-1].unsqueeze(0)), unmarked=False)
    pool = CopyPool("min")
    first, second = with_ties(bag.num_rows), with_ties(2 * bag.num_rows)[bag.num_rows :].detach().requires_grad_()
    found = pool.finish(pool.join(pool.part(first, bag), pool.part(second, bag)))
    upstream = signed(found)
    gradients = torch.stack(torch.autograd.grad((found * upstream).sum(), [first, second]))
    both = torch.stack([first, second]).detach()
    assert torch.allclose(gradients, shared(both, upstream, largest=False), atol=1e-12)


def test_among_ties_the_first_is_picked_and_probabilities_are_equal() -> None:
    batch = GROUP.sort().values
    scores = torch.tensor([5.0, 5, 5, 4, 3, 3, 3, 1, -2, -2], dtype=torch.float64).requires_grad_()
    batch = batch - (batch > 1).long()  # 0, 1 and 2
    assert segment_argmax(scores.detach(), batch, 3).tolist() == [0, 4, 8]
    found = segment_log_softmax(scores, batch, 3)
    upstream = signed(found)
    (gradient,) = torch.autograd.grad((found * upstream).sum(), scores)
    for graph in range(3):
        own = batch == graph
        dense = scores.detach()[own].clone().requires_grad_()
        wanted = torch.log_softmax(dense, 0)
        assert torch.allclose(found[own], wanted, atol=1e-12)
        assert torch.allclose(gradient[own], torch.autograd.grad((wanted * upstream[own]).sum(), dense)[0], atol=1e-12)
