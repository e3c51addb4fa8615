"""Numbers of cycles through each node, plain or coded by rank among those that training graphs have."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np

from policylearn.data.packed import DataError, PackedGraphs
from policylearn.data.structures import REAL_COLUMNS, Structure
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
            raise DataError(f"{self.name}: 'sizes' must name lengths >= 3 (got {list(self.sizes)})")

    def compute(self, graphs: PackedGraphs) -> Structures:
        """One column per length, ``(N, sizes)``."""
        counts = count_cycles(graphs, max(self.sizes), chordless=self.chordless)
        return columns_of_nodes(counts[:, list(self.sizes)], self.into)


@register
@dataclass(frozen=True)
class CycleCodes(CycleCounts):
    """How many cycles of each length pass through a node, as categories.

    The code of a count is its rank among the counts that nodes of training graphs have, the learned ``vocabularies`` of
    each length. A count between two of these, or beyond them, has the code of the next smaller one; below all of them,
    that of the smallest.
    """

    name: ClassVar[str] = "cycle_codes"
    learned: ClassVar[tuple[str, ...]] = ("vocabularies",)
    sizes: tuple[int, ...] = (3, 4, 5, 6, 7, 8)
    into: str = "cycle_code"
    vocabularies: Sequence[Sequence[int]] = ()

    def learn(self, computed: Structures) -> Self:
        """Itself, with the counts that occur."""
        columns = computed[self.into].values.T
        return replace(self, vocabularies=tuple(np.unique(column).tolist() for column in columns))

    def finish(self, computed: Structures) -> Structures:
        """The codes, one column per length, ``(N, sizes)``."""
        if not self.vocabularies:
            raise DataError("cycle_codes: there are no vocabularies yet; fit the transform on the training graphs")
        columns = zip(computed[self.into].values.T, self.vocabularies, strict=True)
        codes = [np.searchsorted(known, column, side="right") - 1 for column, known in columns]
        return {self.into: Structure(np.maximum(np.stack(codes, axis=1), 0), "node")}
