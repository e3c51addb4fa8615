"""The mlp of a GIN with its norms, relus and a residual over pieces of the rows, forward and backward.

With layer norms a piece goes through all of it in one call. Batch norms need the statistics of all rows, so that pieces
go through phases and threads meet between them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from policylearn.fast.gemm import product_address
from policylearn.fast.rows import RowLists
from policylearn.fast.threads import Array, Piece, Pieces, Work, each_of

WorkPhase = tuple[Work, Callable[[], None] | None]
"""What is done with each piece, and with all of them before the next phase; None if there is nothing to wait for."""


@dataclass(frozen=True)
class Stages:
    """What pieces go through: ``before`` together with the first phase, then the other phases."""

    pieces: Pieces
    phases: Sequence[WorkPhase]
    before: tuple[Work, ...] = ()


def run_phases(streams: Sequence[Stages]) -> None:
    """Take the pieces of streams that work side by side through their phases, of which all have as many."""
    for number in range(len(streams[0].phases)):
        each_of([(one.pieces, (*(() if number else one.before), one.phases[number][0])) for one in streams])
        for one in streams:
            meet = one.phases[number][1]
            if meet is not None:
                meet()


class CompiledMLP:
    """What both kinds share: the weights, and the rows that are kept for the gradient.

    Args:
        flat: weight, bias, scale and shift of each half.
        eps: what the norm of each half adds to variances.
        rows: of which the mlp's are the ones that come out.
        x: the rows that go in.
    """

    memory: Any

    def __init__(
        self,
        flat: Sequence[Array],
        eps: Sequence[float],
        rows: RowLists,
        x: Array,
    ) -> None:
        self.dtype = x.dtype
        self.halves = [(*flat[at : at + 4], self.dtype.type(own)) for at, own in zip((0, 4), eps, strict=True)]
        self.rows, self.width, self.pieces = rows, rows.width, rows.pieces()
        self.x, self.mapped = x, [np.empty((len(x), len(half[0])), self.dtype) for half in self.halves]
        self.gemm = product_address(self.dtype)

    @property
    def outputs(self) -> int:
        """Channels that come out."""
        return self.mapped[1].shape[1]

    def forward(self, residual: Array, out: Array) -> list[WorkPhase]:
        """The phases that fill ``out``, ``(R, C)``; the residual may be without rows."""
        raise NotImplementedError

    def found(self) -> list[Array]:
        """Mean and biased variance of what went into each norm, ``(2, C)``; nothing of layer norms."""
        raise NotImplementedError

    def backward(self, gradient: Array) -> list[WorkPhase]:
        """The phases that fill ``to_x`` and the weights' gradients."""
        raise NotImplementedError

    def begin_backward(self, count: int) -> None:
        """Room for the gradients; sums over rows are each thread's own, ``(threads, count, C)`` in double precision."""
        threads = self.pieces.threads
        self.to_x = np.empty_like(self.x)
        self.to_weights = [np.zeros((threads, *half[0].shape), self.dtype) for half in self.halves]
        self.sums = [np.zeros((threads, count, self.width * len(half[0]))) for half in self.halves]

    def vectors(self, half: int) -> Sequence[Array]:
        """Gradients of a half's bias, scale and shift."""
        raise NotImplementedError

    def gradients(self) -> list[Array]:
        """Gradients of ``flat``."""
        found: list[Array] = []
        for half, weight in enumerate(self.to_weights):
            found += [
                weight[0] if len(weight) == 1 else weight.sum(axis=0),
                *(vector.astype(self.dtype) for vector in self.vectors(half)),
            ]
        return found


