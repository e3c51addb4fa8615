"""Reductions over the nodes of each graph of a batch."""

from __future__ import annotations

import torch
from torch import Tensor

from policylearn.bags.adjacency import count_ids, may_read
from policylearn.settings import NodePooling


class NoCandidateError(ValueError):
    """Scores of which none is a number, as those of a training that has diverged."""


def segment_sum(values: Tensor, batch: Tensor, num_graphs: int) -> Tensor:
    """Sum over the nodes of each graph, ``(N, ...) -> (G, ...)``."""
    return values.new_zeros(num_graphs, *values.shape[1:]).index_add(0, batch, values)


def segment_mean(values: Tensor, batch: Tensor, ptr: Tensor) -> Tensor:
    """Mean over the nodes of each graph, ``(N, ...) -> (G, ...)``."""
    sizes = (ptr[1:] - ptr[:-1]).to(values.dtype)
    return segment_sum(values, batch, len(ptr) - 1) / sizes.view(-1, *([1] * (values.dim() - 1)))


def group_mean(values: Tensor, group: Tensor, count: int) -> Tensor:
    """Mean over the rows of each group, ``(R, C) -> (count, C)``; zeros for a group without any."""
    rows = count_ids(group, count).clamp(min=1).unsqueeze(1)
    return segment_sum(values, group, count) / rows.to(values.dtype)


def group_pool(values: Tensor, group: Tensor, count: int, how: NodePooling) -> Tensor:
    """Sum or mean over the rows of each group, ``(R, C) -> (count, C)``."""
    return (segment_sum if how == "sum" else group_mean)(values, group, count)


def segment_max(values: Tensor, group: Tensor, count: int) -> Tensor:
    """Largest value of each group, ``(R, ...) -> (count, ...)``; -inf for a group without any.

    Rows that tie share the gradient evenly (that of `torch.segment_reduce` is wrong for ties where it is negative).
    """
    lowest = values.new_full((count, *values.shape[1:]), -torch.inf)
    index = group.view(-1, *([1] * (values.dim() - 1))).expand_as(values)
    return lowest.scatter_reduce(0, index, values, "amax")


def segment_min(values: Tensor, group: Tensor, count: int) -> Tensor:
    """Smallest value of each group, see `segment_max`; inf for a group without any."""
    return -segment_max(-values, group, count)


def segment_log_softmax(scores: Tensor, batch: Tensor, num_graphs: int) -> Tensor:
    """Log-probabilities over the nodes of each graph; a score of -inf stays -inf, ``(N,) -> (N,)``."""
    top = segment_max(scores.detach(), batch, num_graphs).index_select(0, batch)
    shifted = scores - top
    total = segment_sum(shifted.exp(), batch, num_graphs)
    return shifted - total.log().index_select(0, batch)


def segment_argmax(scores: Tensor, batch: Tensor, num_graphs: int, tolerance: float = 0.0) -> Tensor:
    """The first node of each graph whose score is the largest, up to ties, ``(N,) -> (G,)``.

    A score of -inf keeps a node from being picked. Scores count as tied within ``tolerance * (1 + |largest|)``. Nodes
    that are alike up to symmetry have scores that are equal only up to rounding, and rounding changes with the rest of
    the batch; a small tolerance makes the choice among them depend on the graph alone.
    """
    top = segment_max(scores, batch, num_graphs)
    floor = (top - tolerance * (1 + top.abs())).index_select(0, batch)
    beyond = len(scores)
    candidates = torch.where(scores >= floor, torch.arange(beyond, device=scores.device), beyond)
    first = torch.full((num_graphs,), beyond, device=scores.device).scatter_reduce(0, batch, candidates, "amin")
    if num_graphs and may_read(first) and int(first.max()) == beyond:
        graph = int(first.argmax())
        raise NoCandidateError(
            f"graph {graph} of the batch has no node that can be picked: its scores are NaN or all -inf;"
            " if this comes up in training it has diverged: lower the learning rate or clip gradients"
        )
    return first
