"""From raw node and edge features to vectors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, cast

import torch
from torch import Tensor, nn

FeatureKind = Literal["categorical", "real", "constant", "none"]


@dataclass(frozen=True)
class Features:
    """What the columns of ``x`` or ``edge_attr`` hold.

    Args:
        kind: category ids, numbers, the same value everywhere (nodes), or nothing (edges).
        sizes: `categorical`: how many categories each column has; `real`: the number of columns, as a single entry.
    """

    kind: FeatureKind
    sizes: tuple[int, ...] = ()


@dataclass(frozen=True)
class EdgeTerm:
    """What each edge adds to a message: rows of a small table, or a vector an edge where ``index`` is None.

    Shapes:
        values ``(K, C)`` with index ``(E,)``, or values ``(E, C)``.
    """

    values: Tensor
    index: Tensor | None

    def each_edge(self) -> Tensor:
        """A vector an edge, ``(E, C)``."""
        return self.values if self.index is None else self.values.index_select(0, self.index)


class CategoricalEncoder(nn.Module):
    """Sum of one embedding a column, as OGB encodes atoms and bonds; one column is a plain embedding."""

    def __init__(self, sizes: Sequence[int], channels: int) -> None:
        super().__init__()
        self.sizes = tuple(sizes)
        self.tables = nn.ModuleList(nn.Embedding(size, channels) for size in sizes)

    def forward(self, x: Tensor) -> Tensor:
        """Encode ids, ``(N, F) -> (N, C)``."""
        check_ids(x, self.sizes)
        encoded: Tensor = self.tables[0](x[:, 0].long())
        for column, table in enumerate(self.tables[1:], start=1):
            encoded = encoded + table(x[:, column].long())
        return encoded


class RealEncoder(nn.Module):
    """Linear map of numbers."""

    def __init__(self, width: int, channels: int) -> None:
        super().__init__()
        self.linear = nn.Linear(width, channels)

    def forward(self, x: Tensor) -> Tensor:
        """Encode numbers, ``(N, F) -> (N, C)``."""
        encoded: Tensor = self.linear(x.to(self.linear.weight.dtype))
        return encoded


class ConstantEncoder(nn.Module):
    """One learned vector for every node: the graph has no node features that tell anything."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.vector = nn.Parameter(torch.randn(channels))

    def forward(self, x: Tensor) -> Tensor:
        """The same vector for each node, ``(N, F) -> (N, C)``."""
        return self.vector.expand(len(x), -1)


class CategoricalEdges(nn.Module):
    """Sum of one embedding a column, given as one table over all combinations of categories.

    Bonds have few combinations (OGB: 5 * 6 * 2), so a table of all of them is cheaper than a vector an edge.
    """

    def __init__(self, sizes: Sequence[int], channels: int) -> None:
        super().__init__()
        self.sizes = tuple(sizes)
        self.tables = nn.ModuleList(nn.Embedding(size, channels) for size in sizes)

    def forward(self, edge_attr: Tensor) -> EdgeTerm:
        """Encode ids, ``(E, D) -> table (K, C) and index (E,)``."""
        return EdgeTerm(self.values(), self.index(edge_attr))

    def values(self) -> Tensor:
        """The table, a row a combination, ``(K, C)``."""
        first, *others = (cast(nn.Embedding, table).weight for table in self.tables)
        values: Tensor = first
        for weight in others:
            values = (values.unsqueeze(1) + weight).flatten(0, 1)  # (K, C), (k, C) -> (K * k, C)
        return values

    def index(self, edge_attr: Tensor) -> Tensor:
        """Which combination each edge has, ``(E, D) -> (E,)``; it depends on no weight."""
        check_ids(edge_attr, self.sizes)
        index = edge_attr[:, 0].long()  # narrow integers would overflow below
        for column, size in enumerate(self.sizes[1:], start=1):
            index = index * size + edge_attr[:, column]
        return index


class RealEdges(nn.Module):
    """Linear map of numbers, a vector an edge."""

    def __init__(self, width: int, channels: int) -> None:
        super().__init__()
        self.linear = nn.Linear(width, channels)

    def forward(self, edge_attr: Tensor) -> EdgeTerm:
        """Encode numbers, ``(E, D) -> (E, C)``."""
        return EdgeTerm(self.linear(edge_attr.to(self.linear.weight.dtype)), None)


def check_ids(ids: Tensor, sizes: Sequence[int]) -> None:
    """Raise a `ValueError` that names column, value and remedy where an id has no row in its table."""
    if ids.shape[1] != len(sizes):
        raise ValueError(f"expected {len(sizes)} columns of category ids (got {ids.shape[1]}); check the feature kinds")
    if ids.is_floating_point():
        raise ValueError(f"category ids must be integers (got {ids.dtype}); use .long(), or features of kind 'real'")
    if not len(ids) or ids.is_cuda:
        return
    low, high = ids.amin(0), ids.amax(0)
    for column, size in enumerate(sizes):
        if int(low[column]) < 0 or int(high[column]) >= size:
            value = int(low[column]) if int(low[column]) < 0 else int(high[column])
            raise ValueError(
                f"column {column} holds category {value}, but the model knows 0 to {size - 1};"
                " the input must be encoded as the training data was"
            )


def build_node_encoder(features: Features, channels: int) -> nn.Module:
    """The encoder for these node features."""
    if features.kind == "categorical":
        return CategoricalEncoder(features.sizes, channels)
    if features.kind == "real":
        return RealEncoder(features.sizes[0], channels)
    if features.kind == "constant":
        return ConstantEncoder(channels)
    raise ValueError(f"node features cannot be of kind '{features.kind}'; use 'constant' for nodes without features")


def build_edge_encoder(features: Features, channels: int) -> CategoricalEdges | RealEdges | None:
    """The encoder for these edge features; None where edges carry nothing."""
    if features.kind == "categorical":
        return CategoricalEdges(features.sizes, channels)
    if features.kind == "real":
        return RealEdges(features.sizes[0], channels)
    return None
