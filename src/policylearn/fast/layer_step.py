"""A whole layer of two streams, or of one, as one differentiable step.

All that a piece of the rows goes through is done by one thread in few calls; threads meet only where a batch norm needs
the statistics of all rows. Of what lies between the two maps only the maps' outputs are kept for the gradient.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable

from policylearn.fast.mlps import BatchNormMLP, CompiledMLP, LayerNormMLP, Work, run_phases
from policylearn.fast.rows import DTYPES, Kinds, LayerRows, as_rows
from policylearn.fast.threads import Array, Piece

CompiledNorm = Literal["batch", "layer"]
PER_STREAM = 9
"""Tensors of a stream: epsilon, and weight, bias, scale and shift of both halves."""


@dataclass(frozen=True)
class LayerStep:
    """What a layer is made of besides its weights.

    Args:
        rows: which rows are neighbours.
        norm: of all places.
        eps: what each norm adds to variances, two per stream.
        width: copies of a node whose statistics are apart from each other; 1 takes those of all rows together.
        kinds: the row of the edges' values that each message has.
        shared: whether several messages have the same row.
        residual: add the h that came in.
        scales: of a node's own state, in both streams, in the precision of the rows.
    """

    rows: LayerRows
    norm: CompiledNorm
    eps: tuple[tuple[float, float], ...]
    width: int
    kinds: Kinds
    shared: bool
    residual: bool
    scales: tuple[Any, Any]

    def mlp(self, stream: int, flat: Sequence[Tensor], x: Tensor) -> CompiledMLP:
        """The mlp of a stream."""
        kind = BatchNormMLP if self.norm == "batch" else LayerNormMLP
        own = flat[stream * PER_STREAM + 1 : (stream + 1) * PER_STREAM]
        return kind(own, self.eps[stream], self.rows, self.width, x)


def layer_step(
    h: Tensor, p: Tensor, values: Tensor | None, step: LayerStep, flat: Sequence[Tensor]
) -> tuple[list[Tensor], list[Array]]:
    """``relu(norm(gin([h, p]))) + h`` and ``relu(norm(gin(p)))``, and what batch norms found.

    Args:
        h: features of every row.
        p: marks of every row; without channels where the layer has one stream.
        values: the edges' vectors; None without edge features.
        step: the rest.
        flat: the weights, `PER_STREAM` per stream, those of the features first.

    Shapes:
        h ``(R, C)``, p ``(R, P)``, values ``(K, C + P)``; of the result features, and marks if there are two streams,
        ``(R', C)`` each, and mean and biased variance ``(2, C)`` per batch norm.
    """
    found: list[Array] = []  # handed over beside the tensors: autograd has nothing to do with it
    new = list(_LayerStep.apply(step, found, h, p, values, *flat))  # type: ignore[no-untyped-call]
    return new, found


class _LayerStep(Function):
    @staticmethod
    def forward(
        ctx: Any, step: LayerStep, found: list[Array], h: Tensor, p: Tensor, values: Tensor | None, *flat: Tensor
    ) -> Any:
        h, p = h.detach().contiguous(), p.detach().contiguous()
        count = step.rows.count
        summed = [h.new_empty(count, h.shape[1] + p.shape[1]), p.new_empty(count, p.shape[1])]
        streams = len(flat) // PER_STREAM
        mlps = [step.mlp(stream, flat, summed[stream]) for stream in range(streams)]
        new = [torch.empty_like(mlp.kept[2]) for mlp in mlps]
        whole = len(step.rows.incoming[2]) == 0  # else rows that came in later have the features of another row
        own = h.numpy() if whole else np.empty((count, h.shape[1]), DTYPES[h.dtype])
        residuals = own if step.residual else own[:0], own[:0]
        phases = [
            mlp.forward(*given) for mlp, *given in zip(mlps, residuals, (one.numpy() for one in new), strict=False)
        ]
        sums = _sums(step, h, p, values, own, *(one.numpy() for one in summed))
        run_phases(step.rows.pieces(), phases, before=[sums])
        found += [one for mlp in mlps for one in mlp.found()]
        ctx.save_for_backward(h, p, values, *flat)
        ctx.step, ctx.mlps = step, mlps
        return tuple(new)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> Any:
        h, p, values, *_flat = ctx.saved_tensors  # the weights to be told if somebody has changed them since
        step, mlps = ctx.step, ctx.mlps
        streams = len(mlps)
        own = [gradient.contiguous().numpy() for gradient in gradients[:streams]]
        run_phases(step.rows.pieces(), [mlp.backward(gradient) for mlp, gradient in zip(mlps, own, strict=True)])
        marks = mlps[1].to_x.numpy() if streams > 1 else p.numpy()
        to_h, to_p, to_values, to_scales = _sums_gradient(
            step, h, p, values, mlps[0].to_x.numpy(), marks, own[0] if step.residual else own[0][:0]
        )
        to_flat = [one for mlp, scale in zip(mlps, to_scales, strict=False) for one in (scale, *mlp.gradients())]
        return None, None, to_h, to_p, to_values, *to_flat


def _sums(
    step: LayerStep, h: Tensor, p: Tensor, values: Tensor | None, own: Array, out: Array, mark_out: Array
) -> Work:
    """What fills a piece of the sums along the edges, and of the rows' own features where these are not h itself."""
    from policylearn.fast.message_loops import sum_messages

    split, states = step.rows.split, (h.numpy(), p.numpy())
    known = (one[:split] for one in states) if split else states
    given = (
        *known,
        *(one[split:] for one in states),
        *step.rows.incoming,
        step.kinds.incoming,
        as_rows(values, h),
        *step.scales,
    )

    def work(piece: Piece) -> None:
        at = piece.rows
        sum_messages(at.start, at.stop, *given, out[at], mark_out[at], own[at])

    return work


def _sums_gradient(
    step: LayerStep, h: Tensor, p: Tensor, values: Tensor | None, summed: Array, marks: Array, residual: Array
) -> tuple[Tensor, Tensor, Tensor | None, list[Tensor]]:
    """Gradients of h, p, the values and the scales, given those of the sums and, where it has rows, of the residual."""
    from policylearn.fast.message_loops import sum_messages_gradient

    pieces, table = step.rows.pieces_inside(), as_rows(values, h)
    to_h, to_p = torch.empty_like(h), torch.empty_like(p)
    # Rows of a table are touched by every thread, which therefore each have a table; one vector per edge by one only.
    tables = np.zeros((pieces.threads if step.shared else 1, *table.shape), dtype=table.dtype)
    to_scales = np.zeros((pieces.threads, 2, max(h.shape[1], p.shape[1])), dtype=table.dtype)
    given = (
        summed, marks, residual, h.numpy(), p.numpy(), *step.rows.hearers, step.kinds.incoming, table, *step.scales,
        to_h.numpy(), to_p.numpy(),
    )  # fmt: skip

    def work(piece: Piece) -> None:
        own = tables[piece.thread if step.shared else 0]
        sum_messages_gradient(piece.rows.start, piece.rows.stop, *given, own, to_scales[piece.thread])

    pieces.each(work)
    to_values = None if values is None else torch.from_numpy(tables.sum(axis=0))
    both = to_scales.sum(axis=(0, 2))
    return to_h, to_p, to_values, [torch.from_numpy(both[i : i + 1]) for i in range(2)]
