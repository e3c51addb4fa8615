"""Layers at inference, where norms need nothing from the batch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from policylearn.fast.gemm import product_address
from policylearn.fast.rows import NONE, NetworkRows, RowLists
from policylearn.fast.threads import Array, Team, threads_for, together

Half = tuple[Array, Array, Array, Array, Any]
"""Weight, what is added behind the map, scale, shift and epsilon of half an mlp, see `mlp_loops`."""

NO_ROWS = RowLists(0, NONE, np.zeros(1, np.int64), NONE, NONE)

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


def infer_layers(
    layers: Sequence[FixedLayer], rows: NetworkRows, given: FixedStates, known: Sequence[FixedStates] = ()
) -> list[FixedStates]:
    """Features and marks behind each layer, ahead of them those that are known.

    Args:
        layers: one after the other.
        rows: of each layer.
        given: features and marks that go in.
        known: rows in front of each layer, and behind the last, that stand ahead of those that are made.
    """
    from policylearn.fast.layer_loops import row_forward

    if known:
        given = tuple(np.concatenate(both) for both in zip(known[0], given, strict=True))  # type: ignore[assignment]
    found: list[FixedStates] = []
    calls = []
    nothing, gemm = np.empty((0, 0), given[0].dtype), product_address(given[0].dtype)
    for depth, layer in enumerate(layers):
        h, p = given
        streams = [(rows.features[depth], (h, p, rows.marks_of[depth] if len(layer.mlps) > 1 else NONE), layer.values)]
        if len(layer.mlps) > 1:
            streams.append((rows.marks[depth], (p, nothing, NONE), nothing))
        else:
            streams.append((NO_ROWS, (nothing, nothing, NONE), nothing))
        made, described = [], []
        for number, (lists, states, values) in enumerate(streams):
            halves = layer.mlps[number] if number < len(layer.mlps) else _no_halves(nothing)
            ahead = known[depth + 1][number] if known else nothing
            whole = np.empty((len(ahead) + lists.count, len(halves[1][0])), nothing.dtype)
            if len(ahead):
                whole[: len(ahead)] = ahead
            made.append(whole)
            room = nothing, nothing, nothing, whole[len(ahead) :]
            own = *states, values, layer.scales[number], layer.residual and number == 0
            described.append((own, (*lists.lists, nothing[0:0].reshape(0)), halves, room, (nothing, nothing)))
        calls.append((gemm, layer.by_row, tuple(described)))
        given = made[0], made[1]
        found.append(given)

    def work(team: Team) -> None:
        for call in calls:
            row_forward(team, *call)

    together(threads_for(rows.total), work)
    return found


def _no_halves(nothing: Array) -> tuple[Half, Half]:
    """What stands for the mlp of a stream that is not there."""
    vector = nothing.reshape(0)
    half = nothing, vector, vector, vector, nothing.dtype.type(0)
    return half, half
