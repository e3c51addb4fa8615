"""Numbers of cycles through each node."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from policylearn.data.packed import DataError, PackedGraphs
from policylearn.data.structures import REAL_COLUMNS
from policylearn.data.transforms.base import Structures, Transform, columns_of_nodes, register
from policylearn.data.transforms.cycles import count_cycles


@register
@dataclass(frozen=True)
class CycleCounts(Transform):
    """How many cycles of each length pass through a node, as subgraphs, whether or not an edge cuts them short.

    Args:
        sizes: lengths of the cycles, from 3 on.
        chordless: only cycles that no edge cuts short.
        into: the structure that gets them, float32 in ``x_real`` and integers elsewhere.
    """

    name: ClassVar[str] = "cycle_counts"
    sizes: tuple[int, ...] = (3, 4, 5, 6)
    chordless: bool = False
    into: str = REAL_COLUMNS

    def __post_init__(self) -> None:
        if not self.sizes or min(self.sizes) < 3:
            raise DataError(f"cycle_counts: 'sizes' must name lengths >= 3 (got {list(self.sizes)})")

    def compute(self, graphs: PackedGraphs) -> Structures:
        """One column per length, ``(N, sizes)``."""
        counts = count_cycles(graphs, max(self.sizes), chordless=self.chordless)
        return columns_of_nodes(counts[:, list(self.sizes)], self.into)
