"""From the states of all copies to one vector per node."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn

from policylearn.bags import Bag, unmarked_apart
from policylearn.nn.segments import segment_sum
from policylearn.settings import CopyPooling


class Pooled(NamedTuple):
    """Copies that were pooled, but not finished: further ones can join.

    Shapes:
        total ``(N, K, C)`` for K bags; copies an int, or ``(N, K)`` where nodes differ.
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
        """Pool the copies that this bag holds, ``(R, C) -> (N, 1, C)``."""
        nodes = bag.num_nodes
        if bag.width is not None:  # (N * S, C) -> (N, S, C) -> (N, 1, C)
            return Pooled(self._over(states.view(nodes, bag.width, -1)).unsqueeze(1), bag.width)
        if self.how != "min":
            return Pooled(segment_sum(states, bag.node, nodes).unsqueeze(1), bag.rows_per_node.unsqueeze(1))
        highest = states.new_full((nodes, states.shape[1]), torch.inf)
        lowest = highest.scatter_reduce(0, bag.node.unsqueeze(1).expand_as(states), states, "amin")
        return Pooled(lowest.unsqueeze(1), bag.rows_per_node.unsqueeze(1))

    def part_of_samples(self, states: Tensor, bag: Bag, samples: int) -> Pooled:
        """Pool K bags that lie side by side in one and share slot 0, each by itself, ``(R, C) -> (N, K, C)``."""
        assert bag.width is not None, "bags lie side by side over shared edges, with equally many copies"
        unmarked, *own = unmarked_apart(states.view(bag.num_nodes, bag.width, -1), samples)
        pools = [self._join(unmarked[:, 0], self._over(copies)) for copies in own]
        return Pooled(torch.stack(pools, dim=1), 1 + (bag.width - 1) // samples)

    @staticmethod
    def stack(parts: Sequence[Pooled]) -> Pooled:
        """Bags of one sample each as the samples of one, ``(N, 1, C)`` each."""
        counts = [one.copies for one in parts]
        first = counts[0]
        joined = first if isinstance(first, int) else torch.cat([one for one in counts if isinstance(one, Tensor)], 1)
        return Pooled(torch.cat([one.total for one in parts], dim=1), joined)

    def _over(self, copies: Tensor) -> Tensor:
        """Pool, ``(N, S, C) -> (N, C)``."""
        return copies.amin(1) if self.how == "min" else copies.sum(1)

    def _join(self, a: Tensor, b: Tensor) -> Tensor:
        return torch.minimum(a, b) if self.how == "min" else a + b

    def join(self, a: Pooled, b: Pooled) -> Pooled:
        """Pool two pieces of a bag."""
        return Pooled(self._join(a.total, b.total), a.copies + b.copies)

    def finish(self, pooled: Pooled) -> Tensor:
        """What the pieces come to, ``(N, K, C)``; a node that is in no copy has zeros."""
        total, copies = pooled
        if isinstance(copies, int):
            return total / copies if self.how == "mean" else total
        seen = copies.unsqueeze(-1)
        if self.how == "min":
            return total.where(seen > 0, 0.0)
        return total / seen.clamp(min=1).to(total.dtype) if self.how == "mean" else total

    def extra_repr(self) -> str:
        return self.how
