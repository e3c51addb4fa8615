"""Layers of two streams, or of one, one after the other, as a single differentiable step.

All that a piece of the rows goes through is done by one thread in few calls; threads meet between layers, and where a
batch norm needs the statistics of all rows. Of what lies between the two maps only the maps' outputs are kept for the
gradient.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable

from policylearn.fast.mlps import BatchNormMLP, CompiledMLP, LayerNormMLP, Stages, run_phases
from policylearn.fast.rows import DTYPES, NONE, NetworkRows, RowLists, as_array
from policylearn.fast.threads import Array, Piece, Work

CompiledNorm = Literal["batch", "layer"]
PER_STREAM = 9
"""Tensors of a stream: epsilon, and weight, bias, scale and shift of both halves."""


@dataclass(frozen=True)
class LayerSettings:
    """What a layer is made of besides its weights.

    Args:
        norm: of all places.
        eps: what each norm adds to variances, two per stream.
        residual: add the h that came in.
        streams: how many there are, that of the features first.
    """

    norm: CompiledNorm
    eps: tuple[tuple[float, float], ...]
    residual: bool
    streams: int

    @property
    def tensors(self) -> int:
        """How many it takes: the edges' values and the weights."""
        return 1 + PER_STREAM * self.streams


@dataclass(frozen=True)
class NetworkStep:
    """Layers and the rows that go through them.

    Args:
        layers: one after the other.
        rows: of each layer.
        beside: whether rows are known in front of each layer that stand ahead of those that are made.
        every: whether what each layer gives is given back, or only the last.
    """

    layers: Sequence[LayerSettings]
    rows: NetworkRows
    beside: bool = False
    every: bool = False

    @property
    def known(self) -> int:
        """How many tensors are known in front of layers."""
        return 2 * len(self.layers) if self.beside else 0


States = list[tuple[Tensor, Tensor]]
"""Features and marks in front of or behind layers; marks without channels where there is one stream."""


def network_step(
    step: NetworkStep, given: States, tensors: Sequence[Sequence[Tensor | None]]
) -> tuple[States, list[list[Array]]]:
    """``relu(norm(gin([h, p]))) + h`` and ``relu(norm(gin(p)))`` of each layer, and what its batch norms found.

    Args:
        step: layers and rows.
        given: features and marks that go in; with ``beside`` those that are known in front of each layer follow.
        tensors: of each layer the edges' vectors (None without edge features), then the weights, `PER_STREAM` per
            stream, those of the features first.

    Shapes:
        features ``(R, C)``, marks ``(R', P)``, the edges' vectors ``(K, C + P)``; mean and biased variance ``(2, C)``
        per batch norm.
    """
    found: list[list[Array]] = []  # handed over beside the tensors: autograd has nothing to do with it
    flat = [one for pair in given for one in pair] + [one for layer in tensors for one in layer]
    new: Any = _NetworkStep.apply(step, found, *flat)  # type: ignore[no-untyped-call]
    return list(zip(new[::2], new[1::2], strict=True)), found


class _NetworkStep(Function):
    @staticmethod
    def forward(ctx: Any, step: NetworkStep, found: list[list[Array]], *given: Tensor | None) -> Any:
        ctx.set_materialize_grads(False)
        arrays = _arrays(given)
        states, known, tensors = arrays[:2], arrays[2 : 2 + step.known], arrays[2 + step.known :]
        out: list[Array] = []
        runs: list[_LayerRun] = []
        for depth, layer in enumerate(step.layers):
            ahead = known[2 * depth : 2 * depth + 2]
            if step.beside:
                states = [np.concatenate(both) for both in zip(ahead, states, strict=True)]
            own, tensors = tensors[: layer.tensors], tensors[layer.tensors :]
            runs.append(_LayerRun(layer, step.rows, depth, states, own))
            states = runs[-1].forward()
            found.append(runs[-1].found())
            out += states if step.every or depth == len(step.layers) - 1 else []
        ctx.save_for_backward(*given)
        ctx.step, ctx.runs, ctx.ahead = step, runs, [len(one) for one in known]
        return tuple(torch.from_numpy(one) for one in out)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor | None) -> Any:
        _ = ctx.saved_tensors  # to be told if somebody has changed weights since
        step: NetworkStep = ctx.step
        arrived = [None if one is None else as_array(one) for one in gradients]
        to_states, to_known, to_tensors = arrived[-2:], list[Array | None](), list[Array | None]()
        for depth in range(len(step.layers) - 1, -1, -1):
            to_states, own = ctx.runs[depth].backward(to_states)
            to_tensors[:0] = own
            if step.beside:
                ahead = ctx.ahead[2 * depth : 2 * depth + 2]
                to_known[:0] = [one[:split] for one, split in zip(to_states, ahead, strict=True)]
                to_states = [one[split:] for one, split in zip(to_states, ahead, strict=True)]
            if step.every and depth:
                here = arrived[2 * depth - 2 : 2 * depth]
                to_states = [one if more is None else one + more for one, more in zip(to_states, here, strict=True)]
        every = (*to_states, *to_known, *to_tensors)
        return None, None, *(None if one is None else torch.from_numpy(one) for one in every)


def _arrays(given: Sequence[Tensor | None]) -> list[Array]:
    """The tensors' numbers; nothing at all, in their precision, for None."""
    first = next(one for one in given if one is not None)
    nothing = np.empty((0, 0), DTYPES[first.dtype])
    return [nothing if one is None else as_array(one) for one in given]


