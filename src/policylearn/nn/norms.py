"""Norms over the rows of a bag."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

from policylearn.kernels import Affine, FixedHalf, FusedNorm, use_compiled

NormKind = Literal["batch", "layer", "none"]
NormScope = Literal["bag", "slot"]


class RowNorm(nn.Module):
    """A norm over the rows of a bag, of which ``width`` neighbouring ones are the copies of one node.

    A class that changes ``forward`` has to change what the other methods say of it, too.
    """

    eps: float
    """Added to variances."""

    @property
    def mixes(self) -> bool:
        """Whether what becomes of a row now depends on the other rows."""
        return False

    def fused(self, rows: int, width: int) -> FusedNorm | None:
        """Which of the kernels' norms gives the same for so many rows now; None if none does."""
        return None

    def affine(self, linear: nn.Linear) -> Affine:
        """The weights of a linear map and of this norm behind it."""
        raise NotImplementedError

    def remember(self, mean: Tensor, variance: Tensor, count: int) -> None:
        """Take note of the statistics of ``count`` rows, ``(C,)`` each."""

    def fixed(self, linear: nn.Linear) -> FixedHalf | None:
        """A linear map with this norm behind it, where a row now needs nothing from other rows; else None."""
        return None


class RowBatchNorm(RowNorm):
    """Batch norm over the rows of a bag.

    Args:
        channels: C.
        scope: `bag`: statistics over all rows together. `slot`: each copy's statistics are its own, taken across the
            batch, so that a copy's state does not change when further copies join the bag.
        track: keep running statistics and use them, the same for every slot, in evaluation. Without them evaluation
            takes batch statistics too, and an output depends on the rest of its batch.
        momentum: of the running statistics.
        eps: added to the variance.
    """

    running_mean: Tensor
    running_var: Tensor

    def __init__(
        self, channels: int, *, scope: NormScope = "bag", track: bool = True, momentum: float = 0.1, eps: float = 1e-5
    ) -> None:
        super().__init__()
        self.scope, self.track, self.momentum, self.eps = scope, track, momentum, eps
        self.weight = nn.Parameter(torch.ones(channels))
        self.bias = nn.Parameter(torch.zeros(channels))
        if track:
            self.register_buffer("running_mean", torch.zeros(channels))
            self.register_buffer("running_var", torch.ones(channels))

    def forward(self, rows: Tensor, width: int) -> Tensor:
        """Normalise ``(R, C)`` rows of which ``width`` neighbouring ones are the copies of one node."""
        if self._fixed:
            return functional.batch_norm(
                rows, self.running_mean, self.running_var, self.weight, self.bias, False, 0.0, self.eps
            )
        wide = self._wide(width)
        count = len(rows) // width if wide else len(rows)
        if count == 1:
            # A single row has no spread of its own; torch refuses it in training. It is its own mean.
            return self.bias.expand_as(rows) + 0 * rows
        if wide:
            return self._each_slot(rows.view(count, width, -1)).view_as(rows)
        if not self.track:
            # On the unmarked graph the first layer's marks are one constant, whose spread is rounding alone and would
            # be divided by sqrt(eps). Norms do not care about a shift, and the shifted constant is exactly zero.
            rows = rows - rows[:1].detach()
            return functional.batch_norm(rows, None, None, self.weight, self.bias, True, 0.0, self.eps)
        return functional.batch_norm(
            rows, self.running_mean, self.running_var, self.weight, self.bias, True, self.momentum, self.eps
        )

    def fused(self, rows: int, width: int) -> FusedNorm | None:
        """See `RowNorm`; the kernels take the statistics of all rows together."""
        return None if self._fixed or self._wide(width) or rows < 2 else "batch"

    def affine(self, linear: nn.Linear) -> Affine:
        """See `RowNorm`."""
        return Affine(linear.weight, linear.bias, self.weight, self.bias)

    def fixed(self, linear: nn.Linear) -> FixedHalf | None:
        """See `RowNorm`; running statistics are folded into the linear map."""
        if not self._fixed:
            return None
        factor = self.weight.detach() * torch.rsqrt(self.running_var + self.eps)
        shift = (linear.bias.detach() - self.running_mean) * factor + self.bias.detach()
        return FixedHalf(linear.weight.detach() * factor.unsqueeze(1), shift, shift[:0], shift[:0])

    @property
    def mixes(self) -> bool:
        """See `RowNorm`."""
        return not self._fixed

    @property
    def _fixed(self) -> bool:
        """Whether the running statistics are used."""
        return self.track and not self.training

    def _wide(self, width: int) -> bool:
        return self.scope == "slot" and width > 1

    def remember(self, mean: Tensor, variance: Tensor, count: int) -> None:
        """Move the running statistics towards those of ``count`` rows, ``(C,)`` each, the variance biased."""
        if self.track and self.training:
            # Through .data: an earlier pass of the step holds the buffers for its gradient, which does not read them.
            self.running_mean.data.lerp_(mean, self.momentum)
            self.running_var.data.lerp_(variance * count / (count - 1), self.momentum)

    def _each_slot(self, rows: Tensor) -> Tensor:
        """Normalise each slot by its own statistics, ``(N, S, C)``."""
        var, mean = torch.var_mean(rows, dim=0, correction=0)  # (S, C)
        self.remember(mean.detach().mean(0), var.detach().mean(0), len(rows))
        return (rows - mean) * torch.rsqrt(var + self.eps) * self.weight + self.bias

    def extra_repr(self) -> str:
        return f"{len(self.weight)}, scope={self.scope}, track={self.track}"


