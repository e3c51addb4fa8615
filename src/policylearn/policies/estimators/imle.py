"""Implicit maximum likelihood: a gradient through any rule that turns scores into a choice."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import torch
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable

from policylearn.bags import Members, Selection
from policylearn.nn import segment_argmax
from policylearn.policies.draws import Pick
from policylearn.policies.estimators.protocol import ESTIMATORS
from policylearn.policies.protocol import Evidence
from policylearn.settings.schema import AboveZero, Settings

Solver = Callable[[Tensor], Tensor]
"""From scores to a choice of the same shape, such as 1 at the best nodes of each graph and 0 elsewhere."""


class Imle(Settings, frozen=True):
    r"""The choice itself forward, the change of the choice backward (Niepert et al., NeurIPS 2021).

    .. math::
        m = \mathrm{solve}(\theta + g), \quad
        \nabla_\theta = m - \mathrm{solve}(\theta - \lambda\, \partial \ell / \partial m + g)

    with the same noise g twice. Entries of the gradient are -1, 0 and 1 where choices are of 0 and 1.
    """

    strength: AboveZero = 10.0
    """How far scores are moved against the gradient of the choice (lambda)."""

    def choose(self, scores: Tensor, noise: Tensor, solve: Solver) -> Tensor:
        """The choice for these scores and this noise; its gradient reaches the scores.

        Shapes:
            scores, noise and result: any, all the same.
        """
        return cast(Tensor, _Choice.apply(scores, noise, solve, self.strength))  # type: ignore[no-untyped-call]

    def draw(self, logits: Tensor, noise: Tensor, members: Members) -> Pick:
        """See `Estimator`; marks are one at the best node of each graph."""

        def best(scores: Tensor) -> Tensor:
            return segment_argmax(scores, members.batch, members.num_graphs)

        def solve(scores: Tensor) -> Tensor:
            return torch.zeros_like(scores).index_fill(0, best(scores), 1.0)

        return Pick(best((logits + noise).detach()), logits, marks=self.choose(logits, noise, solve))

    def surrogate(self, selection: Selection, evidence: Evidence) -> None:
        """See `Estimator`: the marks carry the gradient."""


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


ESTIMATORS.register("imle", Imle)
