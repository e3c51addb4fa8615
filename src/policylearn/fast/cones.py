"""What copies show of nodes and graphs at inference, kept as differences from the unmarked graph."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from torch import Tensor, nn

from policylearn.bags import NO_PICK, Graphs
from policylearn.fast.cone_rows import Cones
from policylearn.fast.layers import FixedStates
from policylearn.fast.merged_network import MergedNetwork
from policylearn.fast.merged_rows import NetworkClasses
from policylearn.fast.rows import Array, as_array
from policylearn.nn import TwoStreamEncoder, segment_mean
from policylearn.settings import CopyPooling

COPIES = 1 << 13
"""Nodes of the copies that are worked on together, so few that their rows stay in the cache."""

SCORED = 1 << 12
"""Nodes that are scored together."""


@dataclass(frozen=True)
class ConeStates:
    """An encoder of two streams over marked copies of some graphs, of which only cones are computed.

    Args:
        graphs: the batch.
        network: the encoder's layers over classes of rows, with norms that need nothing from the batch.
        features: of the nodes.
        states: of the unmarked graphs' classes in front of the first layer and behind each.
    """

    graphs: Graphs
    network: MergedNetwork
    features: Array
    states: list[FixedStates]

    @staticmethod
    def of(encoder: TwoStreamEncoder, graphs: Graphs) -> ConeStates | None:
        """Compute the unmarked graphs; None where norms, dropout, gradients or the tensors do not allow for cones.

        Gradients do not go through these; see `fast.encoders` for what is done in training.

        Args:
            encoder: whose layers are all compiled.
            graphs: the batch.
        """
        if torch.is_grad_enabled():
            return None
        features: Tensor = encoder.node_encoder(graphs)
        network = MergedNetwork.fixed_of(encoder, graphs, features.new_empty(0, 1))
        if network is None or network.channels != features.shape[1] + 1:
            return None
        classes = network.unmarked
        assert classes.marks is not None, "there are two streams"
        own = as_array(features)
        given = _marked_input(own[classes.features.firsts], 0), np.zeros((classes.marks.counts[0], 1), own.dtype)
        return ConeStates(graphs, network, own, [given, *network.infer(classes.rows(), given)])

    @cached_property
    def unmarked(self) -> Tensor:
        """The unmarked graphs' node states, ``(N, C)``."""
        return self._spread(self.states[-1], self.network.unmarked, slice(None))

    @staticmethod
    def _spread(states: FixedStates, classes: NetworkClasses, rows: slice) -> Tensor:
        h, p = (torch.from_numpy(one) for one in states)
        return MergedNetwork.spread([(h, p)], classes, rows)

    def around(self, roots: Tensor) -> tuple[Cones, Tensor]:
        """The cones of copies with these roots, ``(copies, k)``, and their rows' states, ``(R, C)``."""
        network = self.network
        cones = Cones.around(network.graphs.rows, roots, network.depth)
        count = int(cones.ends[0])
        marked = network.marked(cones, torch.ones(count, 1))
        both = network.unmarked.with_marked(marked, apart=True)
        assert marked.marks is not None, "there are two streams"
        own = self.features[cones.node_of[marked.features.firsts]]
        given = _marked_input(own, 1), np.ones((marked.marks.counts[0], 1), own.dtype)
        last = network.infer(marked.rows(inside=both), given, self.states)[-1]
        return cones, self._spread(last, both, slice(self.graphs.num_nodes, None))

    def _sizes(self, roots: Tensor) -> Tensor:
        """Nodes of each copy's graph: so many rows it has at most."""
        return self.graphs.sizes.index_select(0, self.graphs.batch.index_select(0, roots[:, 0]))

    def marked(self, roots: Tensor, max_rows: int) -> Iterator[tuple[Cones, Tensor, int]]:
        """Cones, their rows' states and the number of their first copy, for some copies at a time.

        Args:
            roots: marked nodes of each copy, ``(copies, k)``.
            max_rows: rows held at once.
        """
        for start, end in self._chunks(roots, min(max_rows, COPIES)):
            yield *self.around(roots[start:end]), start

    def _chunks(self, roots: Tensor, max_rows: int) -> Iterator[tuple[int, int]]:
        """Neighbouring copies whose graphs have at most ``max_rows`` nodes together (but at least one copy)."""
        ends = self._sizes(roots).cumsum(0)
        start = 0
        while start < len(roots):
            taken = 0 if start == 0 else int(ends[start - 1])
            end = max(start + 1, int(torch.searchsorted(ends, taken + max_rows, right=True)))
            yield start, end
            start = end


