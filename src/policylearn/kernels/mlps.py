"""The mlp of a GIN with its norms, relus and a residual as one differentiable step, piece by piece, for the CPU."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable

from policylearn.kernels.arrays import as_array, rows_or_none
from policylearn.kernels.threads import Piece, Pieces

PIECE = 1 << 11
"""Rows of a piece: so many that a call is worth it, so few that what belongs to them is still in the cache."""

FusedNorm = Literal["batch", "layer"]


class Affine(NamedTuple):
    """A linear map and the scale and shift of the norm behind it.

    Shapes:
        weight ``(C_out, C_in)``; bias, scale and shift ``(C_out,)``.
    """

    weight: Tensor
    bias: Tensor
    scale: Tensor
    shift: Tensor


def gin_mlp(
    summed: Tensor, first: Affine, second: Affine, norm: FusedNorm, eps: float, residual: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """``relu(norm(linear(relu(norm(linear(x)))))) + residual``, and what batch norms found.

    Args:
        summed: the rows x.
        first: first map and norm.
        second: second map and norm.
        norm: with the statistics of all rows (`batch`) or of each row (`layer`).
        eps: added to variances.
        residual: added last.

    Shapes:
        summed ``(R, C_in)``; residual and result ``(R, C)``; found ``(2, 2, C)``: of each norm mean and biased variance
        of what went in, ``(0,)`` for layer norms.
    """
    out: tuple[Tensor, Tensor] = _GinMLP.apply(norm, eps, summed, residual, *first, *second)  # type: ignore[no-untyped-call]
    return out


class _GinMLP(Function):
    @staticmethod
    def forward(ctx: Any, norm: FusedNorm, eps: float, x: Tensor, residual: Tensor | None, *flat: Tensor) -> Any:
        x = x.detach().contiguous()
        pieces = Pieces(np.arange(len(x) + 1), PIECE)
        mlp = build_mlp(norm, eps, flat, pieces.threads, x)
        added = rows_or_none(residual, x)
        out = torch.empty_like(mlp.kept[2])
        go(pieces, [mlp.forward(added, out)])
        ctx.save_for_backward(*mlp.kept, *flat)
        ctx.norm, ctx.eps, ctx.memory = norm, eps, mlp.memory
        found = mlp.found()
        ctx.mark_non_differentiable(found)
        return out, found

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor, _: Any) -> Any:
        kept, flat = ctx.saved_tensors[:3], ctx.saved_tensors[3:]
        pieces = Pieces(np.arange(len(gradient) + 1), PIECE)
        mlp = build_mlp(ctx.norm, ctx.eps, flat, pieces.threads, *kept, memory=ctx.memory)
        go(pieces, [mlp.backward(gradient)])
        return None, None, mlp.to_x, gradient if ctx.needs_input_grad[3] else None, *mlp.gradients()


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


class LayerMLP(MLP):
    """With layer norms, which know each row alone."""

    def forward(self, residual: Any, out: Tensor) -> list[Phase]:
        """The phases that fill ``out``, ``(R, C)``."""
        from policylearn.kernels.compiled_mlps import layer_forward

        self.memory = np.empty((2, 2, len(self.x)), self.dtype)  # mean and inverse deviation of each row
        result = out.numpy()

        def work(piece: Piece) -> None:
            at = piece.rows
            layer_forward(
                self.gemm, self.x[at], self.one, self.two, self.eps, residual[at], self.mapped[at], self.mapped_two[at],
                self.memory[0][:, at], self.memory[1][:, at], result[at],
            )  # fmt: skip

        return [(work, None)]

    def found(self) -> Tensor:
        """Nothing that would be of use later."""
        return torch.empty(0)

    def backward(self, gradient: Tensor) -> list[Phase]:
        """The phases that fill ``to_x`` and the weights' gradients."""
        from policylearn.kernels.compiled_mlps import layer_backward

        incoming, to_x = self.begin_back(gradient), self.to_x.numpy()
        self.sums = self.room(3)

        def work(piece: Piece) -> None:
            at, thread = piece.rows, piece.thread
            layer_backward(
                self.gemm, incoming[at], self.x[at], self.one, self.two, self.eps, self.mapped[at],
                self.mapped_two[at], self.memory[0][:, at], self.memory[1][:, at], to_x[at],
                self.to_weights[0][thread], self.to_weights[1][thread], self.sums[0, thread], self.sums[1, thread],
            )  # fmt: skip

        return [(work, None)]

    def vectors(self) -> Any:
        """See `MLP`."""
        return self.sums.sum(axis=1)


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


def build_mlp(
    norm: FusedNorm, eps: float, flat: Sequence[Tensor], threads: int, x: Tensor, *mapped: Tensor, memory: Any = None
) -> LayerMLP | BatchMLP:
    """The mlp with that norm; the arguments are those of `MLP`."""
    return (BatchMLP if norm == "batch" else LayerMLP)(eps, flat, threads, x, *mapped, memory=memory)
