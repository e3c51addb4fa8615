"""How the gradient reaches a choice that was drawn."""

from __future__ import annotations

from typing import Literal, get_args

import torch
from torch import Tensor

from policylearn.nn import segment_argmax, segment_log_softmax, segment_max

Estimator = Literal["rloo", "straight_through", "gapped"]
ESTIMATORS: tuple[Estimator, ...] = get_args(Estimator)


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
    return roots, hard_with_gradient(roots, soft)


def gapped(
    scores: Tensor, noise: Tensor, tau: float, batch: Tensor, num_graphs: int, gap: float = 1.0
) -> tuple[Tensor, Tensor]:
    r"""As `straight_through`, with a softmax that knows of the choice and not of the noise (Fan et al., 2022).

    .. math:: y = \mathrm{softmax}(s' / \tau), \quad s'_v = \max_u s_u, \quad s'_u = \min(s_u, \max s - \mathrm{gap})

    for the drawn node :math:`v` and every other :math:`u`. Draws that end alike have one gradient, so it varies less.

    Args:
        scores: -inf where a node must not be picked, ``(N,)``.
        noise: Gumbel noise, ``(N,)``.
        tau: temperature.
        batch: the graph of each node, ``(N,)``.
        num_graphs: G.
        gap: how far the drawn node is ahead of all others at least.

    Shapes:
        roots ``(G,)``, marks ``(N,)``.
    """
    fixed = scores.detach()
    roots = segment_argmax(fixed + noise, batch, num_graphs)
    top = segment_max(fixed, batch, num_graphs)
    moved = torch.minimum(fixed, (top - gap).index_select(0, batch)).index_copy(0, roots, top)
    shift = torch.where(fixed.isinf(), 0.0, moved - fixed)
    soft = segment_log_softmax((scores + shift) / tau, batch, num_graphs).exp()
    return roots, hard_with_gradient(roots, soft)


def hard_with_gradient(roots: Tensor, soft: Tensor) -> Tensor:
    """Marks that are one at the roots and zero elsewhere, with the gradient of ``soft``, ``(N,) -> (N,)``."""
    hard = torch.zeros_like(soft).index_fill(0, roots, 1.0)
    return hard + (soft - soft.detach())


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
