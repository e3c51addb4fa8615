"""Layers at inference, where norms need nothing from the batch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from policylearn.fast.gemm import product_address
from policylearn.fast.rows import NONE, NetworkRows, RowLists
from policylearn.fast.threads import Array, Job, Piece, each_of

Half = tuple[Array, Array, Array, Array, Any]
"""Weight, what is added behind the map, scale, shift and epsilon of half an mlp, see `mlp_loops`."""

FixedStates = tuple[Array, Array]
"""Features and marks; marks without channels where there is one stream."""


@dataclass(frozen=True)
class FixedLayer:
    """A layer at inference.

    Args:
        mlps: both halves of the mlp of each stream, that of the features first.
        by_row: whether norms are layer norms.
        values: the edges' vectors; without columns if there are none.
        scales: of a node's own state, in both streams.
        residual: add the h that came in.
    """

    mlps: list[tuple[Half, Half]]
    by_row: bool
    values: Array
    scales: tuple[Any, Any]
    residual: bool

    def job(self, stream: int, lists: RowLists, states: tuple[Array, Array, Array], new: Array) -> Job:
        """What takes the rows of a stream through the layer.

        Args:
            stream: which.
            lists: its rows.
            states: rows, marks that stand beside them, and which of these each row has.
            new: what comes out.
        """
        from policylearn.fast.message_loops import sum_messages
        from policylearn.fast.mlp_loops import mlp_forward

        h, p, _ = states
        (one, two), dtype = self.mlps[stream], h.dtype
        values = self.values if stream == 0 else self.values[:0, :0]
        given = *states, *lists.lists, values, self.scales[stream]
        kept = self.residual and stream == 0
        address = product_address(dtype)

        def work(piece: Piece) -> None:
            at, count = piece.rows, piece.count
            x, own = (
                np.empty((count, h.shape[1] + p.shape[1]), dtype),
                np.empty((count if kept else 0, h.shape[1]), dtype),
            )
            sum_messages(at.start, at.stop, *given, x, own)
            rows = np.empty((2, count), dtype)
            mlp_forward(address, x, one, two, self.by_row, own, x[:0], new[at], new[at], rows, rows)

        return lists.pieces(), (work,)


def infer_layers(
    layers: Sequence[FixedLayer], rows: NetworkRows, given: FixedStates, known: Sequence[FixedStates] = ()
) -> list[FixedStates]:
    """Features and marks behind each layer.

    Args:
        layers: one after the other.
        rows: of each layer.
        given: features and marks that go in.
        known: rows in front of each layer that stand ahead of those that are made.
    """
    found: list[FixedStates] = []
    for depth, layer in enumerate(layers):
        h, p = given
        if known:
            h, p = (np.concatenate(both) for both in zip(known[depth], given, strict=True))
        streams = [(rows.features[depth], (h, p, rows.marks_of[depth] if len(layer.mlps) > 1 else NONE))]
        if len(layer.mlps) > 1:
            streams.append((rows.marks[depth], (p, p[:0, :0], NONE)))
        new = [
            np.empty((lists.count, len(mlp[1][0])), h.dtype)
            for (lists, _), mlp in zip(streams, layer.mlps, strict=True)
        ]
        each_of([layer.job(number, *stream, new[number]) for number, stream in enumerate(streams)])
        given = new[0], new[1] if len(new) > 1 else p[:0, :0]
        found.append(given)
    return found
