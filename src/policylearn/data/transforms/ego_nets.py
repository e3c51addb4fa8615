"""The ego net of every node, as rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from policylearn.data.packed import DataError, PackedGraphs
from policylearn.data.structures import Structure
from policylearn.data.transforms.base import Structures, Transform, register
from policylearn.data.transforms.reach import find_reach
from policylearn.data.transforms.resistance import resistance_to_root


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
