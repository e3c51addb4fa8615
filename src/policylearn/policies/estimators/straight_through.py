"""Marks that carry the gradient themselves: hard in value, soft in gradient."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from policylearn.bags import NO_PICK, Members
from policylearn.bags.selection import places
from policylearn.nn import segment_log_softmax, segment_max
from policylearn.policies.draws import Pick, top_nodes
from policylearn.policies.estimators.protocol import no_surrogate


@dataclass(frozen=True)
class StraightThrough:
    r"""The paper's estimator (eq. 5): one-hot in value, softmax in gradient.

    .. math:: \chi = \mathrm{onehot}(\arg\max y), \quad y = \mathrm{softmax}((s + g) / \tau)

    With several marks per copy, :math:`\chi` is one at the k largest entries of y.

    Args:
        tau: temperature.
    """

    bags: ClassVar[int] = 1
    surrogate = no_surrogate
    tau: float = 1.0

    def __post_init__(self) -> None:
        _check_tau(self.tau)

    def draw(self, logits: Tensor, noise: Tensor, members: Members, count: int) -> Pick:
        """See `Estimator`."""
        soft = segment_log_softmax((logits + noise) / self.tau, members.batch, members.num_graphs).exp()
        nodes = top_nodes((logits + noise).detach(), members, count)
        return Pick(nodes, logits, marks=hard_with_gradient(nodes, soft))


@dataclass(frozen=True)
class Gapped:
    r"""As `StraightThrough`, with a softmax that knows of the choice and not of the noise (Fan et al., 2022).

    .. math:: y = \mathrm{softmax}(s' / \tau), \quad s'_v = \max_u s_u, \quad s'_u = \min(s_u, \max s - \mathrm{gap})

    for the drawn nodes :math:`v` and every other :math:`u`. Draws that end alike have one gradient, so it varies less.

    Args:
        tau: temperature.
        gap: how far a drawn node is ahead of all others at least.
    """

    bags: ClassVar[int] = 1
    surrogate = no_surrogate
    tau: float = 1.0
    gap: float = 1.0

    def __post_init__(self) -> None:
        _check_tau(self.tau)

    def draw(self, logits: Tensor, noise: Tensor, members: Members, count: int) -> Pick:
        """See `Estimator`."""
        fixed = logits.detach()
        nodes = top_nodes(fixed + noise, members, count)
        top = segment_max(fixed, members.batch, members.num_graphs)
        moved = torch.minimum(fixed, (top - self.gap).index_select(0, members.batch))
        drawn = nodes != NO_PICK
        moved = moved.index_copy(0, nodes[drawn], top.expand_as(nodes)[drawn])
        shift = torch.where(fixed.isinf(), 0.0, moved - fixed)
        soft = segment_log_softmax((logits + shift) / self.tau, members.batch, members.num_graphs).exp()
        return Pick(nodes, logits, marks=hard_with_gradient(nodes, soft))


def hard_with_gradient(nodes: Tensor, soft: Tensor) -> Tensor:
    """Marks that are one at the nodes and zero elsewhere, with the gradient of ``soft``, ``(k, G), (N,) -> (N,)``."""
    hard = soft.new_zeros(len(soft) + 1).index_fill(0, places(nodes, len(soft)).reshape(-1), 1.0)[:-1]
    return hard + (soft - soft.detach())


def _check_tau(tau: float) -> None:
    if not tau > 0:
        raise ValueError(f"'tau' must be > 0 (got {tau})")
