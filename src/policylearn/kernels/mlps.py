"""The mlp of a GIN with its norms, relus and a residual as one differentiable step, for the CPU."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable

from policylearn.kernels.arrays import rows_or_none
from policylearn.kernels.mlp_base import PIECE, go
from policylearn.kernels.mlp_batch import BatchMLP
from policylearn.kernels.mlp_layer import LayerMLP
from policylearn.kernels.threads import Pieces
from policylearn.kernels.widths import check_mlp

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
    check_mlp(summed.shape[1], first.weight, second.weight, None if residual is None else residual.shape[1])
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


def build_mlp(
    norm: FusedNorm, eps: float, flat: Sequence[Tensor], threads: int, x: Tensor, *mapped: Tensor, memory: Any = None
) -> LayerMLP | BatchMLP:
    """The mlp with that norm; the arguments are those of `MLP`."""
    return (BatchMLP if norm == "batch" else LayerMLP)(eps, flat, threads, x, *mapped, memory=memory)
