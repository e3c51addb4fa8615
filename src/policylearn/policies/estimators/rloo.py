"""Score function with several bags per graph, each compared with the others."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from policylearn.bags import Members, Selection
from policylearn.policies.draws import Pick, log_prob_of, top_nodes
from policylearn.policies.protocol import Evidence


@dataclass(frozen=True)
class Rloo:
    r"""REINFORCE with a leave-one-out baseline.

    .. math:: \frac{1}{KG} \sum_{k,g} \Big(c_{kg} - \frac{1}{K-1} \sum_{j \ne k} c_{jg}\Big) \nabla \log \pi(B_{kg})

    where :math:`c_{kg}` is the graph's own loss with its k-th bag.

    Args:
        bags: K.
        standardise: divide the advantages by their standard deviation.
    """

    bags: int = 4
    standardise: bool = True

    def __post_init__(self) -> None:
        if self.bags < 2:
            raise ValueError(
                f"'samples' must be >= 2 for 'rloo' (got {self.bags}); one bag has no others to compare with"
            )

    def draw(self, logits: Tensor, noise: Tensor, members: Members, count: int) -> Pick:
        """See `Estimator`."""
        return score_function_draw(logits, noise, members, count)

    def surrogate(self, selection: Selection, evidence: Evidence) -> Tensor | None:
        """See `Estimator`."""
        advantage = leave_one_out(evidence.costs, standardise=self.standardise)
        assert selection.log_prob is not None, "drawn picks have a probability"
        log_prob = selection.log_prob.sum(0).view_as(advantage)  # (T, K * G) -> (K, G)
        return (advantage * log_prob).mean()


def score_function_draw(logits: Tensor, noise: Tensor, members: Members, count: int) -> Pick:
    """Draw nodes with their log-probability; see `Estimator`."""
    nodes = top_nodes((logits + noise).detach(), members, count)
    return Pick(nodes, logits, log_prob=log_prob_of(logits, nodes, members))


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
