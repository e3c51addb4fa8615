"""The paper's estimator: marks that are hard in value and soft in gradient."""

from __future__ import annotations

from torch import Tensor

from policylearn.bags import Members, Selection
from policylearn.nn import segment_argmax, segment_log_softmax
from policylearn.policies.draws import Pick
from policylearn.policies.estimators.protocol import ESTIMATORS
from policylearn.policies.protocol import Evidence
from policylearn.settings.schema import AboveZero, Settings


class StraightThrough(Settings, frozen=True):
    r"""Straight-through Gumbel-softmax (eq. 4): one-hot in value, softmax in gradient.

    .. math:: \chi = \mathrm{onehot}(\arg\max y), \quad y = \mathrm{softmax}((p + g) / \tau)
    """

    tau: AboveZero = 1.0
    """Temperature of the softmax."""

    def draw(self, logits: Tensor, noise: Tensor, members: Members) -> Pick:
        """See `Estimator`."""
        soft = segment_log_softmax((logits + noise) / self.tau, members.batch, members.num_graphs).exp()  # (N,)
        nodes = segment_argmax((logits + noise).detach(), members.batch, members.num_graphs)
        hard = soft.new_zeros(soft.shape).index_fill(0, nodes, 1.0)
        return Pick(nodes, logits, marks=hard + (soft - soft.detach()))

    def surrogate(self, selection: Selection, evidence: Evidence) -> None:
        """See `Estimator`: the marks carry the gradient."""


ESTIMATORS.register("straight_through", StraightThrough)
