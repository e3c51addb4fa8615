"""Norms over the rows of a bag, and the small perceptrons that have them."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.nn import functional

from policylearn.settings import NormKind


class RowBatchNorm(nn.Module):
    """Batch norm over the rows of a bag, ``(R, C) -> (R, C)``.

    Args:
        channels: C.
        track: keep running statistics and use them in evaluation. Without them evaluation takes batch statistics too,
            and an output depends on the rest of its batch.
        momentum: of the running statistics.
        eps: added to the variance.
    """

    running_mean: Tensor
    running_var: Tensor

    def __init__(self, channels: int, *, track: bool = True, momentum: float = 0.1, eps: float = 1e-5) -> None:
        super().__init__()
        self.track, self.momentum, self.eps = track, momentum, eps
        self.weight = nn.Parameter(torch.ones(channels))
        self.bias = nn.Parameter(torch.zeros(channels))
        if track:
            self.register_buffer("running_mean", torch.zeros(channels))
            self.register_buffer("running_var", torch.ones(channels))

    def forward(self, rows: Tensor, *, update_statistics: bool = True) -> Tensor:
        """Normalise; ``update_statistics`` says whether running statistics move in training."""
        affine = self.weight, self.bias
        if self.fixed:
            return functional.batch_norm(rows, self.running_mean, self.running_var, *affine, False, 0.0, self.eps)
        if len(rows) <= 1:
            # A single row has no spread of its own; torch refuses it in training. It is its own mean. No row at all, as
            # of rings in a batch without any, would leave NaN in the running statistics.
            return self.bias.expand_as(rows) + 0 * rows
        if not self.track:
            # On the unmarked graph the first layer's marks are one constant, whose spread is rounding alone and would
            # be divided by sqrt(eps). Norms do not care about a shift, and the shifted constant is exactly zero.
            rows = rows - rows[:1].detach()
            return functional.batch_norm(rows, None, None, *affine, True, 0.0, self.eps)
        momentum = self.momentum if update_statistics else 0.0
        return functional.batch_norm(rows, self.running_mean, self.running_var, *affine, True, momentum, self.eps)

    @property
    def fixed(self) -> bool:
        """Whether the running statistics are used."""
        return self.track and not self.training

    def update_running_stats(self, mean: Tensor, variance: Tensor, count: int) -> None:
        """Move the running statistics towards those of ``count`` rows, ``(C,)`` each, the variance biased."""
        if self.track and self.training:
            # Through .data: an earlier pass of the step holds the buffers for its gradient, which does not read them.
            self.running_mean.data.lerp_(mean, self.momentum)
            self.running_var.data.lerp_(variance * (count / (count - 1)), self.momentum)

    def extra_repr(self) -> str:
        return f"{len(self.weight)}, track={self.track}"


class RowLayerNorm(nn.Module):
    """Layer norm: each row by itself, so nothing in the batch touches anything else."""

    def __init__(self, channels: int, *, eps: float = 1e-5) -> None:
        super().__init__()
        self.eps = eps
        self.norm = nn.LayerNorm(channels, eps=eps)

    def forward(self, rows: Tensor) -> Tensor:
        return self.norm(rows)


def build_norm(kind: NormKind, channels: int, *, track: bool = True) -> nn.Module:
    """The norm of that name."""
    if kind == "batch":
        return RowBatchNorm(channels, track=track)
    if kind not in ("layer", "none"):
        raise ValueError(f"'norm' must be 'batch', 'layer' or 'none' (got '{kind}')")
    return RowLayerNorm(channels) if kind == "layer" else nn.Identity()


class MLP(nn.Module):
    """Linear maps ``lin1``, ``lin2``, ... of these widths, with an activation between."""

    lin1: nn.Linear
    lin2: nn.Linear

    def __init__(self, *widths: int, activation: Callable[[Tensor], Tensor] = torch.relu) -> None:
        super().__init__()
        self.activation = activation
        for step, (inputs, outputs) in enumerate(pairwise(widths), start=1):
            self.add_module(f"lin{step}", nn.Linear(inputs, outputs))

    def forward(self, x: Tensor) -> Tensor:
        *hidden, last = self.children()
        for linear in hidden:
            x = self.activation(linear(x))
        return last(x)


def sequence(**layers: nn.Module) -> nn.Sequential:
    """Layers one after the other, whose weights have these names."""
    return nn.Sequential(OrderedDict(layers))


def normed_mlp(inputs: int, channels: int) -> nn.Sequential:
    """``lin2(relu(norm(lin1(x))))`` with a batch norm over all rows, ``(R, inputs) -> (R, C)``."""
    lin1, lin2 = nn.Linear(inputs, channels), nn.Linear(channels, channels)
    return sequence(lin1=lin1, norm=RowBatchNorm(channels), relu=nn.ReLU(), lin2=lin2)


def two_maps(inputs: int, hidden: int, channels: int, norm: NormKind = "batch") -> nn.Sequential:
    """Linear map, norm, relu, twice, ``(R, inputs) -> (R, C)``."""
    lin1, lin2 = nn.Linear(inputs, hidden), nn.Linear(hidden, channels)
    norm1, norm2 = build_norm(norm, hidden), build_norm(norm, channels)
    return sequence(lin1=lin1, norm1=norm1, relu1=nn.ReLU(), lin2=lin2, norm2=norm2, relu2=nn.ReLU())
