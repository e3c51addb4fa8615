"""Predictions from what whole graphs come with, without a look at their nodes."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional

HIDDEN, DROPOUT = 256, 0.1
"""Width of both hidden layers, and the share of their values that is set to zero in training."""


class ManyLinear(nn.Module):
    """H linear maps, each of inputs of its own, in one product.

    Args:
        maps: H.
        inputs: columns that come in.
        outputs: columns that go out.
    """

    def __init__(self, maps: int, inputs: int, outputs: int) -> None:
        super().__init__()
        bound = 1 / math.sqrt(inputs)  # as a linear map of torch's begins
        self.weight = nn.Parameter(torch.empty(maps, inputs, outputs).uniform_(-bound, bound))
        self.bias = nn.Parameter(torch.empty(maps, 1, outputs).uniform_(-bound, bound))

    def forward(self, x: Tensor) -> Tensor:
        """Map, ``(H, G, inputs) -> (H, G, outputs)``."""
        return torch.baddbmm(self.bias, x, self.weight)


class ColumnHeads(nn.Module):
    """Several perceptrons over the columns of a graph alone, each of which learns the targets by itself.

    Networks that began differently err differently, and so do networks that see graphs and ones that see descriptors:
    their mean errs less than each of them.

    Args:
        heads: H.
        columns: D.
        outputs: of each.
    """

    def __init__(self, heads: int, columns: int, outputs: int) -> None:
        super().__init__()
        if heads < 1 or columns < 1:
            raise ValueError(f"'heads' and 'columns' must be >= 1 (got {heads} and {columns})")
        self.heads = heads
        self.lin1 = ManyLinear(heads, columns, HIDDEN)
        self.lin2 = ManyLinear(heads, HIDDEN, HIDDEN)
        self.lin3 = ManyLinear(heads, HIDDEN, outputs)

    def forward(self, columns: Tensor) -> Tensor:
        """What each of them predicts, ``(G, D) -> (H, G, outputs)``."""
        x = columns.to(self.lin1.weight.dtype).expand(self.heads, -1, -1)
        for hidden in (self.lin1, self.lin2):
            x = functional.dropout(torch.relu(hidden(x)), DROPOUT, self.training)
        out: Tensor = self.lin3(x)
        return out


def joined(outputs: Tensor, of_columns: Tensor | None) -> Tensor:
    """A head's outputs and the mean of what column heads predict, half each.

    Args:
        outputs: ``(G, outputs)``.
        of_columns: ``(H, G, outputs)``; None leaves the head's.
    """
    return outputs if of_columns is None else (outputs + of_columns.mean(0)) / 2
