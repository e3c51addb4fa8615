"""Graphs as cell complexes: nodes, edges without direction, and rings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from policylearn.data.arrays import pointer
from policylearn.data.packed import Array, DataError, PackedGraphs
from policylearn.data.structures import Structure
from policylearn.data.transforms.base import Structures, Transform, register
from policylearn.data.transforms.cycles import list_cycles


@register
@dataclass(frozen=True)
class Cells(Transform):
    """The cells of dimension 1 and 2 of each graph, and which lies in which.

    A cell of dimension 1 is an edge without its direction, taken once; self loops are none. A cell of dimension 2 is a
    ring: a cycle that no edge cuts short. With rings of 3 nodes alone these are the triangles of the clique complex.

    Structures: ``cell_edge`` the two nodes of each edge, ``cell_column`` the first column of ``edge_index`` that is
    this edge, ``ring`` the number of nodes of each ring, and one row for each edge of each ring: ``ring_edge`` which
    edge, ``ring_id`` in which ring.

    Args:
        longest_ring: the most nodes of a ring.
    """

    name: ClassVar[str] = "cells"
    longest_ring: int = 18

    def __post_init__(self) -> None:
        if self.longest_ring < 3:
            raise DataError(f"cells: 'longest_ring' must be >= 3 (got {self.longest_ring})")

    def compute(self, graphs: PackedGraphs) -> Structures:
        """Edges ``(E, 2)`` and ``(E,)``, rings ``(R,)``, edges of rings ``(T,)`` twice."""
        keys, column, edge_ptr = _undirected(graphs)
        node_ptr, total = graphs.node_ptr.astype(np.int64), len(graphs.x)
        graph_of_edge = np.repeat(np.arange(len(graphs)), np.diff(edge_ptr))
        ends = np.stack([keys // total, keys % total], axis=1) - node_ptr[graph_of_edge][:, None]

        nodes, ring_ptr, graph_ptr = list_cycles(graphs, self.longest_ring, chordless=True)
        sizes = np.diff(ring_ptr)
        ring = np.repeat(np.arange(len(sizes)), sizes)
        graph_of_ring = np.repeat(np.arange(len(graphs)), np.diff(graph_ptr))
        following = np.arange(1, len(nodes) + 1)
        following[ring_ptr[1:] - 1] = ring_ptr[:-1]  # a ring's last node is joined to its first
        a, b = nodes + node_ptr[graph_of_ring[ring]], nodes[following] + node_ptr[graph_of_ring[ring]]
        edge = np.searchsorted(keys, np.minimum(a, b) * total + np.maximum(a, b))
        side_ptr = ring_ptr[graph_ptr]
        return {
            "cell_edge": Structure(ends, edge_ptr, "node"),
            "cell_column": Structure(column, edge_ptr, "edge"),
            "ring": Structure(sizes, graph_ptr),
            "ring_edge": Structure(edge - edge_ptr[graph_of_ring[ring]], side_ptr, "cell_edge"),
            "ring_id": Structure(ring - graph_ptr[graph_of_ring[ring]], side_ptr, "ring"),
        }


def _undirected(graphs: PackedGraphs) -> tuple[Array, Array, Array]:
    """Edges without direction and loops, each once.

    Gives ``lower node * N + higher node`` rising, ``(E,)``; the first column of each, local to its graph, ``(E,)``; and
    where each graph's edges start, ``(G + 1,)``.
    """
    source, target = graphs.global_edges()
    columns = np.flatnonzero(source != target)
    low, high = np.minimum(source, target)[columns], np.maximum(source, target)[columns]
    keys, chosen = np.unique(low * len(graphs.x) + high, return_index=True)
    columns = columns[chosen]  # `unique` names the first of equals
    graph = np.searchsorted(graphs.edge_ptr, columns, side="right") - 1
    return keys, columns - graphs.edge_ptr.astype(np.int64)[graph], pointer(np.bincount(graph, minlength=len(graphs)))
