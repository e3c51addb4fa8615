"""The mlp of a GIN with batch norms, piece by piece; all pieces are looked at before one is finished."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from policylearn.kernels.mlp_base import MLP, Phase
from policylearn.kernels.threads import Piece


class BatchMemory(NamedTuple):
    """Statistics of a batch norm, ``(C,)`` each: mean and factor in the rows' precision, the others in double."""

    mean: Any
    variance: Any
    inverse: Any
    factor: Any


class BatchMLP(MLP):
    """With batch norms that take the statistics of all rows.

    The bias in front of a batch norm changes nothing but the mean, so it is left out and its gradient is exactly zero.
    """

    def forward(self, residual: Any, out: Tensor) -> list[Phase]:
        """The phases that fill ``out``, ``(R, C)``."""
        from policylearn.kernels.compiled_mlps import batch_between, batch_map
        from policylearn.kernels.compiled_norms import batch_apply

        self.memory = []
        result = out.numpy()
        seen: list[list[tuple[int, Any, Any]]] = [[] for _ in range(self.threads)]

        def note(piece: Piece, rows: Any, total: Any, squares: Any) -> None:
            offset = total / len(rows)
            seen[piece.thread].append((len(rows), rows[0] + offset, squares - len(rows) * offset**2))

        def start(piece: Piece) -> None:
            at, sums = piece.rows, np.zeros((2, self.mapped.shape[1]))
            batch_map(self.gemm, self.x[at], self.one[0], self.mapped[at], sums[0], sums[1])
            note(piece, self.mapped[at], *sums)

        def between(piece: Piece) -> None:
            at, sums = piece.rows, np.zeros((2, self.mapped.shape[1]))
            found = self.memory[0]
            batch_between(
                self.gemm, self.mapped[at], found.mean, found.factor, self.one[3], self.two[0], self.mapped_two[at],
                sums[0], sums[1],
            )  # fmt: skip
            note(piece, self.mapped_two[at], *sums)

        def end(piece: Piece) -> None:
            at, found = piece.rows, self.memory[1]
            batch_apply(self.mapped_two[at], found.mean, found.factor, self.two[3], residual[at], result[at])

        def settle() -> None:
            scale = (self.one, self.two)[len(self.memory)][2]
            self.memory.append(self._statistics([piece for thread in seen for piece in thread], scale))
            for thread in seen:
                thread.clear()

        return [(start, settle), (between, settle), (end, None)]

    def _statistics(self, pieces: Sequence[tuple[int, Any, Any]], scale: Any) -> BatchMemory:
        """Of all rows, from each piece's number of rows, mean and sum of squared deviations."""
        count = sum(rows for rows, _, _ in pieces)
        mean = sum(rows * own for rows, own, _ in pieces) / count
        variance = sum(spread + rows * (own - mean) ** 2 for rows, own, spread in pieces) / count
        inverse = 1 / np.sqrt(variance + float(self.eps))
        return BatchMemory(mean.astype(self.dtype), variance, inverse, (inverse * scale).astype(self.dtype))

    def found(self) -> Tensor:
        """Mean and biased variance of what went into each norm, ``(2, 2, C)``."""
        halves = zip(self.memory, (self.one, self.two), strict=True)
        both = [np.stack([memory.mean + half[1], memory.variance]) for memory, half in halves]
        return torch.from_numpy(np.stack(both).astype(self.dtype))

    def backward(self, gradient: Tensor) -> list[Phase]:
        """The phases that fill ``to_x`` and the weights' gradients."""
        from policylearn.kernels.compiled_mlps import batch_back_between, batch_back_end
        from policylearn.kernels.compiled_norms import batch_gradient_sums

        incoming, to_x = self.begin_back(gradient), self.to_x.numpy()
        to_hidden = np.empty_like(self.mapped)
        self.sums = self.room(2)
        first, second = self.memory
        slopes: list[tuple[Any, Any]] = []

        def look(piece: Piece) -> None:
            given = incoming[piece.rows], self.mapped_two[piece.rows], second.mean, second.factor, self.two[3]
            batch_gradient_sums(*given, *self.sums[1, piece.thread])

        def between(piece: Piece) -> None:
            at, thread = piece.rows, piece.thread
            batch_back_between(
                self.gemm, incoming[at], self.mapped[at], self.mapped_two[at], first.mean, first.factor, self.one[3],
                second.mean, second.factor, self.two[3], *slopes[0], self.two[0], to_hidden[at],
                self.to_weights[1][thread], *self.sums[0, thread],
            )  # fmt: skip

        def end(piece: Piece) -> None:
            at = piece.rows
            batch_back_end(
                self.gemm, to_hidden[at], self.x[at], self.mapped[at], first.mean, first.factor, self.one[3],
                *slopes[1], self.one[0], to_x[at], self.to_weights[0][piece.thread],
            )  # fmt: skip

        def settle() -> None:
            half = 1 - len(slopes)
            total, products = self.sums[half].sum(axis=0) / len(self.x)
            slopes.append((total.astype(self.dtype), (products * self.memory[half].inverse ** 2).astype(self.dtype)))

        return [(look, settle), (between, settle), (end, None)]

    def vectors(self) -> Any:
        """See `MLP`."""
        for found, (total, products) in zip(self.memory, self.sums.sum(axis=1), strict=True):
            yield np.zeros_like(total), products * found.inverse, total
