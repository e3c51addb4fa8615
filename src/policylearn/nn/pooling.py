"""From the states of all copies to one vector a node, and from nodes to graphs."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor, nn

from policylearn.bags import Bag
from policylearn.nn.graphs import Graphs
from policylearn.nn.segments import segment_mean, segment_sum

SlotPooling = Literal["mean", "sum", "min"]
NodePooling = Literal["mean", "sum"]


class SlotPool(nn.Module):
    """Pool each node's states over its copies; works piece by piece, so that a bag need not be held at once.

    Args:
        how: mean, sum or min over the copies.
    """

    def __init__(self, how: SlotPooling = "mean") -> None:
        super().__init__()
        if how not in ("mean", "sum", "min"):
            raise ValueError(f"slots are pooled by 'mean', 'sum' or 'min' (got '{how}')")
        self.how = how

    def part(self, states: Tensor, bag: Bag, samples: int = 1) -> Tensor:
        """Pool the copies that this piece holds, ``(R, C) -> (N, K, C)``.

        Args:
            states: of every copy.
            bag: the copies.
            samples: K bags in one (see `Selection.merge`), which share slot 0; each is pooled by itself.
        """
        nodes = len(bag.row_ptr) - 1
        if samples > 1:
            if bag.width is None:
                raise ValueError("several samples need equally many copies of every graph")
            unmarked, *own = bag.split_samples(states.view(nodes, bag.width, -1), samples)
            return torch.stack([self.join(unmarked[:, 0], self._over(copies)) for copies in own], dim=1)
        if bag.width is not None:
            return self._over(states.view(nodes, bag.width, -1)).unsqueeze(1)  # (N * S, C) -> (N, S, C) -> (N, 1, C)
        count = bag.row_ptr[1:] - bag.row_ptr[:-1]
        node = torch.repeat_interleave(torch.arange(nodes, device=count.device), count, output_size=len(states))
        if self.how != "min":
            return segment_sum(states, node, nodes).unsqueeze(1)
        highest = states.new_full((nodes, states.shape[1]), torch.inf)
        return highest.scatter_reduce(0, node.unsqueeze(1).expand_as(states), states, "amin").unsqueeze(1)

    def _over(self, copies: Tensor) -> Tensor:
        """Pool, ``(N, S, C) -> (N, C)``."""
        return copies.amin(1) if self.how == "min" else copies.sum(1)

    def join(self, a: Tensor, b: Tensor) -> Tensor:
        """Pool two pieces, ``(N, K, C)`` each."""
        return torch.minimum(a, b) if self.how == "min" else a + b

    def finish(self, total: Tensor, copies: Tensor | int) -> Tensor:
        """What the pieces come to, given the number of copies of each node (or of all), ``(N, K, C)``."""
        if self.how != "mean":
            return total
        return total / (copies if isinstance(copies, int) else copies.to(total.dtype).view(-1, 1, 1))

    def extra_repr(self) -> str:
        return self.how


class GraphReadout(nn.Module):
    """One vector a graph.

    Args:
        how: mean or sum over the nodes.
    """

    def __init__(self, how: NodePooling = "mean") -> None:
        super().__init__()
        if how not in ("mean", "sum"):
            raise ValueError(f"nodes are pooled by 'mean' or 'sum' (got '{how}')")
        self.how = how

    def forward(self, nodes: Tensor, graphs: Graphs) -> Tensor:
        """Pool, ``(N, ...) -> (G, ...)``."""
        if self.how == "mean":
            return segment_mean(nodes, graphs.batch, graphs.ptr)
        return segment_sum(nodes, graphs.batch, graphs.num_graphs)

    def extra_repr(self) -> str:
        return self.how


class NodeReadout(nn.Module):
    """One vector a node, for node-level tasks."""

    def forward(self, nodes: Tensor, graphs: Graphs) -> Tensor:
        """Nodes as they are, ``(N, ...)``."""
        return nodes


class MLP(nn.Module):
    """Two linear maps with a relu between: the prediction head, and the scores of the selection network."""

    def __init__(self, channels: int, hidden: int, outputs: int) -> None:
        super().__init__()
        self.lin1 = nn.Linear(channels, hidden)
        self.lin2 = nn.Linear(hidden, outputs)

    def forward(self, x: Tensor) -> Tensor:
        """Map, ``(..., channels) -> (..., outputs)``."""
        out: Tensor = self.lin2(torch.relu(self.lin1(x)))
        return out