class RowLayerNorm(RowNorm):
    """Layer norm: each row by itself, so nothing in the batch touches anything else."""

    def __init__(self, channels: int, *, eps: float = 1e-5) -> None:
        super().__init__()
        self.eps = eps
        self.norm = nn.LayerNorm(channels, eps=eps)

    def forward(self, rows: Tensor, width: int) -> Tensor:
        """Normalise ``(R, C)`` rows; ``width`` plays no part."""
        normed: Tensor = self.norm(rows)
        return normed

    def fused(self, rows: int, width: int) -> FusedNorm | None:
        """See `RowNorm`."""
        return "layer"

    def affine(self, linear: nn.Linear) -> Affine:
        """See `RowNorm`."""
        return Affine(linear.weight, linear.bias, self.norm.weight, self.norm.bias)

    def fixed(self, linear: nn.Linear) -> FixedHalf | None:
        """See `RowNorm`."""
        weight, bias, scale, shift = (one.detach() for one in self.affine(linear))
        return FixedHalf(weight, bias, scale, shift, self.eps)


class NoNorm(RowNorm):
    """Rows as they are."""

    def fixed(self, linear: nn.Linear) -> FixedHalf | None:
        """See `RowNorm`."""
        weight, bias = linear.weight.detach(), linear.bias.detach()
        return FixedHalf(weight, bias, bias[:0], bias[:0])

    def forward(self, rows: Tensor, width: int) -> Tensor:
        """Give the rows back; ``width`` plays no part."""
        return rows


def can_fuse(linear: nn.Linear, x: Tensor) -> bool:
    """Whether the compiled kernels serve these rows; mixed precision is torch's own affair."""
    return x.dtype == linear.weight.dtype and use_compiled(x) and not torch.is_autocast_enabled("cpu")


def has_hooks(module: nn.Module) -> bool:
    """Whether someone waits for the module or a part of it to be called; then no step may go past it."""
    # Not by .modules(), which puts together a name for each and would be felt on small batches.
    if module._forward_hooks or module._forward_pre_hooks or module._backward_hooks or module._backward_pre_hooks:
        return True
    return any(has_hooks(part) for part in module._modules.values() if part is not None)


def mixes_rows(network: object) -> bool:
    """Whether a norm of the network takes statistics of the rows at hand, so that pieces of a bag give other states."""
    if not isinstance(network, nn.Module):
        return False
    return any(isinstance(module, RowNorm) and module.mixes for module in network.modules())


def build_norm(kind: NormKind, channels: int, *, scope: NormScope = "bag", track: bool = True) -> RowNorm:
    """The norm of that name."""
    if kind == "batch":
        return RowBatchNorm(channels, scope=scope, track=track)
    if kind == "layer":
        return RowLayerNorm(channels)
    if kind == "none":
        return NoNorm()
    raise ValueError(f"'norm' must be 'batch', 'layer' or 'none' (got '{kind}')")
