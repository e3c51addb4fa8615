"""Sums along edges in plain PyTorch: they run on any device, and their gradients need no atomic additions.

Rows may be wide: ``(N, S * C)`` holds S copies of every node side by side, so that one adjacency serves all copies.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import torch
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable

from policylearn.bags import Adjacency, Bag
from policylearn.bags.adjacency import may_read

TensorMap = Callable[[Tensor], Tensor]


def gin_sum(states: Tensor, bag: Bag, scale: Tensor) -> Tensor:
    """``scale * states[v] + sum over edges (u, v) of states[u]``, for every copy, ``(R, C) -> (R, C)``."""
    adjacency, width = bag.wide()
    wide = states.reshape(adjacency.num_nodes, width * states.shape[1])  # (N * S, C) -> (N, S * C)
    return scale * states + neighbour_sum(wide, adjacency).view_as(states)


def gine_sum(
    states: Tensor, bag: Bag, scale: Tensor, values: Tensor, index: Tensor | None, weights: Tensor | None = None
) -> Tensor:
    """``scale * states[v] + sum over edges (u, v) of w * relu(states[u] + e)``, for every copy.

    Args:
        states: of every row.
        bag: the copies.
        scale: of a node's own state.
        values: the edges' vectors e, see `EdgeTerm`.
        index: which of them each column of ``edge_index`` has; None if there is one vector per edge.
        weights: w of every message of ``bag.wide()``, in each of the copies side by side; None are ones.

    Shapes:
        states and result ``(R, C)``, scale ``(1,)``, values ``(K, C)`` or ``(E, C)``, index ``(E,)``, weights
        ``(E, S)``.
    """
    _check_edges(bag.adjacency, values, states.shape[1], shared=index is not None)
    values = values.to(states.dtype)  # mixed precision may give them different ones
    adjacency, width = bag.wide()
    term = values.index_select(0, adjacency.kinds(index))
    wide = states.reshape(adjacency.num_nodes, width * states.shape[1])
    messages = gather(wide, adjacency).view(len(term), width, states.shape[1])  # (E, S, C)
    messages = torch.relu(messages + term.unsqueeze(1))
    if weights is not None:
        messages = messages * weights.unsqueeze(2)
    return scale * states + collect(messages.flatten(1), adjacency).view_as(states)


def _check_edges(adjacency: Adjacency, values: Tensor, width: int, *, shared: bool) -> None:
    """Raise a `ValueError` where the edges' vectors do not fit the states that they are added to, or the edges."""
    if values.shape[1] != width:
        raise ValueError(
            f"edge vectors of {values.shape[1]} channels do not fit states of {width}; check the edge encoder"
        )
    most = 1 + int(adjacency.edge.max()) if adjacency.num_edges and may_read(adjacency.edge) else 0
    if not shared and len(values) < most:
        raise ValueError(f"there are {len(values)} edge vectors for {most} edges; 'edge_attr' needs a row each")


def neighbour_sum(rows: Tensor, adjacency: Adjacency) -> Tensor:
    """``out[v] = sum over edges (u, v) of rows[u]``, ``(N, W) -> (N, W)``."""
    return _linear(
        rows,
        lambda states: multiply(adjacency.target_ptr, adjacency.source, states),
        lambda grad: multiply(adjacency.source_ptr, adjacency.outgoing_targets, grad),
    )


def gather(rows: Tensor, adjacency: Adjacency) -> Tensor:
    """The source's row for each message, ``(N, W) -> (E, W)``."""
    return _linear(
        rows,
        lambda states: states.index_select(0, adjacency.source),
        lambda grad: multiply(adjacency.source_ptr, adjacency.outgoing, grad),
    )


def collect(messages: Tensor, adjacency: Adjacency) -> Tensor:
    """Sum the messages of each target, ``(E, W) -> (N, W)``."""
    every = torch.arange(adjacency.num_edges, device=messages.device)
    return _linear(
        messages,
        lambda values: multiply(adjacency.target_ptr, every, values),
        lambda grad: grad.index_select(0, adjacency.target),
    )


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


class _LinearMap(Function):
    @staticmethod
    def forward(ctx: Any, values: Tensor, apply: TensorMap, transposed: TensorMap) -> Tensor:
        ctx.transposed = transposed
        return apply(values)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None]:
        return ctx.transposed(grad.contiguous()), None, None


def _linear(values: Tensor, apply: TensorMap, transposed: TensorMap) -> Tensor:
    """A linear map whose gradient is the transposed one."""
    return cast(Tensor, _LinearMap.apply(values, apply, transposed))  # type: ignore[no-untyped-call]
