"""Score function with one bag per graph and a baseline by regression."""

from __future__ import annotations

import torch
from torch import Tensor

from policylearn.bags import Members, Selection
from policylearn.nn import segment_argmax
from policylearn.policies.draws import Pick, log_prob_of
from policylearn.policies.estimators.protocol import ESTIMATORS
from policylearn.policies.protocol import Evidence
from policylearn.settings.schema import Amount, Settings

LEVERAGE = 0.9
"""A graph of more leverage than this has (nearly) its own baseline, and no residual to speak of."""
RIDGE = 1e-4
"""Weight of the penalty of the regression, per graph of the batch."""


class Reinforce(Settings, frozen=True):
    r"""REINFORCE in which each pick is compared with what was to be expected before it.

    For pick t of graph g, the costs c of the batch are regressed (ridge) on what is known without the pick: the loss
    with the copies before it, that with the unmarked copy, and the mean of the graph's past costs. The advantage is the
    leave-one-out residual

    .. math:: A_{tg} = (c_g - \hat c_{tg}) / (1 - h_{tg}), \quad
        \text{minimise}\ \frac{1}{G} \sum_{g,t} A_{tg} \log \pi(v_{tg})

    with the leverage h of the graph in the regression. No baseline looks at the pick that it is for, so the gradient is
    unbiased except for norms and scaling. Advantages are divided by their root mean square.
    """

    entropy: Amount = 0.0
    """Weight of an entropy bonus: the larger, the longer the policy tries other nodes. The recipe 'modern' has 0.05."""

    def draw(self, logits: Tensor, noise: Tensor, members: Members) -> Pick:
        """See `Estimator`."""
        nodes = segment_argmax((logits + noise).detach(), members.batch, members.num_graphs)
        return Pick(nodes, logits, log_prob=log_prob_of(logits, nodes, members))

    def surrogate(self, selection: Selection, evidence: Evidence) -> Tensor | None:
        """See `Estimator`."""
        assert selection.log_prob is not None, "drawn picks have a probability"
        if len(evidence.costs) < 2:
            return None  # a single bag has nothing to be compared with
        advantage = advantages(selection.picks, evidence)
        advantage = advantage / (advantage.square().mean().sqrt() + 1e-8)
        if self.entropy:
            known = selection.log_prob.detach()
            advantage = advantage + self.entropy * (known - known.mean(1, keepdim=True))  # (1 - 1/G) times the bonus
        return (advantage * selection.log_prob).sum(0).mean()


def advantages(picks: int, evidence: Evidence) -> Tensor:
    """How much worse each graph did than was to be expected before each pick, ``(T, G)``."""
    prefix, past = evidence.prefix_costs(), _known_past(evidence.past_costs)
    found = []
    for step in range(picks):
        known = [] if past is None else [past]
        if prefix is not None:
            known += [prefix[step]] + ([prefix[0]] if step else [])
        found.append(residuals(evidence.costs, known))
    return torch.stack(found)


def _known_past(past: Tensor | None) -> Tensor | None:
    """Each graph's past costs, the mean of the others' where it has none, ``(G,)``."""
    if past is None or not bool(past.isfinite().any()):
        return None
    known = past.isfinite()
    return torch.where(known, past, past[known].mean())


def residuals(values: Tensor, known: list[Tensor]) -> Tensor:
    """Leave-one-out residuals of a ridge regression with intercept, ``(n,)`` each."""
    columns = [torch.ones_like(values), *(_standardised(one) for one in known)]
    design = torch.stack(columns, dim=1).double()  # (n, d)
    gram = design.T @ design + RIDGE * len(values) * torch.eye(len(columns), dtype=torch.float64, device=values.device)
    inverse_rows = torch.linalg.solve(gram, design.T)  # (d, n)
    predicted = design @ (inverse_rows @ values.double())
    leverage = (design * inverse_rows.T).sum(1).clamp(max=LEVERAGE)
    left_out: Tensor = (values.double() - predicted) / (1 - leverage)
    return left_out.to(values.dtype)


def _standardised(values: Tensor) -> Tensor:
    return (values - values.mean()) / (values.std(correction=0) + 1e-8)


ESTIMATORS.register("reinforce", Reinforce)
