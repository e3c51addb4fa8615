"""What copies show of nodes and graphs at inference, kept as differences from the unmarked graph."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn

from policylearn.bags import NO_PICK
from policylearn.kernels import Piece, Pieces, zero_rows
from policylearn.nn.cones import ConeInference
from policylearn.nn.encoders import Encoder
from policylearn.nn.graphs import Graphs
from policylearn.nn.norms import has_hooks
from policylearn.nn.pooling import GraphReadout, SlotPool
from policylearn.nn.segments import segment_mean

SCORED = 1 << 12
"""Nodes that are scored together."""


class ConeView:
    """The states of nodes pooled over slot 0 and the copies so far; a further copy changes no more than its cone.

    Args:
        cones: the network and the graphs.
        pool: how the copies of a node are pooled.
        max_rows: rows held at once.
    """

    def __init__(self, cones: ConeInference, pool: SlotPool, max_rows: int) -> None:
        self.cones, self.how, self.max_rows = cones, pool.how, max_rows
        still, graphs = cones.unmarked, cones.graphs
        self.copies = torch.ones(graphs.num_graphs, dtype=still.dtype)
        # Least so far, or by how much the copies' sum differs from that many times the unmarked graph.
        self.low = still.clone() if self.how == "min" else still
        self.changes = zero_rows(len(still), still.shape[1], still)
        self.graph_changes = still.new_zeros(graphs.num_graphs, still.shape[1])
        self.still_means = segment_mean(still, graphs.batch, graphs.ptr)

    @staticmethod
    def of(encoder: Encoder, graphs: Graphs, pool: SlotPool, max_rows: int) -> ConeView | None:
        """Look at the unmarked graphs; None where cones cannot stand for this encoder or for this pooling."""
        if type(pool) is not SlotPool:  # a class made from it may pool in another way
            return None
        cones = ConeInference.of(encoder, graphs)
        return None if cones is None else ConeView(cones, pool, max_rows)

    def add(self, roots: Tensor) -> None:
        """Look at further copies, one a root, ``(T, G)``; those with the same root are computed once."""
        self.copies += (roots != NO_PICK).sum(0)
        distinct, times = torch.unique(roots[roots != NO_PICK], return_counts=True)
        still, batch = self.cones.unmarked, self.cones.graphs.batch
        for cones, rows, first in self.cones.rows(distinct, self.max_rows):
            if self.how == "min":
                cones.lower(self.low, rows)
                continue
            cones.add_changes(self.changes, rows, times[first:], still)
            cones.add_changes(self.graph_changes, rows, times[first:], still, batch)

    def nodes(self, at: slice = slice(None)) -> Tensor:
        """The pooled vectors of some nodes, ``(n, C)``."""
        if self.how == "min":
            return self.low[at]
        copies = self.copies.index_select(0, self.cones.graphs.batch[at])
        return self._pooled(self.cones.unmarked[at], self.changes[at], copies)

    def means(self) -> Tensor:
        """Their means over each graph, ``(G, C)``."""
        graphs = self.cones.graphs
        if self.how == "min":
            return segment_mean(self.low, graphs.batch, graphs.ptr)
        return self._pooled(self.still_means, self.graph_changes / graphs.sizes.unsqueeze(1), self.copies)

    def _pooled(self, still: Tensor, changes: Tensor, copies: Tensor) -> Tensor:
        if self.how == "sum":
            return torch.addcmul(changes, still, copies.unsqueeze(1))
        return torch.addcdiv(still, changes, copies.unsqueeze(1))

    def read(self, readout: nn.Module) -> Tensor:
        """What a readout makes of the pooled vectors, ``(G, 1, C)`` or ``(N, 1, C)``."""
        if type(readout) is GraphReadout and not has_hooks(readout):
            means = self.means()
            return (means if readout.how == "mean" else means * self.cones.graphs.sizes.unsqueeze(1)).unsqueeze(1)
        vectors: Tensor = readout(self.nodes().unsqueeze(1), self.cones.graphs)
        return vectors

    def scores(self, selector: nn.Module, *, add_graph_mean: bool) -> Tensor:
        """Each node's score, some nodes at a time, ``(N,)``.

        Args:
            selector: from a node's vector to its score.
            add_graph_mean: add the mean over the graph to each node's vector first.
        """
        graphs = self.cones.graphs
        means = self.means() if add_graph_mean else None
        out = self.cones.unmarked.new_empty(graphs.num_nodes)
        inference = torch.is_inference_mode_enabled()

        def work(piece: Piece) -> None:
            at = piece.rows
            with torch.inference_mode(inference), torch.no_grad():  # a thread has settings of its own
                nodes = self.nodes(at)
                if means is not None:
                    nodes = means.index_select(0, graphs.batch[at]).add_(nodes)
                out[at] = selector(nodes).squeeze(-1)

        Pieces(np.arange(graphs.num_nodes + 1), SCORED).each(work)
        return out
