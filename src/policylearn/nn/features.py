"""From raw node and edge features to vectors: embedded, or as plain numbers with categories one-hot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import torch
from torch import Tensor, nn
from torch.nn import functional

from policylearn.bags import Adjacency, Graphs
from policylearn.bags.adjacency import may_read


@dataclass(frozen=True)
class Features:
    """What nodes or edges come with: category ids, numbers, both, or nothing that tells anything.

    Args:
        categorical: how many categories each column of ids has.
        real: how many columns of numbers there are.
    """

    categorical: tuple[int, ...] = ()
    real: int = 0

    @property
    def present(self) -> bool:
        """Whether there is anything at all."""
        return bool(self.categorical) or self.real > 0

    @property
    def width(self) -> int:
        """Columns with categories one-hot."""
        return sum(self.categorical) + self.real


class NodeEncoder(nn.Module):
    """Sum of one embedding per column of category ids (as OGB encodes atoms) and of a linear map of the numbers.

    Where nodes come with nothing, one learned vector stands for every node. The result is ``(N, C)``.
    """

    def __init__(self, features: Features, channels: int) -> None:
        super().__init__()
        self.features = features
        if features.categorical:
            self.tables = nn.ModuleList(nn.Embedding(size, channels) for size in features.categorical)
        if features.real:
            self.linear = nn.Linear(features.real, channels)
        if not features.present:
            self.vector = nn.Parameter(torch.randn(channels))

    def forward(self, graphs: Graphs) -> Tensor:
        numbers = real_columns(graphs, self.features)
        if not self.features.present:
            return self.vector.expand(graphs.num_nodes, -1)
        parts = []
        if self.features.categorical:
            check_ids(graphs.x, self.features.categorical)
            parts += [table(graphs.x[:, column].long()) for column, table in enumerate(self.tables)]
        if self.features.real:
            parts.append(self.linear(numbers.to(self.linear.weight.dtype)))
        return sum(parts[1:], parts[0])


def real_columns(graphs: Graphs, features: Features) -> Tensor:
    """The numbers of each node: ``x`` itself where it holds no ids, and what stands beside it, ``(N, F)``."""
    beside = 0 if graphs.real is None else graphs.real.shape[1]
    if not features.real:
        if beside:
            raise ValueError(
                f"the batch has {beside} columns of numbers per node ('x_real'), but the model was built to read none;"
                f" build it with Features(real={beside}), or leave 'x_real' out"
            )
        return graphs.x[:, :0]
    parts = [] if features.categorical else [graphs.x]
    if graphs.real is not None:
        if not features.categorical and graphs.x.shape[1] + beside > features.real:
            parts = []  # a column of ones or of unused values stands in for missing features
        parts.append(graphs.real)
    numbers = torch.cat(parts, dim=1) if parts else graphs.x[:, :0]
    if numbers.shape[1] != features.real:
        raise ValueError(
            f"expected {features.real} columns of numbers per node (got {numbers.shape[1]}); apply the transforms"
        )
    return numbers


@dataclass(frozen=True)
class EdgeTerm:
    """What each edge adds to a message: rows of a small table, or one vector per edge where ``index`` is None.

    Shapes:
        values ``(K, C)`` with index ``(E,)``, or values ``(E, C)``.
    """

    values: Tensor
    index: Tensor | None

    def each_edge(self) -> Tensor:
        """One vector per edge, ``(E, C)``."""
        return self.values if self.index is None else self.values.index_select(0, self.index)

    def each_message(self, adjacency: Adjacency) -> Tensor:
        """One vector per message, ``(E, C)``."""
        return self.values.index_select(0, adjacency.kinds(self.index))


class CategoricalEdges(nn.Module):
    """Sum of one embedding per column, given as one table over all combinations of categories.

    Bonds have few combinations (OGB: 5 * 6 * 2), so a table of all of them is cheaper than one vector per edge.
    """

    def __init__(self, sizes: Sequence[int], channels: int) -> None:
        super().__init__()
        self.sizes = tuple(sizes)
        self.tables = nn.ModuleList(nn.Embedding(size, channels) for size in sizes)

    def forward(self, edge_attr: Tensor | None) -> EdgeTerm:
        return EdgeTerm(self.values(), self.index(require_edges(edge_attr)))

    def values(self) -> Tensor:
        """The table, a row per combination, ``(K, C)``."""
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
    """Linear map of numbers, one vector per edge, ``(E, D) -> (E, C)``."""

    def __init__(self, width: int, channels: int) -> None:
        super().__init__()
        self.linear = nn.Linear(width, channels)

    def forward(self, edge_attr: Tensor | None) -> EdgeTerm:
        return EdgeTerm(self.linear(require_edges(edge_attr).to(self.linear.weight.dtype)), None)


EdgeEncoder = CategoricalEdges | RealEdges


def build_edge_encoder(features: Features, channels: int) -> EdgeEncoder | None:
    """The encoder for these edge features; None where edges carry nothing."""
    if features.categorical and features.real:
        raise ValueError("edges with both category ids and numbers are not supported; encode the ids as numbers")
    if features.categorical:
        return CategoricalEdges(features.categorical, channels)
    return RealEdges(features.real, channels) if features.real else None


def edge_term(encoder: EdgeEncoder | None, graphs: Graphs, like: Tensor) -> EdgeTerm:
    """The edges' vectors; one of zeros, as wide as the states ``like``, where edges carry nothing."""
    if encoder is not None:
        return encoder(graphs.edge_attr)
    return EdgeTerm(like.new_zeros(1, like.shape[1]), graphs.batch.new_zeros(graphs.edge_index.shape[1]))


