"""Inference in which the unmarked graph is computed once, and of each marked copy only what its mark can reach."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from policylearn.bags import NO_PICK
from policylearn.kernels import (
    Cones,
    FixedLayer,
    Layout,
    Piece,
    Pieces,
    States,
    marked_rows,
    message_arrays,
    unmarked_states,
    use_compiled,
)
from policylearn.nn.encoders import Encoder, TwoStreamEncoder, TwoStreamLayer
from policylearn.nn.graphs import Graphs
from policylearn.nn.pooling import SlotPool
from policylearn.nn.segments import segment_mean

COPIES = 1 << 13
"""Nodes of the copies that are worked on together, so few that their rows stay in the cache."""

SCORED = 1 << 12
"""Nodes that are scored together."""


@dataclass(frozen=True)
class ConeInference:
    """An encoder of two streams over the copies of some graphs; exact, up to rounding.

    Args:
        graphs: the batch.
        layers: the encoder's, with norms that need nothing from the batch.
        still: states of the unmarked graphs.
    """

    graphs: Graphs
    layers: list[FixedLayer]
    still: States

    @staticmethod
    def of(encoder: Encoder, graphs: Graphs) -> ConeInference | None:
        """Compute the unmarked graphs; None where the encoder, its norms or the device do not allow for cones.

        Gradients do not go through cones: in training that of every mark is needed, wherever it is.
        """
        if not isinstance(encoder, TwoStreamEncoder) or encoder.training or torch.is_grad_enabled():
            return None
        features: Tensor = encoder.node_encoder(graphs.x)
        if not use_compiled(features) or torch.is_autocast_enabled("cpu"):
            return None
        layers = [fixed_layer(layer, graphs, features.dtype) for layer in encoder.layers]
        known = [layer for layer in layers if layer is not None]
        if len(known) < len(layers):
            return None
        nodes = graphs.num_nodes
        h = features.new_zeros(nodes, features.shape[1] + 1)
        h[:, 1:] = features
        layout = Layout(graphs.adjacency, torch.arange(nodes + 1), 1)
        return ConeInference(graphs, known, unmarked_states(known, layout, graphs.ptr, h, h.new_zeros(nodes, 1)))

    @cached_property
    def unmarked(self) -> Tensor:
        """The unmarked graphs' node states, ``(N, C)``."""
        return self.still.last

    def pooled(self, roots: Tensor, pool: SlotPool, max_rows: int) -> Tensor:
        """States pooled over slot 0 and a copy a root, but not finished, ``(N, 1, C)``; equal copies are made once.

        Args:
            roots: of each step and graph, ``(T, G)``.
            pool: how copies are pooled.
            max_rows: rows held at once.
        """
        unmarked = self.unmarked
        copies = 1 + (roots != NO_PICK).sum(0)  # (G,)
        total = pool.repeated(unmarked, copies.index_select(0, self.graphs.batch))
        distinct, times = torch.unique(roots[roots != NO_PICK], return_counts=True)
        for start, end in self._chunks(distinct, max_rows):
            for cones, rows, first in self.rows(distinct[start:end]):
                pool.replace(total, rows, cones, times[start + first :], unmarked)
        return total.unsqueeze(1)

    def _sizes(self, roots: Tensor) -> Tensor:
        """Nodes of each root's graph: so many rows its copy has at most."""
        return self.graphs.sizes.index_select(0, self.graphs.batch.index_select(0, roots))

    def rows(self, roots: Tensor) -> list[tuple[Cones, Tensor, int]]:
        """Cones, their rows' states and the number of their first root, for neighbouring roots at a time."""
        ends = np.cumsum(self._sizes(roots).numpy())
        found: list[tuple[Cones, Tensor, int]] = []

        def work(piece: Piece) -> None:
            first, last = piece.nodes
            cones = Cones.around(self.graphs.adjacency, roots[first:last], len(self.layers))
            found.append((cones, marked_rows(self.layers, self.still, cones), first))

        Pieces(np.concatenate([[0], ends]), COPIES).each(work)
        return sorted(found, key=lambda one: one[2])

    def _chunks(self, roots: Tensor, max_rows: int) -> list[tuple[int, int]]:
        """Neighbouring roots whose graphs have at most ``max_rows`` nodes together (but at least one root)."""
        ends = self._sizes(roots).cumsum(0)
        chunks: list[tuple[int, int]] = []
        start = 0
        while start < len(roots):
            taken = 0 if start == 0 else int(ends[start - 1])
            end = max(start + 1, int(torch.searchsorted(ends, taken + max_rows, right=True)))
            chunks.append((start, end))
            start = end
        return chunks


