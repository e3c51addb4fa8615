"""Numbers that whole graphs come with, such as descriptors, and predictions from them alone."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional

from policylearn.bags import Graphs

DESCRIPTORS = "descriptors"
"""The name under which graphs carry such numbers."""
HIDDEN, DROPOUT = 256, 0.1
"""Width of both hidden layers, and the share of their values that is set to zero in training."""


class ManyLinear(nn.Module):
    """H linear maps, each of inputs of its own, in one product, ``(H, G, inputs) -> (H, G, outputs)``."""

    def __init__(self, maps: int, inputs: int, outputs: int) -> None:
        super().__init__()
        bound = 1 / math.sqrt(inputs)  # as a linear map of torch's begins
        self.weight = nn.Parameter(torch.empty(maps, inputs, outputs).uniform_(-bound, bound))
        self.bias = nn.Parameter(torch.empty(maps, 1, outputs).uniform_(-bound, bound))

    def forward(self, x: Tensor) -> Tensor:
        return torch.baddbmm(self.bias, x, self.weight)


class ColumnHeads(nn.Module):
    """H perceptrons over the columns of a graph alone, each of which learns the targets, ``(G, D) -> (H, G, outputs)``.

    Networks that began differently err differently, and so do networks that see graphs and ones that see descriptors:
    their mean errs less than each of them.
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
        x = columns.to(self.lin1.weight.dtype).expand(self.heads, -1, -1)
        for hidden in (self.lin1, self.lin2):
            x = functional.dropout(torch.relu(hidden(x)), DROPOUT, self.training)
        return self.lin3(x)


def joined(outputs: Tensor, of_columns: Tensor | None) -> Tensor:
    """A head's outputs ``(G, outputs)`` and the mean of what column heads predict ``(H, G, outputs)``, half each."""
    return outputs if of_columns is None else (outputs + of_columns.mean(0)) / 2


class GraphColumns(nn.Module):
    """The descriptors of the graphs of a batch, ``(G, D)``, with dropout in training."""

    def __init__(self, columns: int, *, dropout: float = 0.0) -> None:
        super().__init__()
        if columns < 1 or not 0 <= dropout < 1:
            raise ValueError(f"'columns' must be >= 1 and 'dropout' lie in 0 .. 1 (got {columns} and {dropout})")
        self.columns, self.dropout = columns, dropout

    def forward(self, graphs: Graphs) -> Tensor:
        values = graphs.extras.get(DESCRIPTORS)
        shape = None if values is None else tuple(values.shape)
        if values is None or shape != (graphs.num_graphs, self.columns):
            raise ValueError(
                f"the model reads {self.columns} '{DESCRIPTORS}' per graph"
                f" ({'the batch has none' if shape is None else f'the batch has them in shape {shape}'});"
                " apply the transforms of the data that the model was built with"
            )
        return functional.dropout(values, self.dropout, self.training)