class _LayerRun:
    """A layer on its way through both passes."""

    def __init__(
        self,
        layer: LayerSettings,
        rows: NetworkRows,
        depth: int,
        states: Sequence[Array],
        tensors: Sequence[Array],
    ) -> None:
        h, p = states
        values, *flat = tensors
        marks_of = rows.marks_of[depth] if layer.streams > 1 else NONE
        self.streams = [_StreamRun(layer, 0, rows.features[depth], (h, p, marks_of), values, flat, (NONE, NONE))]
        if layer.streams > 1:
            nothing, more = np.empty((0, 0), h.dtype), flat[PER_STREAM:]
            of_marks = rows.features_of[depth]
            self.streams.append(_StreamRun(layer, 1, rows.marks[depth], (p, nothing, NONE), nothing, more, of_marks))

    def forward(self) -> list[Array]:
        """New features and marks."""
        run_phases([stream.forward() for stream in self.streams])
        out = [stream.out for stream in self.streams]
        return out if len(out) > 1 else [*out, np.empty((0, 0), self.streams[0].out.dtype)]

    def found(self) -> list[Array]:
        """See `CompiledMLP`."""
        return [one for stream in self.streams for one in stream.mlp.found()]

    def backward(self, gradients: Sequence[Array | None]) -> tuple[list[Array], list[Array | None]]:
        """Gradients of the states and of the tensors, given those of what came out."""
        own = [
            np.zeros_like(stream.out) if gradient is None else gradient
            for stream, gradient in zip(self.streams, gradients, strict=False)
        ]
        run_phases([stream.backward(gradient) for stream, gradient in zip(self.streams, own, strict=True)])
        to_marks = np.empty((0, 0), own[0].dtype)
        to_states, to_tensors = [], list[Array | None]()
        for stream, gradient in zip(self.streams, own, strict=True):
            to_own, to_marks, to_values, to_scale = stream.backward_sums(gradient, to_marks)
            to_states.append(to_own)
            to_tensors += [] if to_tensors else [to_values if to_values.size else None]
            to_tensors += [to_scale, *stream.mlp.gradients()]
        return to_states if len(to_states) > 1 else [*to_states, to_marks], to_tensors


class _StreamRun:
    """One stream of a layer.

    Args:
        layer: its settings.
        number: which of the layer's streams.
        lists: its rows.
        states: what goes in: rows, marks that stand beside them, and which of these each row has.
        values: the edges' vectors; without columns if there are none.
        flat: the stream's weights.
        others: which rows of another stream have each row of this one as their marks, see `NetworkRows.features_of`.
    """

    def __init__(
        self,
        layer: LayerSettings,
        number: int,
        lists: RowLists,
        states: tuple[Array, Array, Array],
        values: Array,
        flat: Sequence[Array],
        others: tuple[Array, Array],
    ) -> None:
        self.lists, self.states, self.values, self.others = lists, states, values, others
        h, p, _ = states
        self.scale = h.dtype.type(1 + flat[0][0])
        self.residual = layer.residual and number == 0
        self.kept = np.empty((lists.count if self.residual else 0, h.shape[1]), h.dtype)
        x = np.empty((lists.count, h.shape[1] + p.shape[1]), h.dtype)
        kind = BatchNormMLP if layer.norm == "batch" else LayerNormMLP
        self.mlp: CompiledMLP = kind(flat[1:PER_STREAM], layer.eps[number], lists, x)
        self.out = np.empty((lists.count, self.mlp.outputs), h.dtype)

    def forward(self) -> Stages:
        """What fills ``out``."""
        return Stages(self.mlp.pieces, self.mlp.forward(self.kept, self.out), (self._sums(),))

    def backward(self, gradient: Array) -> Stages:
        """What fills the gradient of the sums along edges."""
        return Stages(self.mlp.pieces, self.mlp.backward(gradient))

    def _sums(self) -> Work:
        from policylearn.fast.message_loops import sum_messages

        given, x = (*self.states, *self.lists.lists, self.values, self.scale), self.mlp.x

        def work(piece: Piece) -> None:
            at = piece.rows
            sum_messages(at.start, at.stop, *given, x[at], self.kept[at])

        return work

    def backward_sums(self, gradient: Array, more: Array) -> tuple[Array, Array, Array, Array]:
        """Gradients of the rows, of each row's marks, of the values and of the scale.

        Args:
            gradient: of what came out, which the residual hands on.
            more: gradients of other rows' marks, which are rows of this stream.
        """
        from policylearn.fast.message_loops import sum_messages_gradient

        h, p, _ = self.states
        pieces = self.lists.pieces_inside()
        to_h, to_marks = np.empty_like(h), np.empty((len(h), p.shape[1]), h.dtype)
        # Rows of the values are touched by every thread, which therefore each have a table.
        tables = np.zeros((pieces.threads, *self.values.shape), h.dtype)
        to_scale = np.zeros((pieces.threads, self.mlp.x.shape[1]), h.dtype)
        given = (
            self.mlp.to_x, gradient if self.residual else gradient[:0], *self.states, *self.lists.hearers,
            self.lists.kind, self.values, self.scale, more, *self.others, to_h, to_marks,
        )  # fmt: skip

        def work(piece: Piece) -> None:
            at = piece.rows
            sum_messages_gradient(at.start, at.stop, *given, tables[piece.thread], to_scale[piece.thread])

        pieces.each(work)
        return to_h, to_marks, tables.sum(axis=0), to_scale.sum().reshape(1)
