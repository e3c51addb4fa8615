"""How many neighbours nodes have on average."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np

from policylearn.data.packed import PackedGraphs
from policylearn.data.structures import Structure
from policylearn.data.transforms.base import Structures, Transform, register


@register
@dataclass(frozen=True)
class MeanLogDegree(Transform):
    r"""The mean of :math:`\log(d + 1)` over all nodes of the training graphs, d the number of incoming edges.

    Graphs get nothing from it: a network that scales by degrees reads the one number, the learned ``mean``.
    """

    name: ClassVar[str] = "mean_log_degree"
    learned: ClassVar[tuple[str, ...]] = ("mean",)
    mean: float | None = None

    def compute(self, graphs: PackedGraphs) -> Structures:
        """The logarithm of each node, ``(N,)``."""
        degree = np.bincount(graphs.global_edges()[1], minlength=len(graphs.x))
        return {"log_degree": Structure(np.log1p(degree), "node")}

    def learn(self, computed: Structures) -> Self:
        """Itself, with the mean."""
        return replace(self, mean=float(computed["log_degree"].values.mean()))

    def finish(self, computed: Structures) -> Structures:
        """Nothing."""
        return {}
