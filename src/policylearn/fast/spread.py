"""From the states of classes of rows to those of the rows."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import torch
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable

from policylearn.fast.rows import NONE, as_array
from policylearn.fast.threads import Array


def spread(h: Tensor, p: Tensor, at: Array, marks_at: Array | None) -> Tensor:
    """``h[at] + p[marks_at]``; ``h[at]`` where there are no marks.

    Shapes:
        h ``(K, C)``, p ``(K', C)``, at, marks_at ``(R,)``, result ``(R, C)``.
    """
    return cast(Tensor, _Spread.apply(h, p, at, NONE if marks_at is None else marks_at))  # type: ignore[no-untyped-call]


class _Spread(Function):
    @staticmethod
    def forward(ctx: Any, h: Tensor, p: Tensor, at: Array, marks_at: Array) -> Tensor:
        from policylearn.fast.message_loops import spread_rows

        ctx.places, ctx.shapes = (at, marks_at), (h.shape, p.shape)
        out = np.empty((len(at), h.shape[1]), as_array(h).dtype)
        spread_rows(as_array(h), as_array(p), at, marks_at, out)
        return torch.from_numpy(out)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> Any:
        from policylearn.fast.message_loops import gather_rows

        own = as_array(gradient)
        totals = [np.zeros(shape, own.dtype) for shape in ctx.shapes]
        for total, at in zip(totals, ctx.places, strict=True):
            gather_rows(own, at, total)
        return *(torch.from_numpy(total) for total in totals), None, None
