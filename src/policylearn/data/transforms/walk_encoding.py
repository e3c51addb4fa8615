"""Random-walk encoding of nodes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from policylearn.data.packed import Array, DataError, PackedGraphs
from policylearn.data.structures import REAL_COLUMNS
from policylearn.data.transforms.base import Structures, Transform, columns_of_nodes, register
from policylearn.data.transforms.dense import DenseGroup, closed_walks, per_node


@register
@dataclass(frozen=True)
class WalkEncoding(Transform):
    r"""Probabilities to be back after 1, 2, ... steps of a random walk, :math:`((D^{-1} A)^k)_{vv}`.

    A node without edges gets zeros; an edge that stands twice is walked twice as often.

    Args:
        steps: how many probabilities per node.
        into: the structure that gets them.
    """

    name: ClassVar[str] = "walk_encoding"
    steps: int = 16
    into: str = REAL_COLUMNS

    def __post_init__(self) -> None:
        if self.steps < 1:
            raise DataError(f"walk_encoding: 'steps' must be >= 1 (got {self.steps})")

    def compute(self, graphs: PackedGraphs) -> Structures:
        """One column per step, ``(N, steps)``."""
        return columns_of_nodes(per_node(graphs, self.steps, self._returns), self.into)

    def _returns(self, group: DenseGroup) -> Array:
        degree = group.adjacency.sum(-1, keepdims=True)
        return closed_walks(group.adjacency / np.maximum(degree, 1.0), self.steps)
