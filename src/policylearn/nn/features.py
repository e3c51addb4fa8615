"""From raw node and edge features to vectors: embedded, or as plain numbers with categories one-hot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import torch
from torch import Tensor, nn
from torch.nn import functional

from policylearn.bags import Bag, Graphs, attached_ego_nets
from policylearn.bags.host import may_read


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


class NodeEncoder(nn.Module):
    """Sum of one embedding per column of category ids (as OGB encodes atoms) and of a linear map of the numbers.

    Where nodes come with nothing, one learned vector stands for every node.

    Args:
        features: what nodes come with.
        channels: C.
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
        """Encode, ``(N, C)``."""
        refuse_unread(graphs, self.features)
        if not self.features.present:
            return self.vector.expand(graphs.num_nodes, -1)
        parts = [self._of_ids(graphs.x)] if self.features.categorical else []
        if self.features.real:
            numbers = real_columns(graphs, self.features)
            parts.append(self.linear(numbers.to(self.linear.weight.dtype)))
        return parts[0] if len(parts) == 1 else parts[0] + parts[1]

    def _of_ids(self, ids: Tensor) -> Tensor:
        check_ids(ids, self.features.categorical)
        encoded: Tensor = self.tables[0](ids[:, 0].long())
        for column, table in enumerate(self.tables[1:], start=1):
            encoded = encoded + table(ids[:, column].long())
        return encoded


def refuse_unread(graphs: Graphs, features: Features) -> None:
    """Raise a `ValueError` where nodes have numbers that the model was not built to read."""
    columns = 0 if graphs.real is None else graphs.real.shape[1]
    if columns and not features.real:
        raise ValueError(
            f"the batch has {columns} columns of numbers per node ('x_real'), but the model was built to read none;"
            f" build it with Features(real={columns}), or leave 'x_real' out"
        )


def real_columns(graphs: Graphs, features: Features) -> Tensor:
    """The numbers of each node: ``x`` itself where it holds no ids, and what stands beside it, ``(N, F)``."""
    parts = [] if features.categorical else [graphs.x]
    if graphs.real is not None:
        if not features.categorical and graphs.x.shape[1] + graphs.real.shape[1] > features.real:
            parts = []  # a column of ones or of unused values stands in for missing features
        parts.append(graphs.real)
    numbers = torch.cat(parts, dim=1) if parts else graphs.x[:, :0]
    if numbers.shape[1] != features.real:
        raise ValueError(
            f"expected {features.real} columns of numbers per node (got {numbers.shape[1]});"
            " apply the transforms of the data that the model was built with"
        )
    return numbers


class CategoricalEdges(nn.Module):
    """Sum of one embedding per column, given as one table over all combinations of categories.

    Bonds have few combinations (OGB: 5 * 6 * 2), so a table of all of them is cheaper than one vector per edge.
    """

    def __init__(self, sizes: Sequence[int], channels: int) -> None:
        super().__init__()
        self.sizes = tuple(sizes)
        self.tables = nn.ModuleList(nn.Embedding(size, channels) for size in sizes)

    def forward(self, edge_attr: Tensor) -> EdgeTerm:
        """Encode ids, ``(E, D) -> table (K, C) and index (E,)``."""
        return EdgeTerm(self.values(), self.index(edge_attr))

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
    """Linear map of numbers, one vector per edge."""

    def __init__(self, width: int, channels: int) -> None:
        super().__init__()
        self.linear = nn.Linear(width, channels)

    def forward(self, edge_attr: Tensor) -> EdgeTerm:
        """Encode numbers, ``(E, D) -> (E, C)``."""
        return EdgeTerm(self.linear(edge_attr.to(self.linear.weight.dtype)), None)


def check_ids(ids: Tensor, sizes: Sequence[int]) -> None:
    """Raise a `ValueError` that names column, value and remedy where an id has no row in its table."""
    if ids.shape[1] != len(sizes):
        raise ValueError(
            f"expected {len(sizes)} columns of category ids (got {ids.shape[1]}); check what Features says of them"
        )
    if ids.is_floating_point():
        raise ValueError(
            f"category ids must be integers (got {ids.dtype}); use .long(), or count the columns as numbers:"
            " Features(real=...)"
        )
    if not len(ids) or not may_read(ids):
        return
    low, high = ids.amin(0), ids.amax(0)
    for column, size in enumerate(sizes):
        if int(low[column]) < 0 or int(high[column]) >= size:
            value = int(low[column]) if int(low[column]) < 0 else int(high[column])
            raise ValueError(
                f"column {column} holds category {value}, but the model knows 0 to {size - 1};"
                " the input must be encoded as the training data was"
            )


def require_edges(edge_attr: Tensor | None) -> Tensor:
    """The features of edges, or a `ValueError` where a batch has none and the network reads some."""
    if edge_attr is None:
        raise ValueError(
            "the model reads edge features, but the batch has no 'edge_attr';"
            " build it without edge features: Features()"
        )
    return edge_attr


