"""Half of a GIN's mlp with what follows: a linear map, a norm, a relu and a residual, piece by piece.

A half that needs statistics of all rows has every piece looked at before any is finished; both directions go
`map`/`look`, then `settle`, then `finish`/`back`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
import torch
from torch import Tensor

from policylearn.kernels.arrays import as_array, rows_or_none
from policylearn.kernels.threads import Piece


class Affine(NamedTuple):
    """A linear map and the scale and shift of the norm behind it.

    Shapes:
        weight ``(C_out, C_in)``; bias, scale and shift ``(C_out,)``.
    """

    weight: Tensor
    bias: Tensor
    scale: Tensor
    shift: Tensor


class Half(Protocol):
    """``relu(norm(linear(x))) + residual`` over pieces of the rows, forward and backward."""

    waits: bool
    """Whether all pieces must be looked at before one can be finished."""
    mapped: Tensor
    """The linear map's outputs, ``(R, C_out)``; with `memory` all that the backward pass needs."""
    memory: Any
    """What `settle` and `finish` found."""

    def map(self, piece: Piece, x: Tensor) -> None:
        """The linear map of the piece's rows, ``(r, C_in)``."""

    def settle(self) -> None:
        """Called when all pieces are mapped."""

    def finish(self, piece: Piece, residual: Tensor | None, out: Tensor) -> Tensor:
        """Norm, relu and residual of the piece's rows into ``out``, ``(r, C_out)``."""

    def look(self, piece: Piece, gradient: Tensor) -> None:
        """See the gradient of the piece's rows, ``(r, C_out)``."""

    def settle_back(self) -> None:
        """Called when all gradients are seen."""

    def back(self, piece: Piece, gradient: Tensor) -> Tensor:
        """The gradient behind the linear map, ``(r, C_out)``."""

    def vectors(self) -> tuple[Tensor, Tensor, Tensor]:
        """Gradients of bias, scale and shift, ``(C_out,)``."""


class _Mapped:
    def __init__(self, affine: Affine, eps: float, mapped: Tensor, threads: int) -> None:
        self.eps, self.threads, self.mapped = eps, threads, mapped
        self.transposed = affine.weight.detach().t()
        self.array = mapped.numpy()
        self.bias, self.scale, self.shift = (as_array(vector) for vector in affine[1:])

    def map(self, piece: Piece, x: Tensor) -> None:
        torch.mm(x, self.transposed, out=self.mapped[piece.rows])

    def sums(self, count: int) -> Any:
        """Room for sums over the rows, each thread's own, ``(threads, count, C)`` in double precision."""
        return np.zeros((self.threads, count, self.array.shape[1]))

    def tensors(self, vectors: Sequence[Any]) -> tuple[Tensor, Tensor, Tensor]:
        bias, scale, shift = (torch.from_numpy(vector.astype(self.array.dtype)) for vector in vectors)
        return bias, scale, shift


class LayerNormHalf(_Mapped):
    """With a layer norm, which knows each row alone."""

    waits = False

    def __init__(self, affine: Affine, eps: float, mapped: Tensor, threads: int, memory: Any = None) -> None:
        super().__init__(affine, eps, mapped, threads)
        # Each row's mean and inverse deviation.
        self.memory = np.empty((2, len(mapped)), self.array.dtype) if memory is None else memory
        self.found = self.sums(3)

    def settle(self) -> None:
        """Nothing to wait for."""

    def finish(self, piece: Piece, residual: Tensor | None, out: Tensor) -> Tensor:
        """See `Half`."""
        from policylearn.kernels.compiled_norms import layer_apply

        at = piece.rows
        eps = self.array.dtype.type(self.eps)
        layer_apply(
            self.array[at], self.bias, self.scale, self.shift, eps, rows_or_none(residual, out), out.numpy(),
            *self.memory[:, at],
        )  # fmt: skip
        return out

    def look(self, piece: Piece, gradient: Tensor) -> None:
        """Nothing to see yet."""

    def settle_back(self) -> None:
        """Nothing to wait for."""

    def back(self, piece: Piece, gradient: Tensor) -> Tensor:
        """See `Half`."""
        from policylearn.kernels.compiled_norms import layer_gradient

        at = piece.rows
        out = torch.empty_like(gradient)
        layer_gradient(
            gradient.numpy(), self.array[at], self.bias, self.scale, self.shift, *self.memory[:, at],
            out.numpy(), *self.found[piece.thread],
        )  # fmt: skip
        return out

    def vectors(self) -> tuple[Tensor, Tensor, Tensor]:
        """See `Half`."""
        return self.tensors(self.found.sum(axis=0))


