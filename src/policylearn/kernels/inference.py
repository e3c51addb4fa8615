"""Networks of two streams at inference: the unmarked graph is computed once, and of each marked copy its cone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor

from policylearn.bags import Adjacency
from policylearn.kernels.arrays import as_array, as_number, empty_rows, rows_or_none
from policylearn.kernels.cones import Cones
from policylearn.kernels.layout import Layout
from policylearn.kernels.mlp_base import PIECE
from policylearn.kernels.threads import Array, Piece, Pieces
from policylearn.kernels.widths import check_mlp


@dataclass(frozen=True)
class FixedHalf:
    """A linear map, a norm that takes nothing from the batch, and a relu.

    Args:
        weight: of the linear map; a norm with fixed statistics is folded into it.
        bias: added to its output.
        scale: of a layer norm that follows; empty if there is none.
        shift: likewise.
        eps: likewise.

    Shapes:
        weight ``(C_out, C_in)``; bias, scale and shift ``(C_out,)``.
    """

    weight: Tensor
    bias: Tensor
    scale: Tensor
    shift: Tensor
    eps: float = 1e-5

    @property
    def arrays(self) -> tuple[Any, ...]:
        """What the compiled loops take."""
        weight, bias, scale, shift = (as_array(one) for one in (self.weight, self.bias, self.scale, self.shift))
        return weight, bias, scale, shift, weight.dtype.type(self.eps)


def fixed_mlp(summed: Tensor, halves: tuple[FixedHalf, FixedHalf], residual: Tensor | None) -> Tensor:
    """Two halves one after the other, plus a residual, without gradient.

    Shapes:
        summed ``(R, C_in)``; residual and result ``(R, C)``.
    """
    from policylearn.kernels.compiled_gemm import gemm_address
    from policylearn.kernels.compiled_mlps import fixed_forward

    added_width = None if residual is None else residual.shape[1]
    check_mlp(summed.shape[1], halves[0].weight, halves[1].weight, added_width)
    x, (one, two) = as_array(summed), (half.arrays for half in halves)
    added = rows_or_none(residual, summed)
    out = summed.new_empty(len(summed), len(two[0]))
    result, address = out.numpy(), gemm_address(x.dtype)

    def work(piece: Piece) -> None:
        fixed_forward(address, x[piece.rows], one, two, added[piece.rows], result[piece.rows])

    Pieces(np.arange(len(x) + 1), PIECE).each(work)
    return out


@dataclass(frozen=True)
class FixedLayer:
    """A layer of two streams at inference.

    Args:
        features: both halves of the features' mlp.
        marks: both halves of the marks' mlp.
        edges: what the compiled sums take, see `message_arrays`.
        residual: add the h that came in.
    """

    features: tuple[FixedHalf, FixedHalf]
    marks: tuple[FixedHalf, FixedHalf]
    edges: tuple[Any, ...]
    residual: bool

    @cached_property
    def _mlps(self) -> list[tuple[Any, ...]]:
        return [tuple(half.arrays for half in halves) for halves in (self.features, self.marks)]

    def check(self, h: int, p: int) -> None:
        """Raise a `ValueError` where the layer does not fit so many channels of features and of marks."""
        first, second = self.features
        check_mlp(h + p, first.weight, second.weight, h if self.residual else None)
        check_mlp(p, self.marks[0].weight, self.marks[1].weight, None)

    def room(self, rows: int, like: Tensor) -> tuple[Tensor, Tensor]:
        """Room for the states of so many rows."""
        widths = len(self.features[1].weight), len(self.marks[1].weight)
        return empty_rows(rows, widths[0], like), empty_rows(rows, widths[1], like)

    def update(self, summed: Array, marks: Array, h: Array, out: tuple[Array, Array]) -> None:
        """What follows the sums, ``(R, C)`` and ``(R, C)``, put into ``out``."""
        from policylearn.kernels.compiled_gemm import gemm_address
        from policylearn.kernels.compiled_mlps import fixed_forward

        address = gemm_address(summed.dtype)
        for (one, two), x, residual, into in zip(
            self._mlps, (summed, marks), (h if self.residual else h[:0], h[:0]), out, strict=True
        ):
            fixed_forward(address, x, one, two, residual, into)


def message_arrays(
    adjacency: Adjacency, values: Tensor | None, kinds: Array, scales: tuple[Tensor, Tensor]
) -> tuple[Any, ...]:
    """Neighbours, kinds and values of messages, and the scales, as the compiled sums take them.

    Args:
        adjacency: the edges.
        values: the edges' vectors; None without edge features.
        kinds: which row of ``values`` each message has, ``(E,)``.
        scales: of a node's own state, of the features and of the marks, ``(1,)`` each.
    """
    return (
        as_array(adjacency.target_ptr), as_array(adjacency.source), kinds,
        rows_or_none(values, scales[0]), *(as_number(scale, scales[0]) for scale in scales),
    )  # fmt: skip


@dataclass(frozen=True)
class States:
    """Features and marks behind each layer, ``(N, C)`` and ``(N, P)``, the input first."""

    h: list[Tensor]
    p: list[Tensor]

    @property
    def last(self) -> Tensor:
        """The network's output, ``(N, C)``."""
        h, p = self.h[-1], self.p[-1]
        return torch.add(h, p, out=empty_rows(len(h), h.shape[1], h))


