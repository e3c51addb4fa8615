"""A whole layer of two streams as one differentiable step, for the CPU.

All that a piece of the rows goes through is done while the piece is in the processor's cache, by one thread; threads
meet only where a batch norm needs the statistics of all rows. Of what lies between the two maps only the maps' outputs
are kept for the gradient.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable

from policylearn.kernels.arrays import as_array, as_number, rows_or_none
from policylearn.kernels.halves import Affine, BatchNormHalf
from policylearn.kernels.layout import Layout
from policylearn.kernels.norms import PIECE, FusedNorm, build_half
from policylearn.kernels.threads import Piece


@dataclass(frozen=True)
class LayerSpec:
    """What a layer is made of besides its weights.

    Args:
        layout: how the rows hang together.
        norm: of all four places, with batch statistics over all rows or over each row.
        eps: added to variances.
        index: which row of the edges' table each column of ``edge_index`` has; None if there is a vector an edge.
        residual: add the h that came in.
    """

    layout: Layout
    norm: FusedNorm
    eps: float
    index: Tensor | None
    residual: bool


class StreamWeights(NamedTuple):
    """The weights of one stream: a node's own share ``(1,)`` and both halves of the mlp."""

    scale: Tensor
    first: Affine
    second: Affine


class LayerOutput(NamedTuple):
    """New states, and the statistics that batch norms found.

    Shapes:
        h and p ``(R, C)``; statistics ``(4, 2, C)``: features' first and second norm, marks' first and second norm,
        mean and biased variance; ``(0,)`` with layer norms.
    """

    h: Tensor
    p: Tensor
    statistics: Tensor


def two_stream_layer(
    h: Tensor, p: Tensor, features: StreamWeights, marks: StreamWeights, values: Tensor | None, spec: LayerSpec
) -> LayerOutput:
    """``relu(norm(gin([h, p]))) + h`` and ``relu(norm(gin(p)))``.

    Args:
        h: features of every copy.
        p: marks of every copy.
        features: weights of the features' stream.
        marks: weights of the marks' stream.
        values: the edges' vectors: rows of a table, or one a column of ``edge_index``; None without edge features.
        spec: the rest.

    Shapes:
        h ``(R, C)``, p ``(R, P)``, values ``(K, C + P)``.
    """
    flat = (features.scale, *features.first, *features.second, marks.scale, *marks.first, *marks.second)
    return LayerOutput(*_Layer.apply(spec, h, p, values, *flat))  # type: ignore[no-untyped-call]


class _Layer(Function):
    @staticmethod
    def forward(ctx: Any, spec: LayerSpec, h: Tensor, p: Tensor, values: Tensor | None, *flat: Tensor) -> Any:
        h, p = h.contiguous(), p.contiguous()
        run = _Run(spec, h, p, values, flat)
        new_h, new_p = run.forward()
        statistics = run.statistics()
        kept = [tensor for stream in run.streams for tensor in stream.kept]
        ctx.save_for_backward(h, p, values, *kept, *flat)
        ctx.spec, ctx.memories = spec, [stream.memories for stream in run.streams]
        ctx.mark_non_differentiable(statistics)
        ctx.set_materialize_grads(False)
        return new_h, new_p, statistics

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, to_h: Tensor | None, to_p: Tensor | None, _: Any) -> Any:
        h, p, values, *rest = ctx.saved_tensors
        run = _Run(ctx.spec, h, p, values, rest[6:], rest[:6], ctx.memories)
        return None, *run.backward(to_h, to_p)


