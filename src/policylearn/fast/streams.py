"""One stream of a layer, ``relu(norm(gin([h, p]))) + h``, over lists of rows: a differentiable step, and inference.

A stream is two halves, each a linear map with a norm and a relu. Of what lies between only the outputs of the maps are
kept for the gradient.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, cast

import numpy as np
import torch
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable

from policylearn.fast.rows import Array, RowLists, as_array
from policylearn.nn import RowBatchNorm

CHUNK = 1 << 12
"""Rows that go through an inference together, so few that they stay in the cache."""

Norm = Any
"""`RowBatchNorm` or `RowLayerNorm`."""


class StreamPlan(NamedTuple):
    """A stream besides its weights."""

    lists: RowLists
    marks_of: Array  # the row of the marks that belongs to each row of the features
    norms: Sequence[Norm]  # of both halves, of one kind
    residual: bool  # add the h that came in


def train_stream(plan: StreamPlan, h: Tensor, p: Tensor, values: Tensor | None, weights: Sequence[Tensor]) -> Tensor:
    """What comes out of a stream; batch norms update their running statistics.

    Of features ``(R, C)``, marks ``(R', P)``, which have no channels if the stream reads none, and the edges' vectors
    ``(K, C + P)``. The weights are epsilon of the convolution, then weight, bias, scale and shift of both halves.
    """
    return cast(Tensor, _StreamStep.apply(plan, h, p, values, *weights))  # type: ignore[no-untyped-call]


class _StreamStep(Function):
    @staticmethod
    def forward(ctx: Any, plan: StreamPlan, *given: Tensor | None) -> Tensor:
        from policylearn.fast.loops import sum_messages

        h, p, values, scale, weights = _arrays(given)
        x = np.empty((plan.lists.count, weights[0].shape[1]), h.dtype)
        sum_messages(0, h, p, plan.marks_of, *plan.lists.arrays, values, scale, x)
        one, two = _Half(plan, 0, weights[:4]), _Half(plan, 1, weights[4:])
        out = two.forward(one.forward(x, h[:0]), h if plan.residual else h[:0])
        ctx.save_for_backward(*given)
        ctx.plan, ctx.x, ctx.halves = plan, x, (one, two)
        return torch.from_numpy(out)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> Any:
        from policylearn.fast.loops import sum_messages_gradient

        plan, x, (one, two) = ctx.plan, ctx.x, ctx.halves
        h, p, values, scale, _ = _arrays(ctx.saved_tensors)  # which says so if somebody has changed weights since
        coming = as_array(gradient)
        to_hidden, *to_two = two.backward(coming, one.output(h[:0]))
        to_x, *to_one = one.backward(to_hidden, x)
        to_h, to_p, to_values = np.zeros_like(h), np.zeros_like(p), np.zeros_like(values)
        to_scale = np.zeros(x.shape[1], h.dtype)
        sum_messages_gradient(
            to_x, coming if plan.residual else h[:0], h, p, plan.marks_of, *plan.lists.arrays, values, scale,
            to_h, to_p, to_values, to_scale,
        )  # fmt: skip
        every = to_h, to_p, to_values, to_scale.sum(keepdims=True), *to_one, *to_two
        needed = zip(every, ctx.needs_input_grad[1:], strict=True)
        return None, *(torch.from_numpy(array) if wanted else None for array, wanted in needed)


def _arrays(given: Sequence[Tensor | None]) -> tuple[Array, Array, Array, Any, list[Array]]:
    """Features, marks, the edges' values and the scale of a row's own state as loops take them, and the weights."""
    h, p, values, eps, *weights = (None if one is None else as_array(one) for one in given)
    assert h is not None
    assert p is not None
    assert eps is not None
    edges = np.empty((0, 0), h.dtype) if values is None else values
    return h, p, edges, h.dtype.type(1 + eps[0]), cast(list[Array], weights)


def multiply(a: Array, b: Array, out: Array) -> Array:
    """``out = a @ b``, by torch."""
    torch.mm(torch.from_numpy(a), torch.from_numpy(b), out=torch.from_numpy(out))
    return out


class _Half:
    """A linear map with its norm and relu, on the way through both passes; the first (0) or the second (1)."""

    def __init__(self, plan: StreamPlan, place: int, weights: Sequence[Array]) -> None:
        self.lists, self.norm = plan.lists, plan.norms[place]
        self.weight, self.bias, self.scale, self.shift = weights
        self.by_batch, self.eps = isinstance(self.norm, RowBatchNorm), self.scale.dtype.type(self.norm.eps)
        self.before, self.factor, self.known = self.bias, self.scale, False

    def forward(self, x: Array, residual: Array) -> Array:
        """What comes out, plus the rows of the residual; the statistics of a batch norm are in double precision."""
        from policylearn.fast.loops import batch_statistics

        count, dtype = len(x), x.dtype
        self.mapped = multiply(x, self.weight.T, np.empty((count, len(self.weight)), dtype))
        self.rows = np.empty((0 if self.by_batch else count, 2), dtype)  # mean and inverse deviation of each
        if self.by_batch:
            self.before, self.factor, self.found = batch_statistics(
                self.mapped, self.bias, self.scale, self.eps, self.lists.weights, self.lists.total
            )
            mean, variance, _ = torch.from_numpy(self.found).to(self.norm.weight.dtype)
            self.norm.update_running_stats(mean, variance, self.lists.total)
        out = self.output(residual)
        self.known = True
        return out

    def output(self, residual: Array) -> Array:
        """What came out, once more."""
        from policylearn.fast.loops import norm_relu

        out = np.empty_like(self.mapped)
        norm_relu(
            self.mapped, self.before, self.factor, self.shift, self.eps, self.rows, self.known, residual,
            self.lists.own, out,
        )  # fmt: skip
        return out

    def backward(self, gradient: Array, x: Array) -> tuple[Array, ...]:
        """The gradients of what went in, x, and of weight, bias, scale and shift."""
        from policylearn.fast.loops import batch_gradient, layer_gradient

        behind, vectors = np.empty_like(self.mapped), np.zeros((3, len(self.weight)))
        half = gradient, self.mapped, self.before, self.factor, self.shift
        if self.by_batch:
            batch_gradient(*half, self.found[2], self.lists.weights, self.lists.total, behind, vectors)
        else:
            layer_gradient(*half, self.rows, behind, vectors)
        to_weight = multiply(behind.T, x, np.empty_like(self.weight))
        return multiply(behind, self.weight, np.empty_like(x)), to_weight, *vectors.astype(x.dtype)


class FixedHalf(NamedTuple):
    """A half at inference, where norms need nothing from the batch; see `loops.norm_relu`."""

    weight: Array
    before: Array
    scale: Array
    shift: Array
    eps: Any

    @staticmethod
    def of(norm: Norm, weights: Sequence[Tensor]) -> FixedHalf:
        """One as it is now; a batch norm is in what is added and multiplied with."""
        weight, bias, scale, shift = (as_array(one) for one in weights)
        if isinstance(norm, RowBatchNorm):
            scale = scale / np.sqrt(as_array(norm.running_var) + scale.dtype.type(norm.eps))
            bias = bias - as_array(norm.running_mean)
        return FixedHalf(weight, bias, scale, shift, scale.dtype.type(norm.eps))


class FixedStream(NamedTuple):
    """A stream at inference."""

    halves: tuple[FixedHalf, FixedHalf]
    by_row: bool  # whether norms are layer norms
    values: Array  # the edges' vectors; no columns without edge features
    scale: Any  # of a row's own state
    residual: bool  # add the h that came in

    def __call__(self, lists: RowLists, h: Array, p: Array, marks_of: Array, out: Array) -> None:
        """Fill ``out``, some rows at a time."""
        from policylearn.fast.loops import norm_relu, sum_messages

        one, two = self.halves
        most, nothing = min(CHUNK, lists.count), h[:0]
        x, hidden = (np.empty((most, width), h.dtype) for width in one.weight.shape[::-1])
        statistics, residual = np.empty((most if self.by_row else 0, 2), h.dtype), h if self.residual else nothing
        for start in range(0, lists.count, CHUNK):
            new = out[start : start + CHUNK]
            heard, inner = x[: len(new)], hidden[: len(new)]
            sum_messages(start, h, p, marks_of, *lists.arrays, self.values, self.scale, heard)
            multiply(heard, one.weight.T, inner)
            norm_relu(inner, *one[1:], statistics, False, nothing, lists.own, inner)
            multiply(inner, two.weight.T, new)
            norm_relu(new, *two[1:], statistics, False, residual, lists.own[start:], new)
