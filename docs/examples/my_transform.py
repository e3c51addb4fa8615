"""A transform of your own: the degree of each node, as a number that every model reads."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from policylearn.data import PackedGraphs, Structure
from policylearn.data.structures import REAL_COLUMNS
from policylearn.data.transforms import Transform, register


@register
@dataclass(frozen=True)
class Degrees(Transform):
    """How many neighbours a node has, divided by a number."""

    name: ClassVar[str] = "degrees"
    divisor: float = 4.0

    def compute(self, graphs: PackedGraphs) -> dict[str, Structure]:
        """One column, ``(N, 1)``."""
        first = np.repeat(graphs.node_ptr[:-1], np.diff(graphs.edge_ptr))  # node ids are local to their graph
        degree = np.bincount(graphs.edge_index[1] + first, minlength=int(graphs.node_ptr[-1]))
        return {REAL_COLUMNS: Structure((degree[:, None] / self.divisor).astype(np.float32), "node")}
