"""Layers of two streams, or of one, one after the other, as a single differentiable step.

All layers are prepared first. Then each thread goes through all of them, one compiled call per layer, and meets the
others within these. Of what lies between the two maps only the maps' outputs are kept for the gradient.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable

from policylearn.fast.gemm import product_address
from policylearn.fast.rows import DTYPES, NONE, NetworkRows, as_array
from policylearn.fast.streams import PER_STREAM, LayerSettings, StreamRun, no_stream
from policylearn.fast.threads import Array, Team, threads_for, together


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
        threads = threads_for(step.rows.total)
        runs: list[_LayerRun] = []
        for depth, layer in enumerate(step.layers):
            own, tensors = tensors[: layer.tensors], tensors[layer.tensors :]
            if step.beside and depth == 0:
                states = [np.concatenate(both) for both in zip(known[:2], states, strict=True)]
            ahead = known[2 * depth + 2 : 2 * depth + 4] or [states[0][:0], states[1][:0]]
            runs.append(_LayerRun(layer, step.rows, depth, states, own, ahead, threads))
            states = runs[-1].handed_on
        _go_through(threads, [run.forward() for run in runs])
        out = [one for run in runs if step.every or run is runs[-1] for one in run.out]
        found += [run.found() for run in runs]
        ctx.save_for_backward(*given)
        ctx.step, ctx.runs, ctx.ahead, ctx.threads = step, runs, [len(one) for one in known], threads
        return tuple(torch.from_numpy(one) for one in out)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor | None) -> Any:
        _ = ctx.saved_tensors  # to be told if somebody has changed weights since
        step: NetworkStep = ctx.step
        runs: list[_LayerRun] = ctx.runs
        arrived = [None if one is None else as_array(one) for one in gradients]
        to_states, ahead = arrived[-2:], ctx.ahead or [0] * (2 * len(runs))
        calls = []
        for depth in range(len(runs) - 1, -1, -1):
            further = arrived[2 * depth - 2 : 2 * depth] if step.every and depth else [None, None]
            calls.append(runs[depth].backward(to_states, further))
            splits = zip(runs[depth].to_states, ahead[2 * depth : 2 * depth + 2], strict=True)
            to_states = [one[split:] for one, split in splits]
        _go_through(ctx.threads, calls)
        to_known = [one[:split] for run in runs for one, split in _cut(run.to_states, ahead, runs.index(run))]
        to_tensors = [one for run in runs for one in run.gradients()]
        every = (*to_states, *(to_known if step.beside else ()), *to_tensors)
        return None, None, *(None if one is None else torch.from_numpy(one) for one in every)


def _cut(states: Sequence[Array], ahead: Sequence[int], depth: int) -> Any:
    """What goes into a layer, and how much of it is known from elsewhere."""
    return zip(states, ahead[2 * depth : 2 * depth + 2], strict=True)


def _go_through(threads: int, calls: Sequence[Callable[[Team], None]]) -> None:
    """One call after the other, in each of the threads."""

    def work(team: Team) -> None:
        for call in calls:
            call(team)

    together(threads, work)


def _arrays(given: Sequence[Tensor | None]) -> list[Array]:
    """The tensors' numbers; nothing at all, in their precision, for None."""
    first = next(one for one in given if one is not None)
    nothing = np.empty((0, 0), DTYPES[first.dtype])
    return [nothing if one is None else as_array(one) for one in given]


class _LayerRun:
    """A layer on its way through both passes.

    Args:
        layer: its settings.
        rows: of all layers.
        depth: which of them it is.
        states: features and marks that go in.
        tensors: the edges' vectors and the weights.
        ahead: what is known of the next layer's input.
        threads: how many there are.
    """

    def __init__(
        self,
        layer: LayerSettings,
        rows: NetworkRows,
        depth: int,
        states: Sequence[Array],
        tensors: Sequence[Array],
        ahead: Sequence[Array],
        threads: int,
    ) -> None:
        h, p = states
        values, *flat = tensors
        dtype = h.dtype
        self.batch, self.streams, self.gemm = layer.norm == "batch", layer.streams, product_address(dtype)
        self.others = rows.features_of[depth] if layer.streams > 1 else (NONE, NONE)
        lists = [rows.features[depth], *(rows.marks[depth : depth + 1] if layer.streams > 1 else [])]
        self.handed_on, self.out = [], list[Array]()
        for known, own, weight in zip(ahead, lists, flat[5::PER_STREAM], strict=False):
            whole = np.empty((len(known) + own.count, len(weight)), dtype)  # the next layer's input
            if len(known):
                whole[: len(known)] = known
            self.handed_on.append(whole)
            self.out.append(whole[len(known) :])
        if layer.streams == 1:
            self.handed_on.append(np.empty((0, 0), dtype))
            self.out.append(self.handed_on[-1])
        marks_of, nothing = rows.marks_of[depth] if layer.streams > 1 else NONE, np.empty((0, 0), dtype)
        both = [((h, p, marks_of), values), ((p, nothing, NONE), nothing)]
        self.runs = [
            StreamRun(
                layer.norm, layer.eps[number], layer.residual and number == 0, own, *both[number],
                flat[PER_STREAM * number :][:PER_STREAM], self.out[number], threads,
            )
            for number, own in enumerate(lists)
        ]  # fmt: skip
        if layer.streams == 1:
            self.runs.append(no_stream(layer.norm, dtype, threads))

    def forward(self) -> Callable[[Team], None]:
        """What each thread does to fill ``out``."""
        from policylearn.fast.layer_loops import batch_forward, row_forward

        gemm, streams = self.gemm, (self.runs[0].forward, self.runs[1].forward)
        if self.batch:
            return lambda team: batch_forward(team, gemm, streams)
        return lambda team: row_forward(team, gemm, True, streams)

    def found(self) -> list[Array]:
        """Mean and biased variance of what went into each batch norm, ``(2, C)``."""
        return [one for run in self.runs[: self.streams] for one in run.found]

    def backward(self, gradients: Sequence[Array | None], arrived: Sequence[Array | None]) -> Callable[[Team], None]:
        """What each thread does to fill ``to_states`` and the weights' gradients, given those of what came out.

        Args:
            gradients: of what came out.
            arrived: of what went in, from elsewhere.
        """
        from policylearn.fast.layer_loops import batch_backward, row_backward

        gemm, dtype = self.gemm, self.out[0].dtype
        nothing, more, given = np.empty((0, 0), dtype), np.empty((0, 0), dtype), []
        for number, run in enumerate(self.runs):
            gradient, further = gradients[number], arrived[number] if number < self.streams else None
            gradient = np.zeros_like(self.out[number]) if gradient is None else gradient
            others = self.others if number == 1 else (NONE, NONE)
            given.append(run.backward(gradient, more, others, nothing if further is None else further))
            more = run.to_marks
        through, along = (given[0][0], given[1][0]), (given[0][1], given[1][1])
        if self.batch:
            return lambda team: batch_backward(team, gemm, through, along)
        return lambda team: row_backward(team, gemm, through, along)

    @property
    def to_states(self) -> list[Array]:
        """Gradients of what went in."""
        return [self.runs[0].to_h, self.runs[1].to_h]

    def gradients(self) -> list[Array | None]:
        """Those of the tensors, after the backward pass."""
        return [self.runs[0].values_gradient(), *(one for run in self.runs[: self.streams] for one in run.gradients())]
