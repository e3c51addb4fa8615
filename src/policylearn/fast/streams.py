"""One stream of a layer, ``relu(norm(gin([h, p]))) + h``, over lists of rows: a differentiable step, and inference.

A stream is two halves, each a linear map with a norm and a relu. Of what lies between only the outputs of the maps are
kept for the gradient.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, cast

import numpy as np
import torch
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable

from policylearn.fast.rows import Array, RowLists, as_array

CompiledNorm = Literal["batch", "layer"]

CHUNK = 1 << 9
"""Rows that go through a loop and a product together: so few that they stay in the cache."""


class StreamPlan(NamedTuple):
    """A stream besides its weights.

    Args:
        lists: its rows.
        marks_of: the row of the marks that each row of the features has.
        norm: of both halves.
        eps: what each of them adds to variances.
        residual: add the h that came in.
    """

    lists: RowLists
    marks_of: Array
    norm: CompiledNorm
    eps: tuple[float, float]
    residual: bool


def train_stream(
    plan: StreamPlan, h: Tensor, p: Tensor, values: Tensor | None, weights: Sequence[Tensor]
) -> tuple[Tensor, list[Array]]:
    """What comes out of a stream, and the mean and biased variance that each of its batch norms found.

    Args:
        plan: rows and settings.
        h: features.
        p: marks; without channels if the stream reads none.
        values: the edges' vectors; None without edge features.
        weights: epsilon of the convolution, then weight, bias, scale and shift of both halves.

    Shapes:
        h ``(R, C)``, p ``(R', P)``, values ``(K, C + P)``; mean and variance ``(2, C)``.
    """
    found: list[Array] = []  # handed over beside the tensors: autograd has nothing to do with it
    out = _StreamStep.apply(plan, found, h, p, values, *weights)  # type: ignore[no-untyped-call]
    return cast(Tensor, out), found


class _StreamStep(Function):
    @staticmethod
    def forward(ctx: Any, plan: StreamPlan, found: list[Array], *given: Tensor | None) -> Tensor:
        from policylearn.fast.loops import sum_messages

        h, p, values, scale, *weights = _sources(given)
        lists, dtype = plan.lists, weights[0].dtype
        x = torch.empty(lists.count, weights[0].shape[1], dtype=dtype)
        one, two = _Half(plan, plan.eps[0], weights[:4]), _Half(plan, plan.eps[1], weights[4:])
        for rows in _chunks(lists.count):
            sum_messages(h, p, plan.marks_of, *lists.part(rows), values, scale, x[rows].numpy())
            one.take(x[rows], rows)
        one.settle()
        for rows in _chunks(lists.count):
            two.take(one.output(rows), rows)
        two.settle()
        out = torch.empty(two.mapped.shape, dtype=dtype)
        for rows in _chunks(lists.count):
            two.output(rows, out[rows], h if plan.residual else None)
        found += [*one.found, *two.found]
        ctx.save_for_backward(*given)
        ctx.plan, ctx.x, ctx.halves = plan, x, (one, two)
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> Any:
        from policylearn.fast.loops import sum_messages_gradient

        plan, x, (one, two) = ctx.plan, ctx.x, ctx.halves
        h, p, values, scale, *_ = _sources(ctx.saved_tensors)  # which says so if somebody has changed weights since
        coming, lists = gradient.contiguous(), plan.lists
        to_hidden = torch.empty(one.mapped.shape, dtype=x.dtype)
        to_h, to_p, to_values = (np.zeros_like(array) for array in (h, p, values))
        to_scale, nothing = np.zeros(x.shape[1], h.dtype), h[:0]
        one.begin_gradient()
        two.begin_gradient()
        for rows in _chunks(lists.count):
            two.see_gradient(coming[rows], rows)
        for rows in _chunks(lists.count):
            two.gradient(coming[rows], rows, one.output(rows), to_hidden[rows])
            one.see_gradient(to_hidden[rows], rows)
        to_x = torch.empty(min(CHUNK, lists.count), x.shape[1], dtype=x.dtype)
        for rows in _chunks(lists.count):
            heard = to_x[: rows.stop - rows.start]
            one.gradient(to_hidden[rows], rows, x[rows], heard)
            residual = coming[rows].numpy() if plan.residual else nothing
            sum_messages_gradient(
                heard.numpy(), residual, h, p, plan.marks_of, *lists.part(rows), values, scale,
                to_h, to_p, to_values, to_scale,
            )  # fmt: skip
        to_states = (torch.from_numpy(array) for array in (to_h, to_p, to_values))
        to_given = zip(ctx.needs_input_grad[2:5], to_states, strict=True)
        to_eps = torch.from_numpy(to_scale).sum().reshape(1)
        needed = (state if wanted else None for wanted, state in to_given)
        return None, None, *needed, to_eps, *one.gradients(), *two.gradients()


def _chunks(count: int) -> Iterator[slice]:
    """Neighbouring rows that go through a loop and a product together."""
    for start in range(0, count, CHUNK):
        yield slice(start, min(start + CHUNK, count))


def _sources(given: Sequence[Tensor | None]) -> tuple[Any, ...]:
    """Features, marks, the edges' values and the scale of a row's own state as loops take them, then the weights."""
    h, p, values, eps, *weights = cast(Sequence[Any], given)
    own = as_array(h)
    edges = np.empty((0, 0), own.dtype) if values is None else as_array(values)
    return own, as_array(p), edges, own.dtype.type(1 + eps.item()), *weights


class _Half:
    """A linear map with its norm and relu, on the way through both passes, some rows at a time.

    Args:
        plan: of the stream.
        eps: what the norm adds to variances.
        weights: weight and bias of the map, scale and shift of the norm.
    """

    def __init__(self, plan: StreamPlan, eps: float, weights: Sequence[Tensor]) -> None:
        self.weight, bias, scale, shift = weights
        self.bias, self.scale, self.shift = as_array(bias), as_array(scale), as_array(shift)
        count, width = plan.lists.count, len(self.weight)
        self.dtype, self.own, self.by_batch = self.scale.dtype, plan.lists.own, plan.norm == "batch"
        self.eps, self.known = self.dtype.type(eps), False
        self.whole = torch.empty(count, width, dtype=self.weight.dtype)
        self.mapped, self.scratch = self.whole.numpy(), self.whole.new_empty(min(CHUNK, count), width)
        self.rows = np.empty((0 if self.by_batch else count, 2), self.dtype)
        self.before, self.factor = self.bias, self.scale
        self.found: list[Array] = []
        if self.by_batch:
            assert plan.lists.weights is not None, "rows of batch norms have weights"
            self.counted, self.total = plan.lists.weights.astype(self.dtype), plan.lists.total
            # Others, as of an unmarked graph that is not in the bag, may lie far off.
            self.first = int(np.argmax(self.counted > 0))
            self.sums = np.zeros((2, width))

    def take(self, x: Tensor, rows: slice) -> None:
        """Map some rows, the next ones, and note what the statistics of a batch norm are made of."""
        from policylearn.fast.loops import column_sums

        torch.mm(x, self.weight.t(), out=self.whole[rows])
        if self.by_batch and rows.stop > self.first:
            column_sums(self.mapped[rows], self.mapped[self.first], self.counted[rows], self.sums)

    def settle(self) -> None:
        """With all rows taken: the statistics of a batch norm, in double precision."""
        if self.by_batch:
            offset = self.sums[0] / self.total
            mean, variance = self.mapped[self.first] + offset, self.sums[1] / self.total - offset**2
            self.inverse = 1 / np.sqrt(variance + self.eps)
            self.before, self.factor = (-mean).astype(self.dtype), (self.inverse * self.scale).astype(self.dtype)
            self.found.append(np.stack([mean + self.bias, variance]).astype(self.dtype))

    def output(self, rows: slice, out: Tensor | None = None, residual: Array | None = None) -> Tensor:
        """What comes out of some rows, plus a residual; in memory that the next call takes, if no other is given."""
        from policylearn.fast.loops import norm_relu

        mapped = self.mapped[rows]
        out = self.scratch[: len(mapped)] if out is None else out
        norm_relu(
            mapped, self.before, self.factor, self.shift, self.eps, self.rows[rows], self.known,
            mapped[:0] if residual is None else residual, self.own[rows], out.numpy(),
        )  # fmt: skip
        return out

    def begin_gradient(self) -> None:
        """With nothing seen of the gradient yet."""
        self.known = True  # of layer norms, the statistics of each row
        self.to_weight = torch.zeros_like(self.weight)
        self.vectors = np.zeros((3, len(self.weight)))  # of what is added, scale and shift
        self.slopes: tuple[Array, Array] | None = None

    def see_gradient(self, gradient: Tensor, rows: slice) -> None:
        """Note what the gradient of a batch norm needs of all rows."""
        from policylearn.fast.loops import batch_gradient_sums

        if self.by_batch:
            half = gradient.numpy(), self.mapped[rows], self.before, self.factor, self.shift
            batch_gradient_sums(*half, self.vectors[2], self.vectors[1])

    def gradient(self, gradient: Tensor, rows: slice, x: Tensor, to_x: Tensor) -> None:
        """From the gradient of what came out to that of what went in, x; that of the weight is added up."""
        from policylearn.fast.loops import batch_gradient, layer_gradient

        behind = torch.empty(len(x), len(self.weight), dtype=self.weight.dtype)
        half = gradient.numpy(), self.mapped[rows], self.before, self.factor, self.shift
        if self.by_batch:
            if self.slopes is None:
                _, products, total = self.vectors / self.total
                self.slopes = total.astype(self.dtype), (products * self.inverse**2).astype(self.dtype)
            batch_gradient(*half, self.counted[rows], *self.slopes, behind.numpy())
        else:
            layer_gradient(*half, self.rows[rows], behind.numpy(), self.vectors)
        self.to_weight.addmm_(behind.t(), x)
        torch.mm(behind, self.weight, out=to_x)

    def gradients(self) -> list[Tensor]:
        """Those of weight, bias, scale and shift; a bias in front of a batch norm has no effect."""
        if self.by_batch:
            self.vectors[1] *= self.inverse
        return [self.to_weight, *torch.from_numpy(self.vectors.astype(self.dtype))]


@dataclass(frozen=True)
class FixedStream:
    """A stream at inference, where norms need nothing from the batch.

    Args:
        halves: weight, what is added behind the map, scale, shift and epsilon of each half, see `loops.norm_relu`.
        by_row: whether norms are layer norms.
        values: the edges' vectors; without columns if there are none.
        scale: of a row's own state.
        residual: add the h that came in.
    """

    halves: Sequence[tuple[Tensor, Array, Array, Array, Any]]
    by_row: bool
    values: Array
    scale: Any
    residual: bool

    def __call__(self, lists: RowLists, h: Array, p: Array, marks_of: Array, out: Array) -> None:
        """Fill ``out``, some rows at a time."""
        from policylearn.fast.loops import norm_relu, sum_messages

        (weight, *one), (weight_two, *two) = self.halves
        whole, most = torch.from_numpy(out), min(CHUNK, lists.count)
        x, hidden = (torch.empty(most, width, dtype=weight.dtype) for width in weight.shape[::-1])
        statistics = np.empty((most if self.by_row else 0, 2), h.dtype)
        nothing = h[:0]
        for rows in _chunks(lists.count):
            own, heard, inner, new = (
                lists.own[rows],
                *(one[: rows.stop - rows.start] for one in (x, hidden)),
                whole[rows],
            )
            sum_messages(h, p, marks_of, *lists.part(rows), self.values, self.scale, heard.numpy())
            torch.mm(heard, weight.t(), out=inner)
            norm_relu(inner.numpy(), *one, statistics, False, nothing, own, inner.numpy())
            torch.mm(inner, weight_two.t(), out=new)
            norm_relu(new.numpy(), *two, statistics, False, h if self.residual else nothing, own, new.numpy())