def require_edges(edge_attr: Tensor | None) -> Tensor:
    """The features of edges, or a `ValueError` where a batch has none and the network reads some."""
    if edge_attr is None:
        raise ValueError("the model reads edge features, and the batch has no 'edge_attr'; build it with Features()")
    return edge_attr


def check_ids(ids: Tensor, sizes: Sequence[int]) -> None:
    """Raise a `ValueError` that names column, value and remedy where an id has no row in its table."""
    if ids.shape[1] != len(sizes):
        raise ValueError(f"expected {len(sizes)} columns of category ids (got {ids.shape[1]}); check its Features")
    if ids.is_floating_point():
        raise ValueError(f"category ids must be integers (got {ids.dtype}); use .long() or Features(real=...)")
    if not len(ids) or not may_read(ids):
        return
    for column, (low, high, size) in enumerate(zip(ids.amin(0).tolist(), ids.amax(0).tolist(), sizes, strict=True)):
        if low < 0 or high >= size:
            raise ValueError(
                f"column {column} holds category {low if low < 0 else high}, but the model knows 0 to {size - 1};"
                " the input must be encoded as the training data was"
            )


def one_hot(ids: Tensor, sizes: Sequence[int], dtype: torch.dtype) -> Tensor:
    """Each column of ids as so many columns of 0 and 1, side by side, ``(R, F) -> (R, sum of sizes)``."""
    check_ids(ids, sizes)
    columns = [functional.one_hot(ids[:, column].long(), size) for column, size in enumerate(sizes)]
    return torch.cat(columns, dim=1).to(dtype)


def node_width(features: Features) -> int:
    """How many columns `node_numbers` gives."""
    return max(1, features.width)


def node_numbers(graphs: Graphs, features: Features, dtype: torch.dtype) -> Tensor:
    """Categories of nodes one-hot, then their numbers; a column of ones where there is neither, ``(N, F)``."""
    numbers = real_columns(graphs, features).to(dtype)
    if not features.present:
        return torch.ones(graphs.num_nodes, 1, dtype=dtype, device=graphs.x.device)
    ids = [one_hot(graphs.x, features.categorical, dtype)] if features.categorical else []
    return torch.cat([*ids, numbers], dim=1)


def edge_numbers(graphs: Graphs, features: Features, dtype: torch.dtype) -> Tensor:
    """The same of edges, in the order of ``edge_index``, ``(E, D)``; no columns where there is nothing."""
    if not features.present:
        return torch.ones(graphs.edge_index.shape[1], 0, dtype=dtype, device=graphs.x.device)
    given = require_edges(graphs.edge_attr)
    return one_hot(given, features.categorical, dtype) if features.categorical else given.to(dtype)
