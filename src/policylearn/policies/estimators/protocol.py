"""What an estimator is, and the estimators by name."""

from __future__ import annotations

from typing import Protocol

from torch import Tensor

from policylearn.bags import Members, Selection
from policylearn.policies.draws import Pick
from policylearn.policies.protocol import Evidence
from policylearn.registry import Registry
from policylearn.settings.schema import ConfigError, Settings


class Estimator(Protocol):
    """Draws nodes in training, and says how their choice learns."""

    def draw(self, logits: Tensor, noise: Tensor, members: Members) -> Pick:
        """Draw a node per graph.

        Args:
            logits: -inf where a node must not be picked, ``(N,)``.
            noise: Gumbel noise, ``(N,)``.
            members: the nodes of each graph.
        """

    def surrogate(self, selection: Selection, evidence: Evidence) -> Tensor | None:
        """See `LearningPolicy`; None for estimators whose marks carry the gradient."""


ESTIMATORS = Registry[type[Settings]](
    "estimator", "policylearn.policies.estimators", ConfigError, ("draw", "surrogate")
)
"""Estimators by name; each is a class of settings whose instances are an `Estimator`."""
