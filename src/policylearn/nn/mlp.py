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


class Heads(nn.Module):
    """Several heads of two linear maps on the same vectors; what they predict is their mean.

    Each has a loss of its own in training, so that they stay different: an ensemble at the price of its last layers.

    Args:
        channels: that come in.
        hidden: between the maps of each.
        outputs: of each.
        members: H, how many there are.
    """

    def __init__(self, channels: int, hidden: int, outputs: int, members: int) -> None:
        super().__init__()
        if members < 1:
            raise ValueError(f"'members' must be >= 1 (got {members})")
        self.members = members
        self.lin1 = nn.Linear(channels, members * hidden)
        bound = hidden**-0.5  # as nn.Linear has it
        self.weight = nn.Parameter(torch.empty(members, hidden, outputs).uniform_(-bound, bound))
        self.bias = nn.Parameter(torch.empty(members, 1, outputs).uniform_(-bound, bound))

    def apart(self, x: Tensor) -> Tensor:
        """What each predicts, ``(R, channels) -> (H, R, outputs)``."""
        hidden = torch.relu(self.lin1(x)).unflatten(1, (self.members, -1)).transpose(0, 1)  # (H, R, hidden)
        return torch.baddbmm(self.bias, hidden, self.weight)

    def forward(self, x: Tensor) -> Tensor:
        """Their mean, ``(R, channels) -> (R, outputs)``."""
        return self.apart(x).mean(0)

    def extra_repr(self) -> str:
        return f"members={self.members}"


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
