"""How the rows of several copies of a batch hang together."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from policylearn.bags import Adjacency
from policylearn.kernels.arrays import as_array
from policylearn.kernels.threads import Pieces, kernel_threads


@dataclass(frozen=True, eq=False)
class Layout:
    """Rows ordered by node, the copies of a node side by side, over one adjacency of the nodes.

    Args:
        adjacency: over N nodes.
        row_ptr: where the rows of each node start, ``(N + 1,)``.
        width: the number of copies where all nodes have equally many, else None.
    """

    adjacency: Adjacency
    row_ptr: Tensor
    width: int | None

    @property
    def copies(self) -> int:
        """Copies side by side where that is one number for all nodes, else 1."""
        return 1 if self.width is None else self.width

    def spread(self, nodes: Tensor) -> Tensor:
        """Give each copy of a node the node's own values, ``(N, C) -> (R, C)``."""
        count = self.row_ptr[1:] - self.row_ptr[:-1]
        return torch.repeat_interleave(nodes, count, dim=0, output_size=int(self.row_ptr[-1]))

    def pieces(self, most: int | None = None) -> Pieces:
        """The rows cut for threads, into pieces of at most so many."""
        known = self.__dict__.setdefault("_pieces", {})
        key = most, kernel_threads()
        if key not in known:
            known[key] = Pieces(as_array(self.row_ptr), most)
        pieces: Pieces = known[key]
        return pieces

    def wide(self) -> tuple[Adjacency, int]:
        """An adjacency and how many copies lie side by side in each of its rows.

        With equally many copies those of a node are one wide row, and the nodes' own adjacency serves all of them.
        """
        return (self.expanded, 1) if self.width is None else (self.adjacency, self.width)

    @cached_property
    def expanded(self) -> Adjacency:
        """An adjacency of single rows; only needed where graphs differ in their number of copies."""
        return self.adjacency.expand(self.row_ptr)
