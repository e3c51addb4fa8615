"""A whole layer of two streams as one differentiable step, for the CPU.

All that a piece of the rows goes through is done by one thread in few calls; threads meet only where a batch norm needs
the statistics of all rows. Of what lies between the two maps only the maps' outputs are kept for the gradient.
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
from policylearn.kernels.layout import Layout
from policylearn.kernels.mlp_base import PIECE, go
from policylearn.kernels.mlps import Affine, FusedNorm, build_mlp
from policylearn.kernels.threads import Piece
from policylearn.kernels.widths import check_edges, check_mlp


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
    width = h.shape[1] + p.shape[1]
    check_mlp(width, features.first.weight, features.second.weight, h.shape[1] if spec.residual else None)
    check_mlp(p.shape[1], marks.first.weight, marks.second.weight, None)
    if values is not None:
        check_edges(spec.layout.adjacency, values, width, shared=spec.index is not None)
    flat = (features.scale, marks.scale, *features.first, *features.second, *marks.first, *marks.second)
    return LayerOutput(*_Layer.apply(spec, h, p, values, *flat))  # type: ignore[no-untyped-call]


class _Layer(Function):
    @staticmethod
    def forward(ctx: Any, spec: LayerSpec, h: Tensor, p: Tensor, values: Tensor | None, *flat: Tensor) -> Any:
        h, p = h.detach().contiguous(), p.detach().contiguous()
        sums = _Sums(spec, h, p, values, flat[:2])
        pieces = spec.layout.pieces(PIECE)
        mlps = [
            build_mlp(spec.norm, spec.eps, flat[at : at + 8], pieces.threads, x)
            for at, x in zip((2, 10), sums.room(), strict=True)
        ]
        new = [torch.empty_like(mlp.kept[2]) for mlp in mlps]
        residuals = [rows_or_none(h if spec.residual else None, h), rows_or_none(None, h)]
        phases = [mlp.forward(*given) for mlp, *given in zip(mlps, residuals, new, strict=True)]
        go(pieces, phases, before=sums.add_up([mlp.x for mlp in mlps]))
        statistics = torch.cat([mlp.found() for mlp in mlps])
        ctx.save_for_backward(h, p, values, *mlps[0].kept, *mlps[1].kept, *flat)
        ctx.spec, ctx.memories = spec, [mlp.memory for mlp in mlps]
        ctx.mark_non_differentiable(statistics)
        return *new, statistics

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> Any:
        h, p, values, *rest = ctx.saved_tensors
        spec, kept, flat = ctx.spec, (rest[:3], rest[3:6]), rest[6:]
        pieces = spec.layout.pieces(PIECE)
        mlps = [
            build_mlp(spec.norm, spec.eps, flat[at : at + 8], pieces.threads, *rows, memory=memory)
            for at, rows, memory in zip((2, 10), kept, ctx.memories, strict=True)
        ]
        go(pieces, [mlp.backward(gradient) for mlp, gradient in zip(mlps, gradients[:2], strict=True)])
        through = gradients[0] if spec.residual else None
        own = _Sums(spec, h, p, values, flat[:2]).gradient(mlps[0].to_x, mlps[1].to_x, through)
        return None, *own, *mlps[0].gradients(), *mlps[1].gradients()


class _Sums:
    """Both streams' sums along the edges."""

    def __init__(self, spec: LayerSpec, h: Tensor, p: Tensor, values: Tensor | None, scales: Sequence[Tensor]) -> None:
        self.spec, self.h, self.p, self.values = spec, h, p, values
        self.edges = rows_or_none(values, h), *(as_number(scale, h) for scale in scales)
        self.row_ptr = as_array(spec.layout.row_ptr)

    def room(self) -> tuple[Tensor, Tensor]:
        """Room for the sums, ``(R, C + P)`` and ``(R, P)``."""
        return self.h.new_empty(len(self.h), self.h.shape[1] + self.p.shape[1]), torch.empty_like(self.p)

    def add_up(self, into: Sequence[Any]) -> Callable[[Piece], None]:
        """What fills a piece of the sums."""
        from policylearn.kernels.compiled_streams import stream_sums

        adjacency = self.spec.layout.adjacency
        rest = (
            self.h.numpy(), self.p.numpy(), self.row_ptr, as_array(adjacency.target_ptr), as_array(adjacency.source),
            as_array(adjacency.kinds(self.spec.index)), *self.edges,
        )  # fmt: skip
        return lambda piece: stream_sums(*piece.nodes, *rest, *(rows[piece.rows] for rows in into))

    def gradient(self, summed: Tensor, marks: Tensor, through: Tensor | None) -> tuple[Tensor | None, ...]:
        """Gradients of h, p, the values and the scales, given those of the sums and, if any, of the residual."""
        from policylearn.kernels.compiled_streams import stream_sums_gradient

        adjacency, pieces = self.spec.layout.adjacency, self.spec.layout.pieces(PIECE)
        to_h, to_p = torch.empty_like(self.h), torch.empty_like(self.p)
        table = self.edges[0]
        # Rows of a table are touched by every thread, which therefore each have a table; a vector an edge by one only.
        tables = np.zeros((1 if self.spec.index is None else pieces.threads, *table.shape), dtype=table.dtype)
        to_scales = np.zeros((pieces.threads, 2, max(self.h.shape[1], self.p.shape[1])), dtype=table.dtype)
        rest = (
            summed.numpy(), marks.numpy(), rows_or_none(through, self.h), self.h.numpy(), self.p.numpy(), self.row_ptr,
            as_array(adjacency.source_ptr), as_array(adjacency.outgoing_targets),
            as_array(adjacency.outgoing_kinds(self.spec.index)), *self.edges, to_h.numpy(), to_p.numpy(),
        )  # fmt: skip

        def work(piece: Piece) -> None:
            own = tables[piece.thread if len(tables) > 1 else 0]
            stream_sums_gradient(*piece.nodes, *rest, own, to_scales[piece.thread])

        pieces.each(work)
        to_values = None if self.values is None else torch.from_numpy(tables.sum(axis=0))
        both = to_scales.sum(axis=(0, 2))
        return to_h, to_p, to_values, *(torch.from_numpy(both[i : i + 1]) for i in range(2))