class _Stream:
    """One stream's mlp over pieces of its summed rows.

    Args:
        weights: four of each half.
        spec: of the layer.
        rows: R.
        threads: how many work on pieces.
        kept: summed rows and both halves' mapped rows, of a forward pass that was made.
        memories: of both halves, likewise.
    """

    def __init__(
        self,
        weights: Sequence[Tensor],
        spec: LayerSpec,
        rows: int,
        threads: int,
        kept: Sequence[Tensor] | None,
        memories: Sequence[Any] | None,
    ) -> None:
        first, second = Affine(*weights[:4]), Affine(*weights[4:])
        self.weights = first.weight.detach(), second.weight.detach()
        if kept is None:
            widths = first.weight.shape[1], len(first.weight), len(second.weight)
            kept = [self.weights[0].new_empty(rows, width) for width in widths]
        one, two = (None, None) if memories is None else memories
        self.summed = kept[0]
        self.first = build_half(spec.norm, first, spec.eps, kept[1], threads, one)
        self.second = build_half(spec.norm, second, spec.eps, kept[2], threads, two)
        self.threads = threads

    @property
    def kept(self) -> list[Tensor]:
        return [self.summed, self.first.mapped, self.second.mapped]

    @property
    def memories(self) -> list[Any]:
        return [self.first.memory, self.second.memory]

    def start(self, piece: Piece) -> None:
        self.first.map(piece, self.summed[piece.rows])

    def between(self, piece: Piece) -> None:
        self.second.map(piece, self._hidden(piece))

    def _hidden(self, piece: Piece) -> Tensor:
        rows = piece.rows.stop - piece.rows.start
        return self.first.finish(piece, None, self.summed.new_empty(rows, len(self.weights[0])))

    def begin_back(self, gradient: Tensor | None) -> None:
        """Room for the gradients, given that of the stream's output, ``(R, C)``."""
        mapped = self.second.mapped
        self.gradient = torch.zeros_like(mapped) if gradient is None else gradient.contiguous()
        self.to_hidden, self.to_summed = torch.empty_like(self.first.mapped), torch.empty_like(self.summed)
        self.to_weights = [weight.new_zeros(self.threads, *weight.shape) for weight in self.weights]

    def look(self, piece: Piece) -> None:
        self.second.look(piece, self.gradient[piece.rows])

    def back_between(self, piece: Piece) -> None:
        at = piece.rows
        to_mapped = self.second.back(piece, self.gradient[at])
        self.to_weights[1][piece.thread].addmm_(to_mapped.t(), self._hidden(piece))
        to_hidden = torch.mm(to_mapped, self.weights[1], out=self.to_hidden[at])
        self.first.look(piece, to_hidden)

    def back_end(self, piece: Piece) -> None:
        at = piece.rows
        to_mapped = self.first.back(piece, self.to_hidden[at])
        self.to_weights[0][piece.thread].addmm_(to_mapped.t(), self.summed[at])
        torch.mm(to_mapped, self.weights[0], out=self.to_summed[at])

    def gradients(self) -> list[Tensor]:
        """Of both halves' weights, in the order of `Affine`."""
        first, second = (one.sum(0) for one in self.to_weights)
        return [first, *self.first.vectors(), second, *self.second.vectors()]