class LayerNormMLP(CompiledMLP):
    """With layer norms, which know each row alone."""

    def forward(self, residual: Array, out: Array) -> list[WorkPhase]:
        """See `CompiledMLP`."""
        from policylearn.fast.mlp_loops import mlp_forward

        self.memory = np.empty((2, 2, len(self.x)), self.dtype)  # mean and inverse deviation of each row

        def work(piece: Piece) -> None:
            at = piece.rows
            mapped, mapped_two = (rows[at] for rows in self.mapped)
            rows, rows_two = (kept[:, at] for kept in self.memory)
            mlp_forward(
                self.gemm, self.x[at], *self.halves, True, residual[at], mapped, mapped_two, out[at], rows, rows_two
            )

        return [(work, None)]

    def found(self) -> list[Array]:
        """See `CompiledMLP`."""
        return []

    def backward(self, gradient: Array) -> list[WorkPhase]:
        """See `CompiledMLP`."""
        from policylearn.fast.mlp_loops import layer_backward

        self.begin_backward(3)
        to_x = self.to_x

        def work(piece: Piece) -> None:
            at, thread = piece.rows, piece.thread
            layer_backward(
                self.gemm, gradient[at], self.x[at], *self.halves, *(rows[at] for rows in self.mapped),
                *(kept[:, at] for kept in self.memory), to_x[at], *(weight[thread] for weight in self.to_weights),
                *(sums[thread] for sums in self.sums),
            )  # fmt: skip

        return [(work, None)]

    def vectors(self, half: int) -> Sequence[Array]:
        """See `CompiledMLP`."""
        total: Array = self.sums[half].sum(axis=0)
        return list(total)


@dataclass(frozen=True)
class Statistics:
    """What a batch norm found, in double precision: mean, biased variance, inverse deviation, ``(width * C,)`` each."""

    mean: Array
    variance: Array
    inverse: Array

    @staticmethod
    def of(pieces: Sequence[tuple[float, Array, Array]], eps: float) -> Statistics:
        """Of all rows, from each piece's weight, mean and sum of squared deviations."""
        count = sum(rows for rows, _, _ in pieces)
        mean = sum(rows * own for rows, own, _ in pieces) / count
        variance = sum(spread + rows * (own - mean) ** 2 for rows, own, spread in pieces) / count
        return Statistics(np.asarray(mean), np.asarray(variance), 1 / np.sqrt(variance + eps))