def _marked_input(features: Array, mark: int) -> Array:
    """Features behind their mark, ``(R, C) -> (R, 1 + C)``."""
    rows = np.empty((len(features), features.shape[1] + 1), features.dtype)
    rows[:, 0], rows[:, 1:] = mark, features
    return rows


class ConePool:
    """The states of nodes pooled over slot 0 and the copies so far; a further copy changes no more than its cone.

    Args:
        cones: the network and the graphs.
        how: mean, sum or min over the copies.
        max_rows: rows held at once.
    """

    def __init__(self, cones: ConeStates, how: CopyPooling, max_rows: int) -> None:
        self.cones, self.how, self.max_rows = cones, how, max_rows
        unmarked, graphs = cones.unmarked, cones.graphs
        self.copies = torch.ones(graphs.num_graphs, dtype=unmarked.dtype)
        # Least so far, or by how much the copies' sum differs from that many times the unmarked graph. Zeros of numpy
        # take memory only where something else is written.
        self.low = unmarked.clone() if how == "min" else unmarked
        self.changes = torch.from_numpy(np.zeros_like(unmarked.numpy()))
        self.graph_changes = unmarked.new_zeros(graphs.num_graphs, unmarked.shape[1])
        self.unmarked_means = segment_mean(unmarked, graphs.batch, graphs.ptr)

    def add(self, marked: Tensor) -> None:
        """Look at further copies with these marked nodes, ``(T, k, G)``; those that are alike are computed once."""
        from policylearn.fast.cone_loops import add_changes

        picked = marked[:, 0] != NO_PICK
        self.copies += picked.sum(0)
        roots = marked.transpose(1, 2)[picked]  # (T, k, G) -> (copies, k)
        if roots.shape[1] == 1:  # much cheaper than to compare rows
            distinct, times = torch.unique(roots, return_counts=True)
            distinct = distinct.unsqueeze(1)
        else:
            distinct, times = torch.unique(roots, dim=0, return_counts=True)
        unmarked, graphs = as_array(self.cones.unmarked), as_array(self.cones.graphs.batch)
        weights, nodes = as_array(times.to(self.copies.dtype)), np.arange(len(unmarked))
        for cones, rows, first in self.cones.marked(distinct, self.max_rows):
            if self.how == "min":
                at = torch.from_numpy(cones.node_of).unsqueeze(1).expand_as(rows)
                self.low.scatter_reduce_(0, at, rows, "amin")
                continue
            changed = as_array(rows), cones.node_of, cones.copy_of, weights[first:], unmarked
            add_changes(self.changes.numpy(), nodes, *changed)
            add_changes(self.graph_changes.numpy(), graphs, *changed)

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
        return self._pooled(self.unmarked_means, self.graph_changes / graphs.sizes.unsqueeze(1), self.copies)

    def _pooled(self, unmarked: Tensor, changes: Tensor, copies: Tensor) -> Tensor:
        if self.how == "sum":
            return torch.addcmul(changes, unmarked, copies.unsqueeze(1))
        return torch.addcdiv(unmarked, changes, copies.unsqueeze(1))

    def scores(self, selector: nn.Module, *, add_graph_mean: bool) -> Tensor:
        """Each node's score, some nodes at a time, ``(N,)``.

        Args:
            selector: from a node's vector to its score.
            add_graph_mean: add the mean over the graph to each node's vector first.
        """
        graphs = self.cones.graphs
        means = self.means() if add_graph_mean else None
        out = self.cones.unmarked.new_empty(graphs.num_nodes)
        for start in range(0, graphs.num_nodes, SCORED):
            at = slice(start, start + SCORED)
            nodes = self.nodes(at)
            if means is not None:
                nodes = means.index_select(0, graphs.batch[at]).add_(nodes)
            out[at] = selector(nodes).squeeze(-1)
        return out