def fixed_layer(layer: torch.nn.Module, graphs: Graphs, dtype: torch.dtype) -> FixedLayer | None:
    """The layer as it is at inference; None if it is not made of GINs, or if a norm takes something from the batch."""
    if not isinstance(layer, TwoStreamLayer):
        return None
    conv, marks = layer.features.gin, layer.marks.gin
    halves = layer.features.fixed(), layer.marks.fixed()
    if conv is None or marks is None or halves[0] is None or halves[1] is None:
        return None
    if any(half.weight.dtype != dtype for stream in halves if stream is not None for half in stream):
        return None
    term = conv.edge_term(graphs.edge_attr)
    values, index = (None, None) if term is None else (term.values.detach(), term.index)
    return FixedLayer(
        features=halves[0],
        marks=halves[1],
        edges=message_arrays(graphs.adjacency, values, index, (conv.scale.detach(), marks.scale.detach())),
        residual=layer.residual,
    )


class ConeView:
    """What the copies so far show of each node, at inference; a further copy changes no more than its cones.

    Args:
        cones: the network and the graphs.
        pool: how the copies of a node are pooled.
    """

    def __init__(self, cones: ConeInference, pool: SlotPool) -> None:
        self.cones, self.how, self.copies = cones, pool.how, 1
        still, graphs = cones.unmarked, cones.graphs
        # Least so far, or by how much the copies' sum differs from that many times the unmarked graph.
        self.low = still.clone() if self.how == "min" else still
        self.changes = torch.zeros_like(still)
        self.graph_changes = still.new_zeros(graphs.num_graphs, still.shape[1])
        self.still_means = segment_mean(still, graphs.batch, graphs.ptr)

    def add(self, roots: Tensor) -> None:
        """Look at one more copy of each graph, ``(G,)``."""
        self.copies += 1
        once = torch.ones(len(roots))
        for cones, rows, _ in self.cones.rows(roots):
            if self.how == "min":
                cones.lower(self.low, rows)
                continue
            still, batch = self.cones.unmarked, self.cones.graphs.batch
            cones.add_changes(self.changes, rows, once, still)
            cones.add_changes(self.graph_changes, rows, once, still, batch)

    def nodes(self, at: slice) -> Tensor:
        """The pooled vectors of some nodes, ``(n, C)``."""
        if self.how == "min":
            return self.low[at]
        return self._pooled(self.cones.unmarked[at], self.changes[at])

    def means(self) -> Tensor:
        """Their means over each graph, ``(G, C)``."""
        graphs = self.cones.graphs
        if self.how == "min":
            return segment_mean(self.low, graphs.batch, graphs.ptr)
        return self._pooled(self.still_means, self.graph_changes / graphs.sizes.unsqueeze(1))

    def _pooled(self, still: Tensor, changes: Tensor) -> Tensor:
        if self.how == "sum":
            return torch.add(changes, still, alpha=self.copies)
        return torch.add(still, changes, alpha=1 / self.copies)

    def scores(self, selector: torch.nn.Module, *, add_graph_mean: bool) -> Tensor:
        """Each node's score, some nodes at a time, ``(N,)``.

        Args:
            selector: from a node's vector to its score.
            add_graph_mean: add the mean over the graph to each node's vector first.
        """
        graphs = self.cones.graphs
        means = self.means() if add_graph_mean else None
        out = self.cones.unmarked.new_empty(graphs.num_nodes)

        def work(piece: Piece) -> None:
            at = piece.rows
            with torch.no_grad():  # a thread has a setting of its own
                nodes = self.nodes(at)
                if means is not None:
                    nodes = means.index_select(0, graphs.batch[at]).add_(nodes)
                out[at] = selector(nodes).squeeze(-1)

        Pieces(np.arange(graphs.num_nodes + 1), SCORED).each(work)
        return out
