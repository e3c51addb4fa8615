"""From the states of all rows to one vector per graph (or per node), in any order of nodes and copies.

A readout is a callable ``(states, bag, graphs) -> Tensor``. One that also has ``part``, ``join`` and ``finish`` can
take a bag in pieces (see `StreamingReadout`); any other is given whole bags.
"""

from __future__ import annotations

from typing import Any, Literal, Protocol, runtime_checkable

import torch
from torch import Tensor, nn

from policylearn.bags import NO_PICK, Bag, Graphs
from policylearn.nn.pooling import CopyPool, Pooled
from policylearn.nn.segments import group_mean, segment_mean, segment_sum
from policylearn.settings import CopyPooling, Level, NodePooling


class Readout(Protocol):
    """One vector per graph or per node."""

    def __call__(self, states: Tensor, bag: Bag, graphs: Graphs) -> Tensor:
        """Read out, ``(R, C) -> (G, C)``."""


@runtime_checkable
class StreamingReadout(Readout, Protocol):
    """A readout for which pieces of a bag, read one after the other, come to the same as the whole."""

    def part(self, states: Tensor, bag: Bag, graphs: Graphs) -> Any:
        """What is kept of a piece."""

    def join(self, a: Any, b: Any) -> Any:
        """What is kept of two pieces."""

    def finish(self, kept: Any, graphs: Graphs) -> Tensor:
        """What all pieces come to, ``(G, C)``."""


class CopiesThenNodes(nn.Module):
    """Pool each node over its copies, then the nodes of each graph (unless the task is one of nodes).

    Args:
        copies: mean, sum or min over the copies.
        nodes: mean or sum over the nodes.
        level: whether a vector belongs to a graph or to a node.
    """

    def __init__(self, copies: CopyPooling = "mean", nodes: NodePooling = "mean", *, level: Level = "graph") -> None:
        super().__init__()
        self.pool, self.nodes, self.level = CopyPool(copies), _checked(nodes), level

    def forward(self, states: Tensor, bag: Bag, graphs: Graphs) -> Tensor:
        """Read out, ``(R, C) -> (G, C)`` or ``(N, C)``."""
        return self.finish(self.part(states, bag, graphs), graphs)

    def part(self, states: Tensor, bag: Bag, graphs: Graphs) -> Pooled:
        """See `StreamingReadout`."""
        return self.pool.part(states, bag)

    def join(self, a: Pooled, b: Pooled) -> Pooled:
        """See `StreamingReadout`."""
        return self.pool.join(a, b)

    def finish(self, kept: Pooled, graphs: Graphs) -> Tensor:
        """See `StreamingReadout`."""
        return self.of_nodes(self.pool.finish(kept).squeeze(1), graphs)

    def of_nodes(self, nodes: Tensor, graphs: Graphs) -> Tensor:
        """Pool the nodes, ``(N, ...) -> (G, ...)``; nodes as they are in node tasks."""
        if self.level == "node":
            return nodes
        if self.nodes == "mean":
            return segment_mean(nodes, graphs.batch, graphs.ptr)
        return segment_sum(nodes, graphs.batch, graphs.num_graphs)

    def extra_repr(self) -> str:
        return f"{self.nodes}, level={self.level}"


class NodesThenCopies(nn.Module):
    """Pool the nodes of each copy, then the copies of each graph; the inner map may look at copies in between.

    Args:
        nodes: mean or sum over a copy's nodes, or `root` for its root alone (an unmarked copy counts by its mean).
        copies: mean or sum over the copies.
        between: what each copy's vector passes through, C to C' channels; None leaves it.
    """

    def __init__(
        self,
        nodes: NodePooling | Literal["root"] = "mean",
        copies: NodePooling = "mean",
        between: nn.Module | None = None,
    ) -> None:
        super().__init__()
        self.nodes = nodes if nodes == "root" else _checked(nodes)
        self.copies, self.between = _checked(copies), between

    def forward(self, states: Tensor, bag: Bag, graphs: Graphs) -> Tensor:
        """Read out, ``(R, C) -> (G, C')``."""
        return self.finish(self.part(states, bag, graphs), graphs)

    def part(self, states: Tensor, bag: Bag, graphs: Graphs) -> tuple[Tensor, Tensor]:
        """See `StreamingReadout`; the sum over copies, and how many there were."""
        copies = self.of_copies(states, bag)
        if self.between is not None:
            copies = self.between(copies)
        return segment_sum(copies, bag.graph_of_copy, graphs.num_graphs), bag.slots

    def of_copies(self, states: Tensor, bag: Bag) -> Tensor:
        """One vector per copy, ``(R, C) -> (S, C)``; a copy without nodes has zeros."""
        count = len(bag.roots)
        if self.nodes == "sum":
            return segment_sum(states, bag.copy, count)
        mean = group_mean(states, bag.copy, count)
        if self.nodes == "mean":
            return mean
        at_root = (bag.node == bag.root).unsqueeze(1)
        roots = segment_sum(states.where(at_root, 0.0), bag.copy, count)
        return torch.where((bag.roots == NO_PICK).unsqueeze(1), mean, roots)

    def join(self, a: tuple[Tensor, Tensor], b: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
        """See `StreamingReadout`."""
        return a[0] + b[0], a[1] + b[1]

    def finish(self, kept: tuple[Tensor, Tensor], graphs: Graphs) -> Tensor:
        """See `StreamingReadout`."""
        total, copies = kept
        return total / copies.clamp(min=1).unsqueeze(1).to(total.dtype) if self.copies == "mean" else total

    def extra_repr(self) -> str:
        return f"{self.nodes}, {self.copies}"


def _checked(how: NodePooling) -> NodePooling:
    if how not in ("mean", "sum"):
        raise ValueError(f"nodes and vectors of copies are pooled by 'mean' or 'sum' (got '{how}')")
    return how
