"""The ego net of every node, as rows, and the distances between all nodes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from policylearn.data.packed import DataError, PackedGraphs
from policylearn.data.structures import Structure
from policylearn.data.transforms.base import Structures, Transform, register
from policylearn.data.transforms.reach import find_reach, resistance_to_root


@register
@dataclass(frozen=True)
class AttachedEgoNets(Transform):
    """Around every node the nodes that reach it within some steps, one row per pair of root and node.

    Structures: ``ego_root`` and ``ego_node`` (they point to nodes), ``ego_distance``; where asked for,
    ``ego_arrivals``, by how many edges shortest paths from the node to the root can begin, and ``ego_resistance``, the
    resistance between both inside the net. The edges of a net are all edges between its nodes.

    Args:
        hops: how many steps.
        arrivals: whether to count these edges.
        resistance: whether to compute resistances.
    """

    name: ClassVar[str] = "ego_nets"
    hops: int = 3
    arrivals: bool = False
    resistance: bool = False

    def __post_init__(self) -> None:
        if self.hops < 0:
            raise DataError(f"ego_nets: 'hops' must be >= 0 (got {self.hops})")

    def compute(self, graphs: PackedGraphs) -> Structures:
        """See the class; ``(R,)`` each."""
        reach = find_reach(graphs, self.hops)
        graph = np.repeat(np.arange(len(graphs)), graphs.num_nodes)
        rows = np.bincount(graph[reach.root], minlength=len(graphs))
        ptr = np.concatenate([[0], np.cumsum(rows)]).astype(np.int64)
        first = graphs.node_ptr[:-1].astype(np.int64)[graph[reach.root]]
        found = {
            "ego_root": Structure((reach.root - first).astype(np.int32), ptr, "node"),
            "ego_node": Structure((reach.node - first).astype(np.int32), ptr, "node"),
            "ego_distance": Structure(reach.distance.astype(np.int16), ptr),
        }
        if self.arrivals:
            found["ego_arrivals"] = Structure(reach.arrivals.astype(np.int32), ptr)
        if self.resistance:
            found["ego_resistance"] = Structure(resistance_to_root(graphs, reach), ptr)
        return found


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
