"""Two linear maps, with and without a norm between."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from policylearn.nn.norms import RowBatchNorm


class MLP(nn.Module):
    """Two linear maps with a relu between: the prediction head, and the scores of the selection network."""

    def __init__(self, channels: int, hidden: int, outputs: int) -> None:
        super().__init__()
        self.lin1 = nn.Linear(channels, hidden)
        self.lin2 = nn.Linear(hidden, outputs)

    def forward(self, x: Tensor) -> Tensor:
        """Map, ``(..., channels) -> (..., outputs)``."""
        out: Tensor = self.lin2(torch.relu(self.lin1(x)))
        return out


class NormedMLP(nn.Module):
    """``lin2(relu(norm(lin1(x))))`` with a batch norm over all rows.

    Args:
        inputs: channels that come in.
        channels: C, between the maps and behind them.
    """

    def __init__(self, inputs: int, channels: int) -> None:
        super().__init__()
        self.lin1, self.norm = nn.Linear(inputs, channels), RowBatchNorm(channels)
        self.lin2 = nn.Linear(channels, channels)

    def forward(self, rows: Tensor) -> Tensor:
        """Map, ``(R, inputs) -> (R, C)``."""
        out: Tensor = self.lin2(torch.relu(self.norm(self.lin1(rows))))
        return out
