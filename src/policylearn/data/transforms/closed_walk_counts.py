"""Weighted numbers of closed walks through each node."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from policylearn.data.packed import DataError, PackedGraphs
from policylearn.data.structures import REAL_COLUMNS
from policylearn.data.transforms.base import Structures, Transform, columns_of_nodes, register
from policylearn.data.transforms.dense import closed_walks, per_node


@register
@dataclass(frozen=True)
class ClosedWalkCounts(Transform):
    r"""The terms of the subgraph centrality, :math:`(A^k)_{vv} / k!` for k = 1, 2, ...

    Args:
        steps: how many terms per node.
        into: the structure that gets them.
    """

    name: ClassVar[str] = "closed_walk_counts"
    steps: int = 16
    into: str = REAL_COLUMNS

    def __post_init__(self) -> None:
        if self.steps < 1:
            raise DataError(f"closed_walk_counts: 'steps' must be >= 1 (got {self.steps})")

    def compute(self, graphs: PackedGraphs) -> Structures:
        """One column per length of the walks, ``(N, steps)``."""
        factorial = np.cumprod(np.arange(1, self.steps + 1, dtype=np.float64))
        counts = per_node(graphs, self.steps, lambda group: closed_walks(group.adjacency, self.steps) / factorial)
        return columns_of_nodes(counts, self.into)