class _Run:
    """One pass over the rows, forward or backward."""

    def __init__(
        self,
        spec: LayerSpec,
        h: Tensor,
        p: Tensor,
        values: Tensor | None,
        flat: Sequence[Tensor],
        kept: Sequence[Tensor] | None = None,
        memories: Sequence[Sequence[Any]] | None = None,
    ) -> None:
        self.spec, self.h, self.p, self.values = spec, h.detach(), p.detach(), values
        self.scales = flat[0], flat[9]
        self.row_ptr = as_array(spec.layout.row_ptr)
        self.pieces = spec.layout.pieces(PIECE)
        self.streams = [
            _Stream(
                flat[1 + 9 * number : 9 + 9 * number],
                spec,
                len(h),
                self.pieces.threads,
                None if kept is None else kept[3 * number : 3 * number + 3],
                None if memories is None else memories[number],
            )
            for number in range(2)
        ]

    def forward(self) -> tuple[Tensor, Tensor]:
        features, marks = self.streams
        new_h, new_p = (torch.empty_like(stream.second.mapped) for stream in self.streams)

        add_up = self._sum()

        def start(piece: Piece) -> None:
            add_up(piece)
            features.start(piece)
            marks.start(piece)

        def between(piece: Piece) -> None:
            features.between(piece)
            marks.between(piece)

        def end(piece: Piece) -> None:
            at = piece.rows
            features.second.finish(piece, self.h[at] if self.spec.residual else None, new_h[at])
            marks.second.finish(piece, None, new_p[at])

        self._go([start, between, end], [[s.first.settle, s.second.settle] for s in self.streams])
        return new_h, new_p

    def backward(self, to_h: Tensor | None, to_p: Tensor | None) -> list[Tensor | None]:
        features, marks = self.streams
        features.begin_back(to_h)
        marks.begin_back(to_p)

        def look(piece: Piece) -> None:
            features.look(piece)
            marks.look(piece)

        def between(piece: Piece) -> None:
            features.back_between(piece)
            marks.back_between(piece)

        def end(piece: Piece) -> None:
            features.back_end(piece)
            marks.back_end(piece)

        self._go([look, between, end], [[s.second.settle_back, s.first.settle_back] for s in self.streams])
        to_h, to_p, to_values, to_scales = self._sum_back()
        return [to_h, to_p, to_values, to_scales[0], *features.gradients(), to_scales[1], *marks.gradients()]

    def _go(self, phases: Sequence[Callable[[Piece], None]], settle: Sequence[Sequence[Callable[[], None]]]) -> None:
        """Take every piece through the phases; where halves wait, all pieces together."""
        if not self.streams[0].first.waits:

            def through(piece: Piece) -> None:
                for phase in phases:
                    phase(piece)

            self.pieces.each(through)
            return
        for number, phase in enumerate(phases):
            self.pieces.each(phase)
            for stream in settle:
                if number < len(stream):
                    stream[number]()

    def statistics(self) -> Tensor:
        halves = [half for stream in self.streams for half in (stream.first, stream.second)]
        found = [half.statistics() for half in halves if isinstance(half, BatchNormHalf)]
        return torch.stack(found) if found else torch.empty(0)

    def _edges(self) -> tuple[Any, ...]:
        return rows_or_none(self.values, self.h), *(as_number(scale, self.h) for scale in self.scales)

    def _sum(self) -> Callable[[Piece], None]:
        from policylearn.kernels.compiled_streams import stream_sums

        adjacency = self.spec.layout.adjacency
        rest = (
            self.h.numpy(), self.p.numpy(), self.row_ptr, as_array(adjacency.target_ptr), as_array(adjacency.source),
            as_array(adjacency.kinds(self.spec.index)), *self._edges(), *(s.summed.numpy() for s in self.streams),
        )  # fmt: skip

        def work(piece: Piece) -> None:
            stream_sums(*piece.nodes, *rest)

        return work

    def _sum_back(self) -> tuple[Tensor, Tensor, Tensor | None, list[Tensor]]:
        from policylearn.kernels.compiled_streams import stream_sums_gradient

        adjacency, threads = self.spec.layout.adjacency, self.pieces.threads
        to_h, to_p = torch.empty_like(self.h), torch.empty_like(self.p)
        edges = self._edges()
        # Rows of a table are touched by every thread, which therefore each have a table; a vector an edge by one only.
        tables = np.zeros((1 if self.spec.index is None else threads, *edges[0].shape), dtype=edges[0].dtype)
        to_scales = np.zeros((threads, 2, max(self.h.shape[1], self.p.shape[1])), dtype=edges[0].dtype)
        features, marks = self.streams
        rest = (
            features.to_summed.numpy(), marks.to_summed.numpy(),
            rows_or_none(features.gradient if self.spec.residual else None, self.h), self.h.numpy(), self.p.numpy(),
            self.row_ptr, as_array(adjacency.source_ptr), as_array(adjacency.heard_by),
            as_array(adjacency.outgoing_kinds(self.spec.index)), *edges, to_h.numpy(), to_p.numpy(),
        )  # fmt: skip

        def work(piece: Piece) -> None:
            table = tables[piece.thread if len(tables) > 1 else 0]
            stream_sums_gradient(*piece.nodes, *rest, table, to_scales[piece.thread])

        self.pieces.each(work)
        to_values = None if self.values is None else torch.from_numpy(tables.sum(axis=0))
        both = to_scales.sum(axis=(0, 2))
        return to_h, to_p, to_values, [torch.from_numpy(both[i : i + 1]) for i in range(2)]
