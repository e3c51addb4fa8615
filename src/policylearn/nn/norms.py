"""Norms over the rows of a bag."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from policylearn.settings import NormKind


class RowNorm(nn.Module):
    """A norm over the rows of a bag."""

    @property
    def mixes(self) -> bool:
        """Whether what becomes of a row now depends on the other rows."""
        return False


class RowBatchNorm(RowNorm):
    """Batch norm over the rows of a bag.

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
        """Normalise ``(R, C)`` rows.

        Args:
            rows: ``(R, C)``.
            update_statistics: whether running statistics move, where there are any and the norm is being trained.
        """
        if self.fixed:
            return functional.batch_norm(
                rows, self.running_mean, self.running_var, self.weight, self.bias, False, 0.0, self.eps
            )
        if len(rows) <= 1:
            # A single row has no spread of its own; torch refuses it in training. It is its own mean. No row at all, as
            # of rings in a batch without any, would leave NaN in the running statistics.
            return self.bias.expand_as(rows) + 0 * rows
        if not self.track:
            # On the unmarked graph the first layer's marks are one constant, whose spread is rounding alone and would
            # be divided by sqrt(eps). Norms do not care about a shift, and the shifted constant is exactly zero.
            rows = rows - rows[:1].detach()
            return functional.batch_norm(rows, None, None, self.weight, self.bias, True, 0.0, self.eps)
        momentum = self.momentum if update_statistics else 0.0
        return functional.batch_norm(
            rows, self.running_mean, self.running_var, self.weight, self.bias, True, momentum, self.eps
        )

    @property
    def mixes(self) -> bool:
        """See `RowNorm`."""
        return not self.fixed

    @property
    def fixed(self) -> bool:
        """Whether the running statistics are used."""
        return self.track and not self.training

    def remember(self, mean: Tensor, variance: Tensor, count: int) -> None:
        """Move the running statistics towards those of ``count`` rows, ``(C,)`` each, the variance biased."""
        if self.track and self.training:
            # Through .data: an earlier pass of the step holds the buffers for its gradient, which does not read them.
            self.running_mean.data.lerp_(mean, self.momentum)
            self.running_var.data.lerp_(variance * (count / (count - 1)), self.momentum)

    def extra_repr(self) -> str:
        return f"{len(self.weight)}, track={self.track}"


class RowLayerNorm(RowNorm):
    """Layer norm: each row by itself, so nothing in the batch touches anything else."""

    def __init__(self, channels: int, *, eps: float = 1e-5) -> None:
        super().__init__()
        self.eps = eps
        self.norm = nn.LayerNorm(channels, eps=eps)

    def forward(self, rows: Tensor) -> Tensor:
        """Normalise ``(R, C)`` rows."""
        normed: Tensor = self.norm(rows)
        return normed


class NoNorm(RowNorm):
    """Rows as they are."""

    def forward(self, rows: Tensor) -> Tensor:
        """Give the rows back."""
        return rows


def build_norm(kind: NormKind, channels: int, *, track: bool = True) -> RowNorm:
    """The norm of that name."""
    if kind == "batch":
        return RowBatchNorm(channels, track=track)
    if kind == "layer":
        return RowLayerNorm(channels)
    if kind == "none":
        return NoNorm()
    raise ValueError(f"'norm' must be 'batch', 'layer' or 'none' (got '{kind}')")
