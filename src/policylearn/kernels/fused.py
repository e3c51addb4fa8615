"""The whole sum of a GIN layer in one step: ``scale * x[v] + sum over neighbours``, with or without edge features."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import torch
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable

from policylearn.kernels.adjacency import Adjacency
from policylearn.kernels.backends import use_compiled
from policylearn.kernels.layout import Layout
from policylearn.kernels.sums import collect, gather, neighbour_sum


def gin_sum(states: Tensor, layout: Layout, scale: Tensor) -> Tensor:
    """``scale * states[v] + sum over edges (u, v) of states[u]``, for every copy.

    Shapes:
        states and result ``(R, C)``, scale ``(1,)``.
    """
    if use_compiled(states):
        return cast(Tensor, _Plain.apply(states, scale, layout))  # type: ignore[no-untyped-call]
    adjacency, width = layout.wide()
    wide = states.reshape(adjacency.num_nodes, width * states.shape[1])  # (N * S, C) -> (N, S * C)
    return scale * states + neighbour_sum(wide, adjacency).view_as(states)


def gine_sum(states: Tensor, layout: Layout, scale: Tensor, values: Tensor, index: Tensor | None) -> Tensor:
    """``scale * states[v] + sum over edges (u, v) of relu(states[u] + e)``, for every copy.

    Args:
        states: of every copy.
        layout: how the rows hang together.
        scale: of a node's own state.
        values: the edges' vectors e: rows of a table, or one a column of ``edge_index``.
        index: which row of the table each column of ``edge_index`` has; None if there is a vector an edge.

    Shapes:
        states and result ``(R, C)``, scale ``(1,)``, values ``(K, C)`` or ``(E, C)``, index ``(E,)``.
    """
    values = values.to(states.dtype)  # mixed precision may give them different ones
    if use_compiled(states):
        return cast(Tensor, _WithEdges.apply(states, scale, values, index, layout))  # type: ignore[no-untyped-call]
    adjacency, width = layout.wide()
    term = values.index_select(0, adjacency.edge if index is None else index.index_select(0, adjacency.edge))
    wide = states.reshape(adjacency.num_nodes, width * states.shape[1])
    messages = gather(wide, adjacency).view(len(term), width, states.shape[1])  # (E, S, C)
    messages = torch.relu(messages + term.unsqueeze(1))
    return scale * states + collect(messages.flatten(1), adjacency).view_as(states)


def _numpy(tensor: Tensor) -> Any:
    return tensor.detach().contiguous().numpy()


def _kinds(index: Tensor | None, adjacency: Adjacency) -> Tensor:
    """The row of the edges' values that each message has, ``(E,)``."""
    return adjacency.edge if index is None else index.index_select(0, adjacency.edge)


class _Plain(Function):
    @staticmethod
    def forward(ctx: Any, states: Tensor, scale: Tensor, layout: Layout) -> Tensor:
        ctx.layout = layout
        ctx.save_for_backward(states, scale)
        adjacency = layout.adjacency
        return _plain(states, layout, adjacency.target_ptr, adjacency.source, float(scale))

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, Tensor | None, None]:
        states, scale = ctx.saved_tensors
        adjacency = ctx.layout.adjacency
        heard_by = adjacency.target.index_select(0, adjacency.outgoing)
        to_states = _plain(gradient, ctx.layout, adjacency.source_ptr, heard_by, float(scale))
        return to_states, _to_scale(gradient, states, scale), None


class _WithEdges(Function):
    @staticmethod
    def forward(
        ctx: Any, states: Tensor, scale: Tensor, values: Tensor, index: Tensor | None, layout: Layout
    ) -> Tensor:
        from policylearn.kernels.compiled import edge_sum, share

        ctx.layout, ctx.index = layout, index
        ctx.save_for_backward(states, scale, values)
        adjacency = layout.adjacency
        out = torch.empty_like(states, memory_format=torch.contiguous_format)
        row_ptr = _numpy(layout.row_ptr)
        rest = (
            _numpy(states), row_ptr, _numpy(adjacency.target_ptr), _numpy(adjacency.source),
            _numpy(_kinds(index, adjacency)), _numpy(values), _number(scale, states), out.numpy(),
        )  # fmt: skip
        share(lambda _thread, first, last: edge_sum(first, last, *rest), row_ptr, states.numel())
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        from policylearn.kernels.compiled import edge_sum_gradient, share

        states, scale, values = ctx.saved_tensors
        adjacency, out = ctx.layout.adjacency, ctx.layout.adjacency.outgoing
        to_states = torch.empty_like(states, memory_format=torch.contiguous_format)
        row_ptr = _numpy(ctx.layout.row_ptr)
        # Rows of a table are touched by every thread, which therefore each have a table; a vector an edge by one only.
        parts = 1 if ctx.index is None else torch.get_num_threads()
        tables = np.zeros((parts, *values.shape), dtype=_numpy(values).dtype)
        rest = (
            _numpy(gradient), _numpy(states), row_ptr, _numpy(adjacency.source_ptr),
            _numpy(adjacency.target.index_select(0, out)), _numpy(_kinds(ctx.index, adjacency).index_select(0, out)),
            _numpy(values), _number(scale, states), to_states.numpy(),
        )  # fmt: skip

        def work(thread: int, first: int, last: int) -> None:
            edge_sum_gradient(first, last, *rest, tables[thread if parts > 1 else 0])

        share(work, row_ptr, states.numel())
        to_values = torch.from_numpy(tables.sum(axis=0) if parts > 1 else tables[0])
        return to_states, _to_scale(gradient, states, scale), to_values, None, None


def _plain(states: Tensor, layout: Layout, ptr: Tensor, other: Tensor, scale: float) -> Tensor:
    from policylearn.kernels.compiled import plain_sum, share

    out = torch.empty_like(states, memory_format=torch.contiguous_format)
    row_ptr = _numpy(layout.row_ptr)
    number = _numpy(states).dtype.type(scale)
    rest = (_numpy(states), row_ptr, _numpy(ptr), _numpy(other), number, out.numpy())
    share(lambda _thread, first, last: plain_sum(first, last, *rest), row_ptr, states.numel())
    return out


def _number(scale: Tensor, like: Tensor) -> Any:
    return _numpy(like).dtype.type(float(scale))


def _to_scale(gradient: Tensor, states: Tensor, scale: Tensor) -> Tensor | None:
    return torch.dot(gradient.reshape(-1), states.reshape(-1)).reshape(scale.shape) if scale.requires_grad else None
