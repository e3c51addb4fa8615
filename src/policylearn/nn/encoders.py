"""Networks that turn marked copies of graphs into node states."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import torch
from torch import Tensor, nn

from policylearn.bags import Bag
from policylearn.kernels import Layout
from policylearn.nn.convs import Conv
from policylearn.nn.graphs import Graphs, rows_of


class Encoder(Protocol):
    """Node states of every copy."""

    def __call__(self, graphs: Graphs, bag: Bag) -> Tensor:
        """One state a row of the bag, ``(R, C)``."""


class StreamLayer(nn.Module):
    """``relu(norm(conv(z)))``."""

    def __init__(self, conv: Conv, norm: nn.Module) -> None:
        super().__init__()
        self.conv, self.norm = conv, norm

    def forward(self, states: Tensor, rows: Layout, edge_attr: Tensor | None) -> Tensor:
        """One layer of one stream, ``(R, C_in) -> (R, C)``."""
        return torch.relu(self.norm(self.conv(states, rows, edge_attr), rows.copies))


class TwoStreamLayer(nn.Module):
    """Updates of the features h and of the marks p; both read the p that came in.

    Args:
        features: layer of the features, reads ``[h, p]`` and the edge features.
        marks: layer of the marks, reads p alone.
        dropout: on the features, before the residual.
        residual: add the h that came in.
    """

    def __init__(
        self, features: StreamLayer, marks: StreamLayer, *, dropout: float = 0.0, residual: bool = True
    ) -> None:
        super().__init__()
        self.features, self.marks = features, marks
        self.dropout = nn.Dropout(dropout)
        self.residual = residual

    def forward(self, h: Tensor, p: Tensor, rows: Layout, edge_attr: Tensor | None) -> tuple[Tensor, Tensor]:
        """Both streams, ``(R, C)`` and ``(R, C)``."""
        new = self.dropout(self.features(torch.cat([h, p], dim=1), rows, edge_attr))
        return new + h if self.residual else new, self.marks(p, rows, None)


class TwoStreamEncoder(nn.Module):
    r"""DS-GNN encoder with the marks on a stream of their own.

    .. math::
        p^{(l)} = f_p^{(l)}(p^{(l-1)}, A), \quad
        h^{(l)} = f_h^{(l)}(h^{(l-1)} \oplus p^{(l-1)}, A), \quad
        h = p^{(L)} + h^{(L)}

    with :math:`p^{(0)} = \chi_v` and :math:`h^{(0)} = \chi_v \oplus X`.

    Args:
        node_encoder: features to C - 1 channels; the mark is the first channel of :math:`h^{(0)}`.
        layers: L layers.
    """

    def __init__(self, node_encoder: nn.Module, layers: Sequence[TwoStreamLayer]) -> None:
        super().__init__()
        self.node_encoder = node_encoder
        self.layers = nn.ModuleList(layers)

    def forward(self, graphs: Graphs, bag: Bag) -> Tensor:
        """Node states of every copy, ``(R, C)``."""
        rows = rows_of(graphs, bag)
        p = bag.marks.unsqueeze(1)  # (R, 1)
        h = torch.cat([p, rows.spread(self.node_encoder(graphs.x))], dim=1)  # (R, C)
        for layer in self.layers:
            h, p = layer(h, p, rows, graphs.edge_attr)
        return h + p


class SingleStreamLayer(nn.Module):
    """One layer of an ordinary message passing network.

    Args:
        features: the layer.
        dropout: on its output, before the residual.
        residual: add the h that came in.
    """

    def __init__(self, features: StreamLayer, *, dropout: float = 0.0, residual: bool = True) -> None:
        super().__init__()
        self.features = features
        self.dropout = nn.Dropout(dropout)
        self.residual = residual

    def forward(self, h: Tensor, rows: Layout, edge_attr: Tensor | None) -> Tensor:
        """One layer, ``(R, C) -> (R, C)``."""
        new: Tensor = self.dropout(self.features(h, rows, edge_attr))
        return new + h if self.residual else new


class SingleStreamEncoder(nn.Module):
    """An ordinary message passing network: it does not see marks, so it is meant for bags of slot 0 alone.

    Args:
        node_encoder: features to C channels.
        layers: L layers.
    """

    def __init__(self, node_encoder: nn.Module, layers: Sequence[SingleStreamLayer]) -> None:
        super().__init__()
        self.node_encoder = node_encoder
        self.layers = nn.ModuleList(layers)

    def forward(self, graphs: Graphs, bag: Bag) -> Tensor:
        """Node states of every copy, ``(R, C)``."""
        rows = rows_of(graphs, bag)
        h: Tensor = rows.spread(self.node_encoder(graphs.x))
        for layer in self.layers:
            h = layer(h, rows, graphs.edge_attr)
        return h
