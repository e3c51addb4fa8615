"""What copies show of nodes at inference, kept as differences from the unmarked graph."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from policylearn.bags import NO_PICK, Graphs
from policylearn.fast.networks import GrowingRows, MergedNetwork, spread
from policylearn.fast.rows import Cones, as_array
from policylearn.nn import TwoStreamEncoder, dtype_of
from policylearn.settings import CopyPooling

COPIES = 1 << 13
"""Nodes of the copies that are worked on together, so few that their rows stay in the cache."""


@dataclass(frozen=True)
class ConeStates:
    """An encoder of two streams over marked copies of some graphs, of which only cones are computed."""

    network: MergedNetwork  # whose norms need nothing from the batch
    known: list[tuple[GrowingRows, GrowingRows]]  # of the unmarked graphs, before the first layer and after each

    @staticmethod
    def of(encoder: TwoStreamEncoder, graphs: Graphs) -> ConeStates | None:
        """Compute the unmarked graphs; None where norms, dropout, gradients or the tensors do not allow for cones.

        All layers of the encoder are compiled. Gradients do not go through these; see `fast.encoders` for training.
        """
        if torch.is_grad_enabled():
            return None
        like = torch.empty(0, 1, dtype=dtype_of(encoder))
        network = MergedNetwork.of(encoder, graphs, like, count=None)
        if network is None:
            return None
        given = network.unmarked_input(1)
        known = network.empty_states(given)
        network.infer(network.unmarked.rows(), given, known)
        for states in (states for both in known for states in both):
            states.keep()
        return ConeStates(network, known)

    @cached_property
    def unmarked(self) -> Tensor:
        """The unmarked graphs' node states, ``(N, C)``."""
        h, p = (torch.from_numpy(states.rows) for states in self.known[-1])
        return spread((h, p), *self.network.unmarked.last)

    def around(self, roots: Tensor) -> tuple[Cones, Tensor]:
        """The cones of copies with these roots, ``(copies,)``, and their rows' states, ``(R, C)``."""
        network = self.network
        cones = Cones.around(network.graphs.adjacency, roots.unsqueeze(1), len(network.parts))
        classes, given = network.marked(cones, network.features.new_ones(int(cones.ends[0]), 1))
        network.infer(classes.rows(beside=network.unmarked), given, self.known)
        h, p = (torch.from_numpy(states.rows) for states in self.known[-1])
        return cones, spread((h, p), *classes.last)

    def marked(self, roots: Tensor, max_rows: int) -> Iterator[tuple[Cones, Tensor, int]]:
        """Cones, their rows' states and the number of their first copy, for some copies at a time.

        Roots are the marked node of each copy, ``(copies,)``; ``max_rows`` are held at once, but at least one copy's.
        """
        graphs = self.network.graphs
        sizes = graphs.sizes.index_select(0, graphs.batch.index_select(0, roots))
        ends, start = sizes.cumsum(0), 0  # a copy has at most the rows of its graph
        while start < len(roots):
            taken = 0 if start == 0 else int(ends[start - 1])
            end = max(start + 1, int(torch.searchsorted(ends, taken + min(max_rows, COPIES), right=True)))
            yield *self.around(roots[start:end]), start
            start = end


class ConePool:
    """The states of nodes pooled over slot 0 and the copies so far; a further copy changes no more than its cone."""

    def __init__(self, cones: ConeStates, how: CopyPooling, max_rows: int) -> None:
        self.cones, self.how, self.max_rows = cones, how, max_rows
        self.copies = torch.ones(cones.network.graphs.num_graphs, dtype=cones.unmarked.dtype)
        # The least so far, or by how much the copies' sum differs from that many times the unmarked graph.
        self.low = cones.unmarked.clone() if how == "min" else cones.unmarked
        self.changes = torch.zeros_like(cones.unmarked)

    def add(self, roots: Tensor) -> None:
        """Look at further copies with these roots, ``(T, G)``; those that are alike are computed once."""
        from policylearn.fast.loops import add_changes

        picked = roots != NO_PICK
        self.copies += picked.sum(0)
        distinct, times = torch.unique(roots[picked], return_counts=True)
        unmarked, weights = as_array(self.cones.unmarked), as_array(times.to(self.copies.dtype))
        for cones, rows, first in self.cones.marked(distinct, self.max_rows):
            if self.how == "min":
                at = torch.from_numpy(cones.node_of).unsqueeze(1).expand_as(rows)
                self.low.scatter_reduce_(0, at, rows, "amin")
            else:
                factors = weights[first:]
                add_changes(self.changes.numpy(), as_array(rows), cones.node_of, cones.copy_of, factors, unmarked)

    def nodes(self) -> Tensor:
        """The pooled vectors of the nodes, ``(N, C)``."""
        if self.how == "min":
            return self.low
        unmarked = self.cones.unmarked
        copies = self.copies.index_select(0, self.cones.network.graphs.batch).unsqueeze(1)
        if self.how == "sum":
            return torch.addcmul(self.changes, unmarked, copies)
        return torch.addcdiv(unmarked, self.changes, copies)
