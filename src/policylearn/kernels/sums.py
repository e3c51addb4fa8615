"""Sums along edges in plain PyTorch: they run on any device, and their gradients need no atomic additions.

Rows may be wide: ``(N, S * C)`` holds S copies of every node side by side, so that one adjacency serves all copies.
"""

from __future__ import annotations

from typing import Any, cast

import torch
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable

from policylearn.bags import Adjacency


def neighbour_sum(rows: Tensor, adjacency: Adjacency) -> Tensor:
    """``out[v] = sum over edges (u, v) of rows[u]``.

    Shapes:
        rows and result ``(N, W)``.
    """
    return cast(Tensor, _NeighbourSum.apply(rows, adjacency))  # type: ignore[no-untyped-call]


def gather(rows: Tensor, adjacency: Adjacency) -> Tensor:
    """The source's row for each message, ``(N, W) -> (E, W)``."""
    return cast(Tensor, _Gather.apply(rows, adjacency))  # type: ignore[no-untyped-call]


def collect(messages: Tensor, adjacency: Adjacency) -> Tensor:
    """Sum the messages of each target, ``(E, W) -> (N, W)``."""
    return cast(Tensor, _Collect.apply(messages, adjacency))  # type: ignore[no-untyped-call]


def multiply(ptr: Tensor, columns: Tensor, dense: Tensor) -> Tensor:
    """Product of a 0/1 matrix in compressed rows with a dense one; repeated entries count as often as they stand."""
    if len(columns) == 0:
        return dense.new_zeros(len(ptr) - 1, dense.shape[1])
    half = dense.dtype in (torch.bfloat16, torch.float16)
    if dense.device.type == "cpu" and (half or torch.is_autocast_enabled("cpu")):
        # The CPU's sparse product knows no half precision; sums are better kept in single precision anyway.
        with torch.autocast("cpu", enabled=False):
            return multiply(ptr, columns, dense.float() if half else dense).to(dense.dtype)
    ones = torch.ones(len(columns), dtype=dense.dtype, device=dense.device)
    size = (len(ptr) - 1, len(dense))
    matrix = torch.sparse_csr_tensor(ptr, columns, ones, size=size, check_invariants=False)
    return cast(Tensor, torch.sparse.mm(matrix, dense))


class _NeighbourSum(Function):
    @staticmethod
    def forward(ctx: Any, rows: Tensor, adjacency: Adjacency) -> Tensor:
        ctx.adjacency = adjacency
        return multiply(adjacency.target_ptr, adjacency.source, rows)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        return multiply(ctx.adjacency.source_ptr, ctx.adjacency.outgoing_targets, grad.contiguous()), None


class _Gather(Function):
    @staticmethod
    def forward(ctx: Any, rows: Tensor, adjacency: Adjacency) -> Tensor:
        ctx.adjacency = adjacency
        return rows.index_select(0, adjacency.source)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        return multiply(ctx.adjacency.source_ptr, ctx.adjacency.outgoing, grad.contiguous()), None


class _Collect(Function):
    @staticmethod
    def forward(ctx: Any, messages: Tensor, adjacency: Adjacency) -> Tensor:
        ctx.adjacency = adjacency
        everyone = torch.arange(adjacency.num_edges, device=messages.device)
        return multiply(adjacency.target_ptr, everyone, messages)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        return grad.index_select(0, ctx.adjacency.target), None
