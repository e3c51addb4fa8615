"""Implicit maximum likelihood: a gradient through any rule that turns scores into a choice."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, cast

import torch
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable

from policylearn.bags import NO_PICK, Members
from policylearn.policies.draws import Pick, top_nodes
from policylearn.policies.estimators.protocol import no_surrogate

Solver = Callable[[Tensor], Tensor]
"""From scores to a choice of the same shape, such as 1 at the best nodes of each graph and 0 elsewhere."""


@dataclass(frozen=True)
class Imle:
    r"""The choice itself forward, the change of the choice backward (Niepert et al., NeurIPS 2021).

    .. math::
        m = \mathrm{solve}(\theta + g), \quad
        \nabla_\theta = m - \mathrm{solve}(\theta - \lambda\, \partial \ell / \partial m + g)

    with the same noise g twice. Entries of the gradient are -1, 0 and 1 where choices are of 0 and 1.

    Args:
        strength: :math:`\lambda`, how far scores are moved against the gradient of the choice.
    """

    bags: ClassVar[int] = 1
    surrogate = no_surrogate
    strength: float = 10.0

    def __post_init__(self) -> None:
        if not self.strength > 0:
            raise ValueError(f"'strength' must be > 0 (got {self.strength})")

    def choose(self, scores: Tensor, noise: Tensor, solve: Solver) -> Tensor:
        """The choice for these scores and this noise; its gradient reaches the scores.

        Shapes:
            scores, noise and result: any, all the same.
        """
        return cast(Tensor, _Choice.apply(scores, noise, solve, self.strength))  # type: ignore[no-untyped-call]

    def draw(self, logits: Tensor, noise: Tensor, members: Members, count: int) -> Pick:
        """See `Estimator`; marks are one at the ``count`` best nodes of each graph."""

        def solve(scores: Tensor) -> Tensor:
            nodes = top_nodes(scores, members, count)
            return torch.zeros_like(scores).index_fill(0, nodes[nodes != NO_PICK], 1.0)

        marks = self.choose(logits, noise, solve)
        return Pick(top_nodes((logits + noise).detach(), members, count), logits, marks=marks)


class _Choice(Function):
    @staticmethod
    def forward(ctx: Any, scores: Tensor, noise: Tensor, solve: Solver, strength: float) -> Tensor:
        choice = solve(scores + noise)
        ctx.save_for_backward(scores, noise, choice)
        ctx.solve, ctx.strength = solve, strength
        return choice

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None, None]:
        scores, noise, choice = ctx.saved_tensors
        return choice - ctx.solve(scores - ctx.strength * grad + noise), None, None, None