class BatchMemory(NamedTuple):
    """Statistics of a batch norm, ``(C,)`` each: mean and factor in the rows' precision, the others in double."""

    mean: Any
    variance: Any
    inverse: Any
    factor: Any


class BatchNormHalf(_Mapped):
    """With a batch norm that takes the statistics of all rows.

    The bias in front of it changes nothing but the mean, so it is left out and its gradient is exactly zero.
    """

    waits = True

    def __init__(
        self, affine: Affine, eps: float, mapped: Tensor, threads: int, memory: BatchMemory | None = None
    ) -> None:
        super().__init__(affine, eps, mapped, threads)
        self.seen: list[list[tuple[int, Any, Any]]] = [[] for _ in range(threads)]
        self.found = self.sums(2)
        if memory is not None:
            self.memory = memory

    def map(self, piece: Piece, x: Tensor) -> None:
        """See `Half`."""
        from policylearn.kernels.compiled_norms import column_sums

        super().map(piece, x)
        rows = self.array[piece.rows]
        total, squares = np.zeros((2, rows.shape[1]))
        column_sums(rows, rows[0], total, squares)
        offset = total / len(rows)
        self.seen[piece.thread].append((len(rows), rows[0] + offset, squares - len(rows) * offset**2))

    def settle(self) -> None:
        """See `Half`."""
        pieces = [piece for thread in self.seen for piece in thread]
        count = sum(rows for rows, _, _ in pieces)
        mean = sum(rows * own for rows, own, _ in pieces) / count
        variance = sum(spread + rows * (own - mean) ** 2 for rows, own, spread in pieces) / count
        inverse = 1 / np.sqrt(variance + self.eps)
        factor = (inverse * self.scale).astype(self.array.dtype)
        self.memory = BatchMemory(mean.astype(self.array.dtype), variance, inverse, factor)

    def finish(self, piece: Piece, residual: Tensor | None, out: Tensor) -> Tensor:
        """See `Half`."""
        from policylearn.kernels.compiled_norms import batch_apply

        added = rows_or_none(residual, out)
        batch_apply(self.array[piece.rows], self.memory.mean, self.memory.factor, self.shift, added, out.numpy())
        return out

    def look(self, piece: Piece, gradient: Tensor) -> None:
        """See `Half`."""
        from policylearn.kernels.compiled_norms import batch_gradient_sums

        given = (gradient.numpy(), self.array[piece.rows], self.memory.mean, self.memory.factor, self.shift)
        batch_gradient_sums(*given, *self.found[piece.thread])

    def settle_back(self) -> None:
        """See `Half`."""
        total, products = self.found.sum(axis=0)
        self.to_shift, self.to_scale = total, products * self.memory.inverse
        self.offset = (total / len(self.array)).astype(self.array.dtype)
        self.slope = (self.to_scale * self.memory.inverse / len(self.array)).astype(self.array.dtype)

    def back(self, piece: Piece, gradient: Tensor) -> Tensor:
        """See `Half`."""
        from policylearn.kernels.compiled_norms import batch_gradient

        out = torch.empty_like(gradient)
        batch_gradient(
            gradient.numpy(), self.array[piece.rows], self.memory.mean, self.memory.factor, self.shift, self.offset,
            self.slope, out.numpy(),
        )  # fmt: skip
        return out

    def vectors(self) -> tuple[Tensor, Tensor, Tensor]:
        """See `Half`."""
        return self.tensors([np.zeros_like(self.to_shift), self.to_scale, self.to_shift])

    def statistics(self) -> Tensor:
        """Mean and biased variance of the linear map's outputs, ``(2, C)``."""
        both = np.stack([self.memory.mean + self.bias, self.memory.variance]).astype(self.array.dtype)
        return torch.from_numpy(both)
