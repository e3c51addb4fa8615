"""Nodes by rank: the best or the drawn ones of each graph, several per copy if wanted."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from policylearn.bags import NO_PICK, Members, Selection
from policylearn.nn import segment_argmax, segment_log_softmax, segment_max


@dataclass(frozen=True)
class Pick:
    """The picks of one step.

    Shapes:
        nodes ``(k, G)`` with the root first and `NO_PICK` where a graph has no further node; logits and marks ``(N,)``,
        log_prob ``(G,)``.
    """

    nodes: Tensor
    logits: Tensor | None = None
    log_prob: Tensor | None = None
    marks: Tensor | None = None


def gumbel(size: int, generator: torch.Generator | None, like: Tensor) -> Tensor:
    """Standard Gumbel noise, ``(size,)``."""
    waiting = torch.empty(size, device=like.device, dtype=like.dtype).exponential_(generator=generator)
    return -waiting.clamp(min=torch.finfo(like.dtype).tiny).log()


def gumbel_of(uniform: Tensor) -> Tensor:
    """Standard Gumbel noise from numbers in [0, 1), of any shape."""
    tiny = torch.finfo(uniform.dtype).tiny
    return -(-torch.log1p(-uniform)).clamp(min=tiny).log()


def top_nodes(scores: Tensor, members: Members, count: int, tolerance: float = 0.0) -> Tensor:
    """The ``count`` best nodes of each graph, best first, ``(N,) -> (count, G)``; `NO_PICK` where there are fewer.

    Args:
        scores: -inf where a node must not be picked; each graph has one that is finite.
        members: the nodes of each graph.
        count: k.
        tolerance: of `segment_argmax`.
    """
    best = [segment_argmax(scores, members.batch, members.num_graphs, tolerance)]
    for _ in range(count - 1):
        last = best[-1]
        scores = scores.index_fill(0, last[last != NO_PICK], -torch.inf)
        none_left = segment_max(scores, members.batch, members.num_graphs) == -torch.inf
        filled = torch.where(none_left.index_select(0, members.batch), 0.0, scores)
        node = segment_argmax(filled, members.batch, members.num_graphs, tolerance)
        best.append(torch.where(none_left, NO_PICK, node))
    return torch.stack(best)


def log_prob_of(logits: Tensor, nodes: Tensor, members: Members) -> Tensor:
    """Log-probability of drawing these nodes in this order, without putting one back, ``(N,), (k, G) -> (G,)``."""
    total = logits.new_zeros(members.num_graphs)
    for node in nodes:
        there = node != NO_PICK
        log_prob = segment_log_softmax(logits, members.batch, members.num_graphs)
        total = total + torch.where(there, log_prob.index_select(0, node.clamp(min=0)), 0.0)
        if len(nodes) > 1:
            logits = logits.index_fill(0, node[there], -torch.inf)
            exhausted = segment_max(logits.detach(), members.batch, members.num_graphs) == -torch.inf
            logits = torch.where(exhausted.index_select(0, members.batch), 0.0, logits)
    return total


def selection_of(picks: list[Pick], members: Members) -> Selection:
    """The picks of all steps as one selection."""
    if not picks:
        return Selection.nothing(members.ptr)

    def stacked(name: str) -> Tensor | None:
        present = [value for value in (getattr(pick, name) for pick in picks) if value is not None]
        return torch.stack(present) if len(present) == len(picks) else None

    nodes = torch.stack([pick.nodes for pick in picks])  # (T, k, G)
    return Selection(
        roots=nodes[:, 0],
        logits=stacked("logits"),
        log_prob=stacked("log_prob"),
        marks=stacked("marks"),
        further=nodes[:, 1:] if nodes.shape[1] > 1 else None,
    )
