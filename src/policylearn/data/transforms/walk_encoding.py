"""Walks that come back to their node: how likely they are, and how many."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from policylearn.data.packed import Array, DataError, PackedGraphs
from policylearn.data.structures import REAL_COLUMNS
from policylearn.data.transforms.base import Structures, Transform, columns_of_nodes, register
from policylearn.data.transforms.dense import DenseGroup, per_node


@register
@dataclass(frozen=True)
class WalkEncoding(Transform):
    r"""Probabilities to be back after 1, 2, ... steps of a random walk, :math:`((D^{-1} A)^k)_{vv}`.

    A node without edges gets zeros; an edge that stands twice is walked twice as often.

    Args:
        steps: how many columns per node.
        into: the structure that gets them.
    """

    name: ClassVar[str] = "walk_encoding"
    steps: int = 16
    into: str = REAL_COLUMNS

    def __post_init__(self) -> None:
        if self.steps < 1:
            raise DataError(f"{self.name}: 'steps' must be >= 1 (got {self.steps})")

    def compute(self, graphs: PackedGraphs) -> Structures:
        """One column per step, ``(N, steps)``."""
        return columns_of_nodes(per_node(graphs, self.steps, self._returns), self.into)

    def _returns(self, group: DenseGroup) -> Array:
        degree = group.adjacency.sum(-1, keepdims=True)
        return closed_walks(group.adjacency / np.maximum(degree, 1.0), self.steps)


@register
@dataclass(frozen=True)
class ClosedWalkCounts(WalkEncoding):
    r"""The terms of the subgraph centrality, :math:`(A^k)_{vv} / k!` for k = 1, 2, ..."""

    name: ClassVar[str] = "closed_walk_counts"

    def _returns(self, group: DenseGroup) -> Array:
        factorial: Array = np.cumprod(np.arange(1, self.steps + 1, dtype=np.float64))
        return closed_walks(group.adjacency, self.steps) / factorial


def closed_walks(matrix: Array, steps: int) -> Array:
    r"""The diagonals of the powers :math:`M^1, \ldots, M^{steps}`, from half as many products.

    Shapes:
        matrix ``(g, m, m)`` -> ``(g, m, steps)``.
    """
    diagonals = np.empty((*matrix.shape[:2], steps))
    diagonals[..., 0] = matrix.diagonal(axis1=1, axis2=2)
    power = matrix
    for step in range(2, steps + 1, 2):
        diagonals[..., step - 1] = (power * power.transpose(0, 2, 1)).sum(-1)
        if step < steps:
            following = power @ matrix
            diagonals[..., step] = (power * following.transpose(0, 2, 1)).sum(-1)
            power = following
    return diagonals
