"""What mlps with either norm share: how pieces go through phases, and what is kept for the gradient."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from policylearn.kernels.arrays import as_array
from policylearn.kernels.threads import Piece, Pieces

PIECE = 1 << 11
"""Rows of a piece: so many that a call is worth it, so few that what belongs to them is still in the cache."""


Phase = tuple[Callable[[Piece], None], Callable[[], None] | None]
"""What is done with each piece, and with all of them before the next phase; None if there is nothing to wait for."""


def go(pieces: Pieces, sides: Sequence[Sequence[Phase]], before: Callable[[Piece], None] | None = None) -> None:
    """Take every piece through the phases of mlps that work side by side, and first through ``before``."""
    together: list[Callable[[Piece], None]] = [] if before is None else [before]
    for number in range(max(len(side) for side in sides)):
        phases = [side[number] for side in sides]
        together += [work for work, _ in phases]
        settle = [wait for _, wait in phases if wait is not None]
        if settle or number == max(len(side) for side in sides) - 1:
            works = tuple(together)

            def each(piece: Piece, works: tuple[Callable[[Piece], None], ...] = works) -> None:
                for work in works:
                    work(piece)

            pieces.each(each)
            together = []
        for wait in settle:
            wait()


class MLP:
    """What both kinds share: the weights, and the rows that are kept for the gradient.

    Args:
        eps: added to variances.
        flat: four weights of each half.
        threads: how many work on pieces.
        x: the rows that go in.
        mapped: both maps' outputs, if a forward pass was made.
        memory: what the norms found in it.
    """

    def __init__(
        self, eps: float, flat: Sequence[Tensor], threads: int, x: Tensor, *mapped: Tensor, memory: Any = None
    ) -> None:
        from policylearn.kernels.compiled_gemm import gemm_address

        weights = [as_array(weight) for weight in flat]
        self.one, self.two = tuple(weights[:4]), tuple(weights[4:])
        if len(self.one[0]) != len(self.two[0]):
            raise ValueError(
                f"both maps of an mlp need equally many outputs (got {len(self.one[0])} and {len(self.two[0])})"
            )
        self.threads, self.memory = threads, memory
        self.kept = [x, *(mapped or (x.new_empty(len(x), len(half[0])) for half in (self.one, self.two)))]
        self.x, self.mapped, self.mapped_two = (rows.numpy() for rows in self.kept)
        self.dtype = self.x.dtype
        self.eps, self.gemm = self.dtype.type(eps), gemm_address(self.dtype)

    def begin_back(self, gradient: Tensor) -> Any:
        """Room for the gradients; returns that of the output as an array."""
        self.to_x = torch.empty_like(self.kept[0])
        self.to_weights = [np.zeros((self.threads, *half[0].shape), self.dtype) for half in (self.one, self.two)]
        return as_array(gradient)

    def room(self, count: int) -> Any:
        """Room for sums over rows of both halves, each thread's own, ``(2, threads, count, C)`` in double precision."""
        return np.zeros((2, self.threads, count, self.mapped.shape[1]))

    def gradients(self) -> list[Tensor]:
        """Of both halves' weights, in the order of `Affine`."""
        found = []
        for weight, vectors in zip(self.to_weights, self.vectors(), strict=True):
            found += [weight.sum(axis=0), *(vector.astype(self.dtype) for vector in vectors)]
        return [torch.from_numpy(one) for one in found]

    def vectors(self) -> Any:
        """Gradients of bias, scale and shift of both halves."""
        raise NotImplementedError
