"""Distances between all nodes of a graph."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from policylearn.data.packed import DataError, PackedGraphs
from policylearn.data.structures import Structure
from policylearn.data.transforms.base import Structures, Transform, register
from policylearn.data.transforms.reach import find_reach


@register
@dataclass(frozen=True)
class Distances(Transform):
    """Steps from every node to every other, n * n rows per graph: the structure ``pair_distance``.

    Rows are ordered by the node where paths end, then by the one where they start. Pairs without a path count as far
    apart, as those at the cap do.

    Args:
        cap: longer distances are said to be this one.
    """

    name: ClassVar[str] = "distances"
    cap: int = 5

    def __post_init__(self) -> None:
        if not 1 <= self.cap <= np.iinfo(np.int16).max:
            raise DataError(f"distances: 'cap' must be >= 1 and <= {np.iinfo(np.int16).max} (got {self.cap})")

    def compute(self, graphs: PackedGraphs) -> Structures:
        """One column, ``(sum of n * n,)``."""
        sizes = graphs.num_nodes.astype(np.int64)
        ptr = np.concatenate([[0], np.cumsum(sizes**2)])
        reach = find_reach(graphs, self.cap - 1)
        graph = np.repeat(np.arange(len(graphs)), sizes)[reach.root]
        first = graphs.node_ptr[:-1].astype(np.int64)[graph]
        values = np.full(int(ptr[-1]), self.cap, dtype=np.int16)
        values[ptr[graph] + (reach.root - first) * sizes[graph] + reach.node - first] = reach.distance
        return {"pair_distance": Structure(values, ptr)}