def unmarked_states(layers: Sequence[FixedLayer], layout: Layout, ptr: Tensor, h: Tensor, p: Tensor) -> States:
    """All states of the unmarked graphs.

    Args:
        layers: the network.
        layout: of nodes with one row each.
        ptr: where the nodes of each graph start.
        h: features that go in.
        p: marks that go in.

    Shapes:
        ptr ``(G + 1,)``, h ``(N, C)``, p ``(N, 1)``.
    """
    states = States([h], [p])
    for layer in layers:
        layer.check(states.h[-1].shape[1], states.p[-1].shape[1])
        new = layer.room(len(h), h)
        states.h.append(new[0])
        states.p.append(new[1])
    row_ptr = as_array(layout.row_ptr)
    passes = [
        _unmarked_pass(layer, row_ptr, (states.h[depth], states.p[depth]), (states.h[depth + 1], states.p[depth + 1]))
        for depth, layer in enumerate(layers)
    ]
    graphs = Pieces(as_array(ptr), PIECE)
    if graphs.largest > 4 * PIECE:
        for work in passes:  # a graph is too large for one thread's cache: all threads work on it, layer by layer
            layout.pieces(PIECE).each(work)
        return states

    def through(piece: Piece) -> None:
        nodes = Piece(piece.thread, (piece.rows.start, piece.rows.stop), piece.rows)
        for work in passes:
            work(nodes)

    graphs.each(through)
    return states


def _unmarked_pass(
    layer: FixedLayer, row_ptr: Array, given: tuple[Tensor, Tensor], new: tuple[Tensor, Tensor]
) -> Callable[[Piece], None]:
    from policylearn.kernels.compiled_streams import stream_sums

    h, p, new_h, new_p = (one.numpy() for one in (*given, *new))

    def work(piece: Piece) -> None:
        at = piece.rows
        count = at.stop - at.start
        summed, marks = np.empty((count, h.shape[1] + p.shape[1]), h.dtype), np.empty((count, p.shape[1]), h.dtype)
        stream_sums(*piece.nodes, h, p, row_ptr, *layer.edges, summed, marks)
        layer.update(summed, marks, h[at], (new_h[at], new_p[at]))

    return work


def marked_rows(layers: Sequence[FixedLayer], still: States, cones: Cones) -> Tensor:
    """The network's output for the rows of cones, ``(R, C)``.

    Args:
        layers: as many as the cones are deep.
        still: the states of the unmarked graph.
        cones: the rows.
    """
    from policylearn.kernels.compiled_cones import cone_sums

    roots = torch.from_numpy(cones.node_of[: cones.ends[0]])
    h, p = still.h[0].index_select(0, roots), still.p[0].index_select(0, roots)
    h[:, 0] = 1
    p[:, 0] = 1
    for depth, layer in enumerate(layers):
        rows = int(cones.ends[depth + 1])
        before, marks_before = still.h[depth], still.p[depth]
        new = layer.room(rows, h)
        rest = (
            h.numpy(), p.numpy(), before.numpy(), marks_before.numpy(), cones.node_of, cones.first, cones.heard,
            *layer.edges,
        )  # fmt: skip
        arrays = [one.numpy() for one in new]

        def work(piece: Piece, layer: FixedLayer = layer, arrays: Any = arrays, rest: Any = rest) -> None:
            at, channels, marked = piece.rows, rest[0].shape[1], rest[1].shape[1]
            count, dtype = at.stop - at.start, arrays[0].dtype
            summed, marks = np.empty((count, channels + marked), dtype), np.empty((count, marked), dtype)
            own = np.empty((count, channels), dtype)
            cone_sums(at.start, at.stop, *rest, summed, marks, own)
            layer.update(summed, marks, own, (arrays[0][at], arrays[1][at]))

        Pieces(np.arange(rows + 1), PIECE).each(work)
        h, p = new
    return h + p
