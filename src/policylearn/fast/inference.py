"""Layers at inference, where norms need nothing from the batch: over whole copies, or over the cones of marks alone.

After l layers a marked copy differs from the unmarked graph only within l steps of its root (the cone of the mark). So
the unmarked graph is computed once, and of each marked copy its cone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from policylearn.fast.gemm import product_address
from policylearn.fast.mlps import Work
from policylearn.fast.rows import NONE, Rows, as_array, empty_rows
from policylearn.fast.threads import PIECE, Array, Piece, Pieces

Half = tuple[Array, Array, Array, Array, Any]
"""Weight, what is added behind the map, scale, shift and epsilon of half an mlp, see `mlp_loops`."""


@dataclass(frozen=True)
class FixedLayer:
    """A layer at inference.

    Args:
        mlps: both halves of the mlp of each stream, that of the features first.
        by_row: whether norms are layer norms.
        edges: the row of the edges' values that each message has, the values, and the scales of a node's own state.
        residual: add the h that came in.
    """

    mlps: list[tuple[Half, Half]]
    by_row: bool
    edges: tuple[Array, Array, Any, Any]
    residual: bool

    def room(self, rows: int, like: Tensor) -> tuple[Tensor, Tensor]:
        """Room for the features and marks of so many rows; marks have no channels where there is one stream."""
        widths = [len(second[0]) for _, second in self.mlps]
        return empty_rows(rows, widths[0], like), empty_rows(rows, widths[1] if len(widths) > 1 else 0, like)

    def update(self, summed: Sequence[Array], own: Array, out: Sequence[Array]) -> None:
        """What follows the sums, put into ``out``; ``own`` are the features that came in."""
        from policylearn.fast.mlp_loops import mlp_forward

        address, count = product_address(own.dtype), len(own)
        residuals = own if self.residual else own[:0], own[:0]
        for (one, two), x, residual, into in zip(self.mlps, summed, residuals, out, strict=False):
            hidden, rows = np.empty((count, len(one[0])), x.dtype), np.empty((2, count), x.dtype)
            mlp_forward(address, x, one, two, self.by_row, residual, hidden, hidden, into, into, rows, rows)


def _sum_room(count: int, h: Array, p: Array) -> tuple[Array, Array]:
    return np.empty((count, h.shape[1] + p.shape[1]), h.dtype), np.empty((count, p.shape[1]), h.dtype)


def whole_copies(layer: FixedLayer, rows: Rows, given: tuple[Tensor, Tensor], new: tuple[Tensor, Tensor]) -> Work:
    """What takes a piece of whole copies through a layer, from features and marks to new ones."""
    from policylearn.fast.message_loops import sum_messages

    h, p, new_h, new_p = (one.numpy() for one in (*given, *new))
    edges = (h, p, h, p, rows.node_of, rows.row_ptr, NONE, NONE, rows.target_ptr, rows.source, *layer.edges)

    def work(piece: Piece) -> None:
        at = piece.rows
        summed = _sum_room(piece.count, h, p)
        sum_messages(at.start, at.stop, *edges, *summed, h[:0])
        layer.update(summed, h[at], (new_h[at], new_p[at]))

    return work


def infer_layer(layer: FixedLayer, rows: Rows, h: Tensor, p: Tensor) -> tuple[Tensor, Tensor]:
    """New features and marks of whole copies, ``(R, C)`` and ``(R, C)``."""
    h, p = h.detach().contiguous(), p.detach().contiguous()
    new = layer.room(len(h), h)
    rows.pieces().each(whole_copies(layer, rows, (h, p), new))
    return new


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


def unmarked_states(layers: Sequence[FixedLayer], rows: Rows, ptr: Tensor, h: Tensor, p: Tensor) -> States:
    """Features and marks of the unmarked graphs behind each layer.

    Args:
        layers: of the network.
        rows: one per node.
        ptr: where the nodes of each graph start.
        h: features that go in.
        p: marks that go in.

    Shapes:
        ptr ``(G + 1,)``, h ``(N, C)``, p ``(N, M)``.
    """
    states, works = States([h], [p]), []
    for layer in layers:
        new = layer.room(len(h), h)
        works.append(whole_copies(layer, rows, (states.h[-1], states.p[-1]), new))
        states.h.append(new[0])
        states.p.append(new[1])
    graphs = Pieces(as_array(ptr), PIECE)
    if graphs.largest > 4 * PIECE:
        for work in works:  # a graph is too large for one thread's cache: all threads work on it, layer by layer
            rows.pieces().each(work)
    else:
        graphs.each(*works)  # a thread takes its graphs through all layers
    return states


@dataclass(frozen=True)
class Cones:
    """The rows (node and copy) that marks can reach, nearest first.

    Args:
        ends: how many rows lie within each distance of their root, ``(depth + 1,)``.
        node_of: node of each row.
        copy_of: copy of each row.
        message_ptr: where the messages of each row start in ``sender``.
        sender: the row that each message comes from, -1 where its source is out of reach.

    Shapes:
        node_of, copy_of and message_ptr ``(R,)``; sender one entry per message.
    """

    ends: Array
    node_of: Array
    copy_of: Array
    message_ptr: Array
    sender: Array

    @staticmethod
    def around(rows: Rows, roots: Tensor, depth: int) -> Cones:
        """The cones of copies with these roots, ``(copies, k)``, over ``depth`` layers; `NO_PICK` is none."""
        from policylearn.fast.cone_loops import grow_cones

        return Cones(
            *grow_cones(as_array(roots), depth, rows.source_ptr, rows.outgoing_targets, rows.target_ptr, rows.source)
        )


def marked_rows(layers: Sequence[FixedLayer], unmarked: States, rows: Rows, cones: Cones) -> Tensor:
    """The network's output for the rows of cones, ``(R, C)``.

    Args:
        layers: as many as the cones are deep.
        unmarked: the states of the unmarked graph.
        rows: one per node.
        cones: the rows.
    """
    from policylearn.fast.message_loops import sum_messages

    roots = torch.from_numpy(cones.node_of[: cones.ends[0]])
    h, p = unmarked.h[0].index_select(0, roots), unmarked.p[0].index_select(0, roots)
    h[:, 0] = 1
    p[:, 0] = 1
    for depth, layer in enumerate(layers):
        count = int(cones.ends[depth + 1])
        new = layer.room(count, h)
        states = [one.numpy() for one in (h, p, unmarked.h[depth], unmarked.p[depth])]
        edges = (
            *states, cones.node_of, NONE, cones.message_ptr, cones.sender, rows.target_ptr, rows.source, *layer.edges
        )  # fmt: skip
        arrays = [one.numpy() for one in new]

        def work(piece: Piece, layer: FixedLayer = layer, arrays: Any = arrays, edges: Any = edges) -> None:
            at, (h, p) = piece.rows, edges[:2]
            summed, own = _sum_room(piece.count, h, p), np.empty((piece.count, h.shape[1]), h.dtype)
            sum_messages(at.start, at.stop, *edges, *summed, own)
            layer.update(summed, own, [one[at] for one in arrays])

        Pieces(np.arange(count + 1), PIECE).each(work)
        h, p = new
    return h + p
