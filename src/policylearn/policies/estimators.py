"""How the gradient reaches a choice that was drawn."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor

from policylearn.nn import segment_argmax, segment_log_softmax

Estimator = Literal["rloo", "straight_through"]


def gumbel(size: int, generator: torch.Generator | None, like: Tensor) -> Tensor:
    """Standard Gumbel noise, ``(size,)``."""
    waiting = torch.empty(size, device=like.device, dtype=like.dtype).exponential_(generator=generator)
    return -waiting.clamp(min=torch.finfo(like.dtype).tiny).log()


def straight_through(
    scores: Tensor, noise: Tensor, tau: float, batch: Tensor, num_graphs: int
) -> tuple[Tensor, Tensor]:
    r"""Draw a node a graph, and a mark that is one-hot in value and softmax in gradient (eq. 5 of the paper).

    .. math:: \chi = \mathrm{onehot}(\arg\max y), \quad y = \mathrm{softmax}((s + g) / \tau)

    Args:
        scores: -inf where a node must not be picked, ``(N,)``.
        noise: Gumbel noise, ``(N,)``.
        tau: temperature.
        batch: the graph of each node, ``(N,)``.
        num_graphs: G.

    Shapes:
        roots ``(G,)``, marks ``(N,)``.
    """
    soft = segment_log_softmax((scores + noise) / tau, batch, num_graphs).exp()
    roots = segment_argmax(soft.detach(), batch, num_graphs)
    hard = torch.zeros_like(soft).index_fill(0, roots, 1.0)
    return roots, hard + (soft - soft.detach())


def leave_one_out(costs: Tensor, *, standardise: bool) -> Tensor:
    """Advantage of each sample over the mean of the graph's other samples, ``(K, G) -> (K, G)``.

    Args:
        costs: the loss of each graph with each of its K bags.
        standardise: divide by the standard deviation over the batch.
    """
    samples = len(costs)
    if samples < 2:
        raise ValueError(f"'samples' must be >= 2 for a leave-one-out baseline (got {samples})")
    advantage = (costs - costs.mean(0)) * (samples / (samples - 1))
    if standardise:
        # The mean is zero by construction.
        advantage = advantage / (advantage.square().mean().sqrt() + 1e-8)
    return advantage
