"""From the states of all copies to one vector per node."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn

from policylearn.bags import Bag
from policylearn.nn.segments import segment_min, segment_sum
from policylearn.settings import CopyPooling


class Pooled(NamedTuple):
    """Copies that were pooled, but not finished: further ones can join.

    Shapes:
        total ``(N, C)``; copies an int, or ``(N,)`` where nodes differ.
    """

    total: Tensor
    copies: Tensor | int


class CopyPool(nn.Module):
    """Pool each node's states over its copies; works piece by piece, so that a bag need not be held at once.

    Args:
        how: mean, sum or min over the copies.
    """

    def __init__(self, how: CopyPooling = "mean") -> None:
        super().__init__()
        if how not in ("mean", "sum", "min"):
            raise ValueError(f"copies are pooled by 'mean', 'sum' or 'min' (got '{how}')")
        self.how = how

    def part(self, states: Tensor, bag: Bag) -> Pooled:
        """Pool the copies that this bag holds, ``(R, C) -> (N, C)``."""
        nodes = bag.num_nodes
        if bag.width is not None:
            copies = states.view(nodes, bag.width, -1)  # (N * S, C) -> (N, S, C)
            return Pooled(copies.amin(1) if self.how == "min" else copies.sum(1), bag.width)
        pool = segment_min if self.how == "min" else segment_sum
        return Pooled(pool(states, bag.node, nodes), bag.rows_per_node)

    def join(self, a: Pooled, b: Pooled) -> Pooled:
        """Pool two pieces of a bag."""
        total = torch.minimum(a.total, b.total) if self.how == "min" else a.total + b.total
        return Pooled(total, a.copies + b.copies)

    def finish(self, pooled: Pooled) -> Tensor:
        """What the pieces come to, ``(N, C)``; a node that is in no copy has zeros."""
        total, copies = pooled
        if isinstance(copies, int):
            return total / copies if self.how == "mean" else total
        seen = copies.unsqueeze(-1)
        if self.how == "min":
            return total.where(seen > 0, 0.0)
        return total / seen.clamp(min=1).to(total.dtype) if self.how == "mean" else total

    def extra_repr(self) -> str:
        return self.how
