"""What a policy did on one graph, as plain values: the picks in their order, and with which probabilities."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch_geometric.data import Batch

from policylearn.bags import NO_PICK, Graphs, Selection
from policylearn.explain.drawings import Layout, graph_svg, place_nodes


@dataclass(frozen=True)
class Trace:
    """The picks on one graph, with node ids of that graph."""

    edges: tuple[tuple[int, ...], tuple[int, ...]]
    num_nodes: int
    picks: tuple[int, ...]
    probabilities: tuple[tuple[float, ...], ...] | None
    """At each step that of each node, 0 where it could not be picked, ``(T, n)``; None if the policy has none."""

    def svg(self, layout: Layout, name: str, *, chances: Sequence[float] = (), picked: Sequence[int] = ()) -> str:
        """The graph drawn; see `graph_svg`."""
        edges = np.array(self.edges, dtype=np.int64).reshape(2, -1)
        return graph_svg(edges, place_nodes(edges, self.num_nodes, layout), name, chances=chances, picked=picked)


def trace_selection(selection: Selection, batch: Batch | Graphs, graph: int = 0) -> Trace:
    """The trace of one graph of a batch, from the picks for the batch."""
    if not 0 <= graph < batch.num_graphs:
        raise ValueError(f"'graph' must be 0 to {batch.num_graphs - 1} (got {graph})")
    begin, end = batch.ptr[graph : graph + 2].tolist()
    inside = (batch.edge_index[0] >= begin) & (batch.edge_index[0] < end)
    source, target = (batch.edge_index[:, inside] - begin).tolist()
    picks = [node for node in selection.local_roots(batch.ptr)[:, graph].tolist() if node != NO_PICK]
    probabilities = None
    if selection.logits is not None:
        shares = torch.softmax(selection.logits[:, begin:end].detach().double(), dim=1)  # (T, n)
        probabilities = tuple(tuple(row) for row in shares.tolist())
    return Trace((tuple(source), tuple(target)), end - begin, tuple(picks), probabilities)
