"""What an estimator is."""

from __future__ import annotations

from typing import Any, Protocol

from torch import Tensor

from policylearn.bags import Members, Selection
from policylearn.policies.draws import Pick
from policylearn.policies.protocol import Evidence


class Estimator(Protocol):
    """Draws nodes in training, and says how their choice learns."""

    @property
    def bags(self) -> int:
        """K, bags drawn per graph in a training step."""

    def draw(self, logits: Tensor, noise: Tensor, members: Members, count: int) -> Pick:
        """Draw nodes for one copy of each graph.

        Args:
            logits: -inf where a node must not be picked, ``(N,)``.
            noise: Gumbel noise, ``(N,)``.
            members: the nodes of each graph.
            count: k, nodes marked per copy.
        """

    def surrogate(self, selection: Selection, evidence: Evidence) -> Tensor | None:
        """See `LearningPolicy`."""


def no_surrogate(_estimator: Any, _selection: Selection, _evidence: Evidence) -> None:
    """The surrogate of estimators whose marks carry the gradient: nothing is added to the loss."""
