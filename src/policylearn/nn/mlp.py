"""The small network behind everything that is pooled."""

from __future__ import annotations

import torch
from torch import Tensor, nn


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