class BatchNormMLP(CompiledMLP):
    """With batch norms that take the statistics of all rows, or of each of ``width`` copies.

    For the latter the copies of a node are one wide row. A row that stands for several counts as often. The bias in
    front of a batch norm changes nothing but the mean, so it is left out and its gradient is exactly zero.
    """

    def wide(self, rows: Array) -> Array:
        """The copies of a node in one row, ``(R, C) -> (R / width, width * C)``."""
        return rows if self.width == 1 else rows.reshape(len(rows) // self.width, self.width * rows.shape[1])

    @cached_property
    def all_weights(self) -> Array:
        """How often each (wide) row counts."""
        assert self.rows.weights is not None, "rows of batch norms have weights"
        return np.ascontiguousarray(self.rows.weights[:: self.width], self.dtype)

    def weights(self, piece: Piece) -> Array:
        """The same of a piece."""
        weights: Array = self.all_weights[piece.rows.start // self.width : piece.rows.stop // self.width]
        return weights

    def normed(self, half: int) -> tuple[Any, ...]:
        """A half with its statistics, as the compiled loops take it."""
        weight, _, scale, shift, eps = self.halves[half]
        found: Statistics = self.memory[half]
        if self.width > 1:
            scale, shift = np.tile(scale, self.width), np.tile(shift, self.width)
        factor = (found.inverse * scale).astype(self.dtype)
        return weight, -found.mean.astype(self.dtype), factor, shift, eps

    def forward(self, residual: Array, out: Array) -> list[WorkPhase]:
        """See `CompiledMLP`."""
        from policylearn.fast.mlp_loops import batch_between, batch_map, first_counted, norm_relu

        self.memory = []
        normed: list[tuple[Any, ...]] = []
        seen: list[list[tuple[float, Array, Array]]] = [[] for _ in range(self.pieces.threads)]

        def note(piece: Piece, rows: Array, weights: Array, sums: Array) -> None:
            count = float(weights.sum())
            if count:
                offset, base = sums[0] / count, rows[first_counted(weights)]
                seen[piece.thread].append((count, base + offset, sums[1] - count * offset**2))

        def start(piece: Piece) -> None:
            mapped = self.wide(self.mapped[0][piece.rows])
            sums, weights = np.zeros((2, mapped.shape[1])), self.weights(piece)
            batch_map(self.gemm, self.x[piece.rows], self.halves[0][0], mapped, weights, sums)
            note(piece, mapped, weights, sums)

        def between(piece: Piece) -> None:
            mapped, mapped_two = (self.wide(rows[piece.rows]) for rows in self.mapped)
            sums, weights = np.zeros((2, mapped_two.shape[1])), self.weights(piece)
            batch_between(self.gemm, mapped, normed[0], self.halves[1][0], mapped_two, weights, sums)
            note(piece, mapped_two, weights, sums)

        def end(piece: Piece) -> None:
            mapped, added, new = (self.wide(rows[piece.rows]) for rows in (self.mapped[1], residual, out))
            norm_relu(mapped, *normed[1][1:], False, added, new, mapped[0], mapped[0])

        def meet() -> None:
            half = len(self.memory)
            pieces = [piece for thread in seen for piece in thread]
            self.memory.append(Statistics.of(pieces, float(self.halves[half][4])))
            normed.append(self.normed(half))
            for thread in seen:
                thread.clear()

        return [(start, meet), (between, meet), (end, None)]

    def found(self) -> list[Array]:
        """See `CompiledMLP`; with several copies the mean of theirs."""
        found = []
        for half, own in zip(self.halves, self.memory, strict=True):
            mean, variance = own.mean, own.variance
            if self.width > 1:
                mean, variance = (one.reshape(self.width, -1).mean(0) for one in (mean, variance))
            both = np.empty((2, len(mean)), self.dtype)
            np.add(mean, half[1], out=both[0], casting="unsafe")
            both[1] = variance
            found.append(both)
        return found

    def backward(self, gradient: Array) -> list[WorkPhase]:
        """See `CompiledMLP`."""
        from policylearn.fast.mlp_loops import batch_back_between, batch_back_end, batch_gradient_sums

        self.begin_backward(2)
        to_x, to_hidden = self.to_x, np.empty_like(self.mapped[0])
        one, two = self.normed(0), self.normed(1)
        slopes: list[tuple[Array, Array]] = []

        def look(piece: Piece) -> None:
            incoming, mapped_two = (self.wide(rows[piece.rows]) for rows in (gradient, self.mapped[1]))
            batch_gradient_sums(incoming, mapped_two, two, self.sums[1][piece.thread])

        def between(piece: Piece) -> None:
            parts = (gradient, *self.mapped, to_hidden)
            incoming, mapped, mapped_two, hidden = (self.wide(rows[piece.rows]) for rows in parts)
            batch_back_between(
                self.gemm, incoming, mapped, mapped_two, one, two, self.weights(piece), *slopes[0], hidden,
                self.to_weights[1][piece.thread], self.sums[0][piece.thread],
            )  # fmt: skip

        def end(piece: Piece) -> None:
            at, (hidden, mapped) = piece.rows, (self.wide(rows[piece.rows]) for rows in (to_hidden, self.mapped[0]))
            batch_back_end(
                self.gemm, hidden, self.x[at], mapped, one, self.weights(piece), *slopes[1], to_x[at],
                self.to_weights[0][piece.thread],
            )  # fmt: skip

        def meet() -> None:
            half = 1 - len(slopes)
            total, products = self.sums[half].sum(axis=0) / (self.rows.total // self.width)
            slope = products * self.memory[half].inverse ** 2
            slopes.append((total.astype(self.dtype), slope.astype(self.dtype)))

        return [(look, meet), (between, meet), (end, None)]

    def vectors(self, half: int) -> Sequence[Array]:
        """See `CompiledMLP`."""
        total, products = self.sums[half].sum(axis=0)
        products = (products * self.memory[half].inverse).reshape(self.width, -1).sum(0)
        total = total.reshape(self.width, -1).sum(0)
        return np.zeros_like(total), products, total
