"""The edges of a batch, sorted once for sums in both directions."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from functools import cached_property

import torch
from torch import Tensor

# torch says once per process that CSR tensors are in beta; that is not news for a user of this package.
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    torch.sparse_csr_tensor(
        torch.tensor([0]), torch.tensor([0])[:0], torch.ones(0), size=(0, 0), check_invariants=False
    )


def may_read(tensor: Tensor) -> bool:
    """Whether looking at values costs no wait: elsewhere than on the CPU, the host waits until all work is done.

    So input is checked on the CPU alone: what `policylearn.data` loads was checked when it was read.
    """
    return tensor.device.type == "cpu"


def count_ids(ids: Tensor, size: int) -> Tensor:
    """How often each of ``size`` ids occurs, ``(R,) -> (size,)``; ``bincount`` makes a GPU wait to know the largest."""
    if may_read(ids):
        return torch.bincount(ids, minlength=size)
    return ids.new_zeros(size).scatter_add(0, ids, torch.ones_like(ids))


def pointers(ids: Tensor, size: int) -> Tensor:
    """Where each of ``size`` groups starts once ``ids`` is sorted, ``(size + 1,)``."""
    ends = count_ids(ids, size).cumsum(0)
    return torch.cat([ends.new_zeros(1), ends])


@dataclass(frozen=True)
class Adjacency:
    """Directed edges grouped by target (to sum over neighbours) and by source (for the gradient of that sum).

    Message ``m`` is the m-th edge in the order of the targets. Duplicate edges and self loops are kept as given.

    Args:
        num_nodes: N.
        target_ptr: where the messages of each target start.
        source: source node of each message.
        target: target node of each message.
        edge: which column of ``edge_index`` each message is.
        source_ptr: where each source's outgoing messages start in ``outgoing``.
        outgoing: message ids, grouped by source.

    Shapes:
        target_ptr and source_ptr ``(N + 1,)``; source, target, edge and outgoing ``(E,)``.
    """

    num_nodes: int
    target_ptr: Tensor
    source: Tensor
    target: Tensor
    edge: Tensor
    source_ptr: Tensor
    outgoing: Tensor

    @staticmethod
    def of(edge_index: Tensor, num_nodes: int) -> Adjacency:
        """Sort the edges once."""
        if edge_index.numel() and may_read(edge_index) and int(edge_index.max()) >= num_nodes:
            raise ValueError(
                f"'edge_index' names node {int(edge_index.max())} of {num_nodes}; do edges and 'x' belong together?"
            )
        target, edge = torch.sort(edge_index[1], stable=True)
        source = edge_index[0].index_select(0, edge)
        outgoing = torch.sort(source, stable=True).indices
        ends = pointers(target, num_nodes), pointers(source, num_nodes)
        return Adjacency(num_nodes, ends[0], source, target, edge, ends[1], outgoing)

    @property
    def num_edges(self) -> int:
        return len(self.source)

    @cached_property
    def in_degree(self) -> Tensor:
        """Incoming edges of each node, ``(N,)``."""
        return self.target_ptr.diff()

    @cached_property
    def out_degree(self) -> Tensor:
        """Outgoing edges of each node, ``(N,)``."""
        return self.source_ptr.diff()

    @cached_property
    def outgoing_targets(self) -> Tensor:
        """Target of each message, grouped by source, ``(E,)``."""
        return self.target.index_select(0, self.outgoing)

    def kinds(self, index: Tensor | None) -> Tensor:
        """The row of the edges' values that each message has, from that of each column of ``edge_index``, ``(E,)``."""
        return self.edge if index is None else index.index_select(0, self.edge)

    def expand(self, row_ptr: Tensor) -> Adjacency:
        """Give every node several rows of its own: row ``k`` of a node hears row ``k`` of its neighbours.

        Needed only where nodes differ in their number of rows (a full bag over graphs of several sizes); with equal
        numbers the rows of a node are one wide row and this adjacency serves as it is. Neighbours must have equally
        many rows. ``edge`` of the result still points into the ``edge_index`` of the nodes.
        """
        copies = row_ptr.diff().index_select(0, self.target)  # (E,)
        message = torch.repeat_interleave(torch.arange(self.num_edges, device=copies.device), copies)
        first = torch.cumsum(copies, 0) - copies
        k = torch.arange(len(message), device=copies.device) - first.index_select(0, message)
        source = row_ptr.index_select(0, self.source.index_select(0, message)) + k
        target = row_ptr.index_select(0, self.target.index_select(0, message)) + k
        return self.induced(source, target, message, int(row_ptr[-1]))

    def induced(self, source: Tensor, target: Tensor, message: Tensor, num_rows: int) -> Adjacency:
        """An adjacency over rows, in which each edge stands for a message of this one.

        Shapes:
            source and target rows, and the message that each edge stands for, ``(E',)``.
        """
        rows = Adjacency.of(torch.stack([source, target]), num_rows)
        return replace(rows, edge=self.edge.index_select(0, message).index_select(0, rows.edge))

    def with_rows(self, place: Tensor, num_rows: int) -> Adjacency:
        """The same edges over rows that stand elsewhere: row ``r`` is at ``place[r]`` of ``num_rows``."""
        every = torch.arange(self.num_edges, device=place.device)
        return self.induced(place.index_select(0, self.source), place.index_select(0, self.target), every, num_rows)
