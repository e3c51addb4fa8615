"""From the states of all rows to one vector per graph (or per node), in any order of nodes and copies.

A readout is a callable ``(states, bag, graphs) -> Tensor``. One that also has ``part``, ``join`` and ``finish`` can
take a bag in pieces (see `StreamingReadout`); any other is given whole bags.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, Protocol, TypeVar, runtime_checkable

import torch
from torch import Tensor, nn

from policylearn.bags import NO_PICK, Bag, Graphs
from policylearn.nn.segments import group_mean, segment_mean, segment_min, segment_sum
from policylearn.settings import CopyPooling, GraphReadout, Level, NodePooling

Pooling = TypeVar("Pooling", bound=str)


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


class Pooled(NamedTuple):
    """Copies that were pooled, but not finished: further ones can join.

    Shapes:
        total ``(N, C)``; copies an int, or ``(N,)`` where nodes differ.
    """

    total: Tensor
    copies: Tensor | int


class CopyPool(nn.Module):
    """Mean, sum or min of each node over its copies, ``(R, C) -> (N, C)``; it takes a bag whole, or in pieces."""

    def __init__(self, how: CopyPooling = "mean") -> None:
        super().__init__()
        if how not in ("mean", "sum", "min"):
            raise ValueError(f"copies are pooled by 'mean', 'sum' or 'min' (got '{how}')")
        self.how = how

    def forward(self, states: Tensor, bag: Bag) -> Tensor:
        return self.finish(self.part(states, bag))

    def part(self, states: Tensor, bag: Bag) -> Pooled:
        """Pool the copies that this bag holds."""
        if bag.width is not None:
            copies = states.view(bag.num_nodes, bag.width, -1)  # (N * S, C) -> (N, S, C)
            return Pooled(copies.amin(1) if self.how == "min" else copies.sum(1), bag.width)
        pool = segment_min if self.how == "min" else segment_sum
        return Pooled(pool(states, bag.node, bag.num_nodes), bag.rows_per_node)

    def join(self, a: Pooled, b: Pooled) -> Pooled:
        """Pool two pieces of a bag."""
        total = torch.minimum(a.total, b.total) if self.how == "min" else a.total + b.total
        return Pooled(total, a.copies + b.copies)

    def finish(self, pooled: Pooled) -> Tensor:
        """What the pieces come to; a node that is in no copy has zeros."""
        total, copies = pooled
        if isinstance(copies, int):
            return total / copies if self.how == "mean" else total
        seen = copies.unsqueeze(-1)
        if self.how == "min":
            return total.where(seen > 0, 0.0)
        return total / seen.clamp(min=1).to(total.dtype) if self.how == "mean" else total

    def extra_repr(self) -> str:
        return self.how


class CopiesThenNodes(nn.Module):
    """Pool each node over its copies, then the nodes of each graph (unless the task is one of nodes).

    Args:
        copies: mean, sum or min over the copies.
        nodes: mean or sum over the nodes, or both side by side, 2 C channels.
        level: whether a vector belongs to a graph or to a node.
    """

    def __init__(self, copies: CopyPooling = "mean", nodes: GraphReadout = "mean", *, level: Level = "graph") -> None:
        super().__init__()
        if nodes != "both":
            _checked(nodes)
        self.pool, self.nodes, self.level = CopyPool(copies), nodes, level

    def forward(self, states: Tensor, bag: Bag, graphs: Graphs) -> Tensor:
        """Read out, ``(R, C) -> (G, C)``, ``(G, 2 C)`` or ``(N, C)``."""
        return self.of_nodes(self.pool(states, bag), graphs)

    def part(self, states: Tensor, bag: Bag, graphs: Graphs) -> Pooled:
        return self.pool.part(states, bag)

    def join(self, a: Pooled, b: Pooled) -> Pooled:
        return self.pool.join(a, b)

    def finish(self, kept: Pooled, graphs: Graphs) -> Tensor:
        return self.of_nodes(self.pool.finish(kept), graphs)

    def of_nodes(self, nodes: Tensor, graphs: Graphs) -> Tensor:
        """Pool the nodes, ``(N, ...) -> (G, ...)``; nodes as they are in node tasks."""
        if self.level == "node":
            return nodes
        if self.nodes == "sum":
            return segment_sum(nodes, graphs.batch, graphs.num_graphs)
        return self.of_means(segment_mean(nodes, graphs.batch, graphs.ptr), graphs.sizes)

    def of_means(self, means: Tensor, sizes: Tensor) -> Tensor:
        """The vectors of graphs of which the means over the nodes are known, ``(G, ..., C)`` and ``(G,)``."""
        if self.nodes == "mean":
            return means
        sums = means * sizes.to(means.dtype).view(-1, *([1] * (means.dim() - 1)))
        return sums if self.nodes == "sum" else torch.cat([means, sums], dim=-1)

    def extra_repr(self) -> str:
        return f"{self.nodes}, level={self.level}"


class NodesThenCopies(nn.Module):
    """Pool the nodes of each copy, then the copies of each graph; the inner map may look at copies in between.

    Args:
        nodes: mean or sum over a copy's nodes, both side by side, or `root` for its root alone (an unmarked copy counts
            by its mean).
        copies: mean or sum over the copies.
        between: what each copy's vector passes through, C to C' channels; None leaves it.
    """

    def __init__(
        self,
        nodes: GraphReadout | Literal["root"] = "mean",
        copies: NodePooling = "mean",
        between: nn.Module | None = None,
    ) -> None:
        super().__init__()
        self.nodes = nodes if nodes in ("root", "both") else _checked(nodes)
        self.copies, self.between = _checked(copies), between

    def forward(self, states: Tensor, bag: Bag, graphs: Graphs) -> Tensor:
        """Read out, ``(R, C) -> (G, C')``."""
        return self.finish(self.part(states, bag, graphs), graphs)

    def part(self, states: Tensor, bag: Bag, graphs: Graphs) -> tuple[Tensor, Tensor]:
        """The sum over copies, and how many there were."""
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
        if self.nodes == "both":
            return torch.cat([mean, segment_sum(states, bag.copy, count)], dim=1)
        at_root = (bag.node == bag.root).unsqueeze(1)
        roots = segment_sum(states.where(at_root, 0.0), bag.copy, count)
        return torch.where((bag.roots == NO_PICK).unsqueeze(1), mean, roots)

    def join(self, a: tuple[Tensor, Tensor], b: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
        return a[0] + b[0], a[1] + b[1]

    def finish(self, kept: tuple[Tensor, Tensor], graphs: Graphs) -> Tensor:
        total, copies = kept
        return total / copies.clamp(min=1).unsqueeze(1).to(total.dtype) if self.copies == "mean" else total

    def extra_repr(self) -> str:
        return f"{self.nodes}, {self.copies}"


def _checked(how: Pooling) -> Pooling:
    if how not in ("mean", "sum"):
        raise ValueError(f"copies and nodes are pooled by 'mean' or 'sum', nodes also by 'both' (got '{how}')")
    return how