EdgeEncoder = CategoricalEdges | RealEdges


def build_edge_encoder(features: Features, channels: int) -> EdgeEncoder | None:
    """The encoder for these edge features; None where edges carry nothing."""
    if features.categorical and features.real:
        raise ValueError("edges with both category ids and numbers are not supported; encode the ids as numbers")
    if features.categorical:
        return CategoricalEdges(features.categorical, channels)
    return RealEdges(features.real, channels) if features.real else None


def one_hot(ids: Tensor, sizes: Sequence[int], dtype: torch.dtype) -> Tensor:
    """Each column of ids as so many columns of 0 and 1, side by side, ``(R, F) -> (R, sum of sizes)``."""
    check_ids(ids, sizes)
    columns = [functional.one_hot(ids[:, column].long(), size) for column, size in enumerate(sizes)]
    return torch.cat(columns, dim=1).to(dtype)


def node_width(features: Features) -> int:
    """How many columns `node_numbers` gives."""
    return max(1, sum(features.categorical) + features.real)


def edge_width(features: Features) -> int:
    """How many columns `edge_numbers` gives."""
    return sum(features.categorical) + features.real


def node_numbers(graphs: Graphs, features: Features, dtype: torch.dtype) -> Tensor:
    """Categories of nodes one-hot, then their numbers; a column of ones where there is neither, ``(N, F)``."""
    refuse_unread(graphs, features)
    parts = [one_hot(graphs.x, features.categorical, dtype)] if features.categorical else []
    if features.real:
        parts.append(real_columns(graphs, features).to(dtype))
    return torch.cat(parts, dim=1) if parts else torch.ones(graphs.num_nodes, 1, dtype=dtype, device=graphs.x.device)


def edge_numbers(graphs: Graphs, features: Features, dtype: torch.dtype) -> Tensor:
    """The same of edges, in the order of ``edge_index``, ``(E, D)``; no columns where there is nothing."""
    if not features.present:
        return torch.ones(graphs.edge_index.shape[1], 0, dtype=dtype, device=graphs.x.device)
    given = require_edges(graphs.edge_attr)
    return one_hot(given, features.categorical, dtype) if features.categorical else given.to(dtype)


class MarkedInput(nn.Module):
    """``[marks, features]``; marks are not embedded.

    Category ids are embedded in C channels (the sum of one embedding per column). Nodes with numbers alone keep them as
    they are, and nodes with nothing have a constant 1.

    Args:
        features: what nodes come with.
        channels: C.
        marks: M, marks per row.
    """

    def __init__(self, features: Features, channels: int, marks: int) -> None:
        super().__init__()
        self.features = features
        self.node_encoder = NodeEncoder(features, channels) if features.categorical else None
        plain = features.real if features.present else 1
        self.width = marks + (channels if features.categorical else plain)

    def forward(self, graphs: Graphs, bag: Bag) -> Tensor:
        """The rows' input, ``(R, width)``."""
        return torch.cat([bag.marks, bag.spread(self._encoded(graphs).to(bag.marks.dtype))], dim=1)

    def _encoded(self, graphs: Graphs) -> Tensor:
        if self.node_encoder is not None:
            encoded: Tensor = self.node_encoder(graphs)
            return encoded
        refuse_unread(graphs, self.features)
        if self.features.real:
            return real_columns(graphs, self.features)
        return torch.ones(graphs.num_nodes, 1, device=graphs.batch.device)


class EgoLabels(nn.Module):
    r"""Nested GNN's labels of the rows of ego nets: :math:`z[d + 1] + z[d' + 1] + (w r + b)`.

    d is the distance to the root; the second label repeats it where two edges or more lead nearer to the root, and is 0
    elsewhere, which has a vector of its own; r is the resistance to the root.

    Args:
        hops: how far the nets reach.
        channels: C.
        resistance: whether the last term is there.
    """

    def __init__(self, hops: int, channels: int, *, resistance: bool) -> None:
        super().__init__()
        self.table = nn.Embedding(hops + 2, channels)
        self.resistance = nn.Linear(1, channels) if resistance else None

    def forward(self, bag: Bag) -> Tensor:
        """Encode the marks of `labelled_ego_nets`, ``(R, C)``."""
        first = bag.marks[:, 0].long() + 1
        labels: Tensor = self.table(first) + self.table(first * (bag.marks[:, 1] >= 2))
        if self.resistance is not None:
            labels = labels + self.resistance(bag.marks[:, 2:3].to(labels.dtype))
        return labels


def labelled_ego_nets(graphs: Graphs, *, resistance: bool) -> Bag:
    """The ego nets that came with the data; marks are distance, arrivals and, where wanted, resistance."""
    names = ("ego_distance", "ego_arrivals", *(["ego_resistance"] if resistance else []))
    return attached_ego_nets(graphs, names)
