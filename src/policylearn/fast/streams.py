"""The streams of a layer as compiled loops take them: what goes in, lists of rows, weights, and room for results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

import numpy as np

from policylearn.fast.rows import NONE, RowLists
from policylearn.fast.threads import Array

CompiledNorm = Literal["batch", "layer"]
PER_STREAM = 9
"""Tensors of a stream: epsilon, and weight, bias, scale and shift of both halves."""


@dataclass(frozen=True)
class LayerSettings:
    """What a layer is made of besides its weights.

    Args:
        norm: of all places.
        eps: what each norm adds to variances, two per stream.
        residual: add the h that came in.
        streams: how many there are, that of the features first.
    """

    norm: CompiledNorm
    eps: tuple[tuple[float, float], ...]
    residual: bool
    streams: int

    @property
    def tensors(self) -> int:
        """How many it takes: the edges' values and the weights."""
        return 1 + PER_STREAM * self.streams


class StreamRun:
    """One stream of a layer on its way through both passes.

    Args:
        norm: of both halves.
        eps: what they add to variances.
        residual: add the h that came in.
        lists: its rows.
        states: what goes in: rows, marks that stand beside them, and which of these each row has.
        values: the edges' vectors; without columns if there are none.
        flat: the stream's weights.
        out: room for what comes out.
        threads: how many there are.
    """

    def __init__(
        self,
        norm: CompiledNorm,
        eps: tuple[float, float],
        residual: bool,
        lists: RowLists,
        states: tuple[Array, Array, Array],
        values: Array,
        flat: Sequence[Array],
        out: Array,
        threads: int,
    ) -> None:
        h, p, _ = states
        count, dtype = lists.count, h.dtype
        self.lists, self.threads, self.dtype = lists, threads, dtype
        self.states = *states, values, dtype.type(1 + flat[0][0]), residual
        self.halves = (*flat[1:5], dtype.type(eps[0])), (*flat[5:9], dtype.type(eps[1]))
        inner, outer = len(flat[1]), len(flat[5])
        x, mapped, behind = np.empty((count, h.shape[1] + p.shape[1]), dtype), *_rows(count, (inner, outer), dtype)
        self.room = x, mapped, behind, out
        self.batch = norm == "batch"
        self.weights = np.empty(0, dtype)
        self.kept: Any = _rows(2, (count, count), dtype)
        if self.batch:
            width = lists.width
            assert lists.weights is not None, "rows of batch norms have weights"
            self.weights = np.ascontiguousarray(lists.weights[::width], dtype)
            seen = [
                (np.zeros(threads), np.empty((threads, width * one), dtype), np.zeros((threads, 2, width * one)))
                for one in (inner, outer)
            ]
            memory = [(np.empty((2, width * one)), np.empty((2, one), dtype)) for one in (inner, outer)]
            self.kept = (width, float(lists.total // width), *seen, *memory)

    @property
    def forward(self) -> tuple[Any, ...]:
        """As `row_forward` and `batch_forward` take it."""
        return self.states, (*self.lists.lists, self.weights), self.halves, self.room, self.kept

    @property
    def found(self) -> list[Array]:
        """Mean and biased variance of what went into each norm, ``(2, C)``; nothing of layer norms."""
        return [memory[1] for memory in self.kept[4:]] if self.batch else []

    def backward(
        self, gradient: Array, more: Array, others: tuple[Array, Array], arrived: Array
    ) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        """As `row_backward` and `batch_backward` take it: through the mlp, and along the edges.

        Args:
            gradient: of what came out, which the residual hands on.
            more: gradients of other rows' marks, which are rows of this stream.
            others: which of these each row of this stream has, see `NetworkRows.features_of`.
            arrived: a further gradient of the last rows that went in.
        """
        x, mapped, _, _ = self.room
        h, p, _, values, _, _ = self.states
        one, two = (half[0] for half in self.halves)
        width, sums = (self.lists.width, 2) if self.batch else (1, 3)
        threads, dtype = self.threads, self.dtype
        to_x = np.empty_like(x)
        self.to_weights = np.zeros((threads, *one.shape), dtype), np.zeros((threads, *two.shape), dtype)
        self.vectors = np.empty((3, len(one)), dtype), np.empty((3, len(two)), dtype)
        totals = np.zeros((threads, sums, width * len(one))), np.zeros((threads, sums, width * len(two)))
        self.to_h, self.to_marks = np.empty_like(h), np.empty((len(h), p.shape[1]), dtype)
        # Rows of the values are touched by every thread, which therefore each have a table.
        self.to_values = np.zeros((threads, *values.shape), dtype)
        self.to_scale = np.zeros((threads, x.shape[1]), dtype)
        between = (self.weights, self.kept, to_x, np.empty_like(mapped)) if self.batch else (self.kept, to_x)
        through = gradient, self.halves, self.room, *between, self.to_weights, totals, self.vectors
        along = (
            self.states, (*self.lists.hearers, self.lists.kind, *others), (gradient, to_x, more, arrived),
            (self.to_h, self.to_marks, self.to_values, self.to_scale),
        )  # fmt: skip
        return through, along

    def gradients(self) -> list[Array]:
        """Those of the stream's weights, after the backward pass."""
        (weight, weight_two), (own, own_two) = self.to_weights, self.vectors
        return [self.to_scale.sum().reshape(1), weight[0], *own, weight_two[0], *own_two]

    def values_gradient(self) -> Array | None:
        """That of the edges' vectors; None if there are none."""
        if not self.to_values.size:
            return None
        own: Array = self.to_values[0] if self.threads == 1 else self.to_values.sum(axis=0)
        return own


def _rows(count: int, widths: Sequence[int], dtype: Any) -> tuple[Array, ...]:
    return tuple(np.empty((count, width), dtype) for width in widths)


@lru_cache(maxsize=64)
def no_stream(norm: CompiledNorm, dtype: Any, threads: int) -> StreamRun:
    """What stands for the marks where a layer has one stream."""
    nothing, vector = np.empty((0, 0), dtype), np.empty(0, dtype)
    lists = RowLists(0, NONE, np.zeros(1, np.int64), NONE, NONE, vector)
    flat = [np.zeros(1, dtype), *(2 * [nothing, vector, vector, vector])]
    return StreamRun(norm, (0.0, 0.0), False, lists, (nothing, nothing, NONE), nothing, flat, nothing, threads)
