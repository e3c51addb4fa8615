"""Numbers that whole graphs come with, beside what a network computes of them."""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn import functional

from policylearn.bags import Graphs

DESCRIPTORS = "descriptors"
"""The name under which graphs carry such numbers."""


class GraphColumns(nn.Module):
    """Columns of the graphs of a batch, such as descriptors of molecules, some of them dropped in training.

    Args:
        columns: D.
        dropout: share of the numbers that are set to zero in training; the others grow in proportion.
        name: the extra that holds them.
    """

    def __init__(self, columns: int, *, dropout: float = 0.0, name: str = DESCRIPTORS) -> None:
        super().__init__()
        if columns < 1 or not 0 <= dropout < 1:
            raise ValueError(f"'columns' must be >= 1 and 'dropout' lie in 0 .. 1 (got {columns} and {dropout})")
        self.columns, self.dropout, self.name = columns, dropout, name

    def forward(self, graphs: Graphs) -> Tensor:
        """The columns, ``(G, D)``."""
        values = graphs.extras.get(self.name)
        shape = None if values is None else tuple(values.shape)
        if values is None or shape != (graphs.num_graphs, self.columns):
            raise ValueError(
                f"the model reads {self.columns} '{self.name}' per graph"
                f" ({'the batch has none' if shape is None else f'the batch has them in shape {shape}'});"
                " apply the transforms of the data that the model was built with"
            )
        return functional.dropout(values, self.dropout, self.training)

    def extra_repr(self) -> str:
        return f"{self.columns}, dropout={self.dropout}, name={self.name!r}"
