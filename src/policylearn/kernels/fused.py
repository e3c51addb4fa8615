"""The whole sum of a GIN layer in one step: ``scale * x[v] + sum over neighbours``, with or without edge features."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import torch
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable

from policylearn.kernels.arrays import as_array, as_number
from policylearn.kernels.backends import use_compiled
from policylearn.kernels.layout import Layout
from policylearn.kernels.sums import collect, gather, neighbour_sum
from policylearn.kernels.threads import Piece
from policylearn.kernels.widths import check_edges


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
    check_edges(layout.adjacency, values, states.shape[1], shared=index is not None)
    values = values.to(states.dtype)  # mixed precision may give them different ones
    if use_compiled(states):
        return cast(Tensor, _WithEdges.apply(states, scale, values, index, layout))  # type: ignore[no-untyped-call]
    adjacency, width = layout.wide()
    term = values.index_select(0, adjacency.kinds(index))
    wide = states.reshape(adjacency.num_nodes, width * states.shape[1])
    messages = gather(wide, adjacency).view(len(term), width, states.shape[1])  # (E, S, C)
    messages = torch.relu(messages + term.unsqueeze(1))
    return scale * states + collect(messages.flatten(1), adjacency).view_as(states)


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
        to_states = _plain(gradient, ctx.layout, adjacency.source_ptr, adjacency.outgoing_targets, float(scale))
        return to_states, _to_scale(gradient, states, scale), None


class _WithEdges(Function):
    @staticmethod
    def forward(
        ctx: Any, states: Tensor, scale: Tensor, values: Tensor, index: Tensor | None, layout: Layout
    ) -> Tensor:
        from policylearn.kernels.compiled import edge_sum

        ctx.layout, ctx.index = layout, index
        ctx.save_for_backward(states, scale, values)
        adjacency = layout.adjacency
        out = torch.empty_like(states, memory_format=torch.contiguous_format)
        row_ptr = as_array(layout.row_ptr)
        rest = (
            as_array(states), row_ptr, as_array(adjacency.target_ptr), as_array(adjacency.source),
            as_array(adjacency.kinds(index)), as_array(values), as_number(scale, states), out.numpy(),
        )  # fmt: skip
        layout.pieces().each(lambda piece: edge_sum(*piece.nodes, *rest))
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        from policylearn.kernels.compiled import edge_sum_gradient

        states, scale, values = ctx.saved_tensors
        adjacency = ctx.layout.adjacency
        to_states = torch.empty_like(states, memory_format=torch.contiguous_format)
        row_ptr = as_array(ctx.layout.row_ptr)
        # Rows of a table are touched by every thread, which therefore each have a table; a vector an edge by one only.
        pieces = ctx.layout.pieces()
        parts = 1 if ctx.index is None else pieces.threads
        tables = np.zeros((parts, *values.shape), dtype=as_array(values).dtype)
        rest = (
            as_array(gradient), as_array(states), row_ptr, as_array(adjacency.source_ptr),
            as_array(adjacency.outgoing_targets), as_array(adjacency.outgoing_kinds(ctx.index)),
            as_array(values), as_number(scale, states), to_states.numpy(),
        )  # fmt: skip

        def work(piece: Piece) -> None:
            edge_sum_gradient(*piece.nodes, *rest, tables[piece.thread if parts > 1 else 0])

        pieces.each(work)
        to_values = torch.from_numpy(tables.sum(axis=0) if parts > 1 else tables[0])
        return to_states, _to_scale(gradient, states, scale), to_values, None, None


def _plain(states: Tensor, layout: Layout, ptr: Tensor, other: Tensor, scale: float) -> Tensor:
    from policylearn.kernels.compiled import plain_sum

    out = torch.empty_like(states, memory_format=torch.contiguous_format)
    row_ptr = as_array(layout.row_ptr)
    number = as_array(states).dtype.type(scale)
    rest = (as_array(states), row_ptr, as_array(ptr), as_array(other), number, out.numpy())
    layout.pieces().each(lambda piece: plain_sum(*piece.nodes, *rest))
    return out


def _to_scale(gradient: Tensor, states: Tensor, scale: Tensor) -> Tensor | None:
    return torch.dot(gradient.reshape(-1), states.reshape(-1)).reshape(scale.shape) if scale.requires_grad else None
