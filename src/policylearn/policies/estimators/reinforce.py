"""Score function with one bag per graph and a baseline by regression."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from policylearn.bags import Members, Selection
from policylearn.policies.draws import Pick
from policylearn.policies.estimators.rloo import score_function_draw
from policylearn.policies.protocol import Evidence
from policylearn.settings import CostBaseline

"""What the baseline knows: the batch's mean cost alone, also each graph's past costs, also its loss with the copies
before the pick, or all of these."""

LEVERAGE = 0.9
"""A graph of more leverage than this has (nearly) its own baseline, and no residual to speak of."""


@dataclass(frozen=True)
class Reinforce:
    r"""REINFORCE in which each pick is compared with what was to be expected before it.

    For pick t of graph g, the costs c of the batch are regressed (ridge) on what is known without the pick: the loss
    with the copies before it, that with the unmarked copy, and the graph's own past. The advantage is the leave-one-out
    residual

    .. math:: A_{tg} = (c_g - \hat c_{tg}) / (1 - h_{tg}), \quad
        \text{minimise}\ \frac{1}{G} \sum_{g,t} A_{tg} \log \pi(v_{tg})

    with the leverage h of the graph in the regression. No baseline looks at the pick that it is for, so the gradient is
    unbiased but for norms and scaling.

    Args:
        baseline: what the regression knows.
        bags: K, bags drawn per graph.
        standardise: divide the advantages by their root mean square.
        ridge: weight of the penalty, per graph of the batch.
    """

    baseline: CostBaseline = "all"
    bags: int = 1
    standardise: bool = True
    ridge: float = 1e-4

    def __post_init__(self) -> None:
        if self.bags < 1:
            raise ValueError(f"'samples' must be >= 1 (got {self.bags})")

    def draw(self, logits: Tensor, noise: Tensor, members: Members, count: int) -> Pick:
        """See `Estimator`."""
        return score_function_draw(logits, noise, members, count)

    def surrogate(self, selection: Selection, evidence: Evidence) -> Tensor | None:
        """See `Estimator`."""
        assert selection.log_prob is not None, "drawn picks have a probability"
        costs = evidence.costs.reshape(-1)  # (K * G,)
        if len(costs) < 2:
            return None  # a single bag has nothing to be compared with
        prefix = evidence.prefix_costs() if self.baseline in ("prefix", "all") else None
        past = self._past(evidence)
        advantages = []
        for step in range(selection.picks):
            known = [] if past is None else [past]
            if prefix is not None:
                known += [prefix[step].reshape(-1)] + ([prefix[0].reshape(-1)] if step else [])
            advantages.append(residuals(costs, known, self.ridge))
        advantage = torch.stack(advantages)  # (T, K * G)
        if self.standardise:
            advantage = advantage / (advantage.square().mean().sqrt() + 1e-8)
        return (advantage * selection.log_prob).sum(0).mean()

    def _past(self, evidence: Evidence) -> Tensor | None:
        """Each graph's past costs, the mean of the others' where it has none, ``(K * G,)``."""
        past = evidence.past_costs
        if past is None or self.baseline not in ("past", "all"):
            return None
        known = past.isfinite()
        if not bool(known.any()):
            return None
        return torch.where(known, past, past[known].mean()).repeat(len(evidence.costs))


def residuals(values: Tensor, known: list[Tensor], ridge: float) -> Tensor:
    """Leave-one-out residuals of a ridge regression with intercept, ``(n,)`` each."""
    columns = [torch.ones_like(values), *(_standardised(one) for one in known)]
    design = torch.stack(columns, dim=1).double()  # (n, d)
    gram = design.T @ design + ridge * len(values) * torch.eye(len(columns), dtype=torch.float64, device=values.device)
    inverse_rows = torch.linalg.solve(gram, design.T)  # (d, n)
    predicted = design @ (inverse_rows @ values.double())
    leverage = (design * inverse_rows.T).sum(1).clamp(max=LEVERAGE)
    left_out: Tensor = (values.double() - predicted) / (1 - leverage)
    return left_out.to(values.dtype)


def _standardised(values: Tensor) -> Tensor:
    return (values - values.mean()) / (values.std(correction=0) + 1e-8)
