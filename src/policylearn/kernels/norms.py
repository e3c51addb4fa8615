"""A linear map, a norm, a relu and a residual as one differentiable step, for the CPU."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable

from policylearn.kernels.halves import Affine, BatchNormHalf, Half, LayerNormHalf
from policylearn.kernels.threads import Piece, Pieces

PIECE = 1 << 13
"""Rows of a piece: so many that a call is worth it, so few that what belongs to them stays in the cache."""

FusedNorm = Literal["batch", "layer"]


def linear_norm_relu(
    x: Tensor, affine: Affine, norm: FusedNorm, eps: float, residual: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """``relu(norm(linear(x))) + residual``, and the mean and biased variance that a batch norm found.

    Args:
        x: the rows.
        affine: linear map and the norm's scale and shift.
        norm: with the statistics of all rows (`batch`) or of each row (`layer`).
        eps: added to variances.
        residual: added last.

    Shapes:
        x ``(R, C_in)``; residual and result ``(R, C_out)``; statistics ``(2, C_out)``, ``(0,)`` for a layer norm.
    """
    out: tuple[Tensor, Tensor] = _LinearNorm.apply(norm, eps, x, residual, *affine)  # type: ignore[no-untyped-call]
    return out


def build_half(norm: FusedNorm, affine: Affine, eps: float, mapped: Tensor, threads: int, memory: Any = None) -> Half:
    """The half with that norm; ``memory`` is that of a forward pass, if one was made."""
    half = BatchNormHalf if norm == "batch" else LayerNormHalf
    return half(affine, eps, mapped, threads, memory)


class _LinearNorm(Function):
    @staticmethod
    def forward(
        ctx: Any, norm: FusedNorm, eps: float, x: Tensor, residual: Tensor | None, *flat: Tensor
    ) -> tuple[Tensor, Tensor]:
        x, residual = x.detach().contiguous(), None if residual is None else residual.detach().contiguous()
        mapped = x.new_empty(len(x), len(flat[0]))
        out = torch.empty_like(mapped)
        pieces = _pieces(mapped)
        half = build_half(norm, Affine(*flat), eps, mapped, pieces.threads)
        pieces.each(lambda piece: half.map(piece, x[piece.rows]))
        half.settle()

        def finish(piece: Piece) -> None:
            half.finish(piece, None if residual is None else residual[piece.rows], out[piece.rows])

        pieces.each(finish)
        statistics = half.statistics() if isinstance(half, BatchNormHalf) else torch.empty(0)
        ctx.norm, ctx.eps, ctx.memory = norm, eps, half.memory
        ctx.save_for_backward(x, mapped, *flat)
        ctx.mark_non_differentiable(statistics)
        return out, statistics

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor, _: Any) -> tuple[Tensor | None, ...]:
        x, mapped, *flat = ctx.saved_tensors
        gradient, weight = gradient.contiguous(), flat[0].detach()
        pieces = _pieces(mapped)
        half = build_half(ctx.norm, Affine(*flat), ctx.eps, mapped, pieces.threads, ctx.memory)
        pieces.each(lambda piece: half.look(piece, gradient[piece.rows]))
        half.settle_back()
        to_x = torch.empty_like(x)
        to_weight = weight.new_zeros(pieces.threads, *weight.shape)

        def back(piece: Piece) -> None:
            to_mapped = half.back(piece, gradient[piece.rows])
            to_weight[piece.thread].addmm_(to_mapped.t(), x[piece.rows])
            torch.mm(to_mapped, weight, out=to_x[piece.rows])

        pieces.each(back)
        to_residual = gradient if ctx.needs_input_grad[3] else None
        return None, None, to_x, to_residual, to_weight.sum(0), *half.vectors()


def _pieces(mapped: Tensor) -> Pieces:
    return Pieces(np.arange(len(mapped) + 1), PIECE)
