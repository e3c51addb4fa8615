"""Networks that turn copies of graphs into node states."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import torch
from torch import Tensor, nn

from policylearn.bags import Bag, Graphs
from policylearn.nn.convs import Conv
from policylearn.nn.norms import RowNorm
from policylearn.nn.scope import Scope


class Encoder(Protocol):
    """Node states of every copy.

    An encoder says by ``scope`` what a row's state may depend on (see `Scope`). One that says nothing is run on whole
    bags, one at a time.
    """

    def __call__(self, graphs: Graphs, bag: Bag) -> Tensor:
        """One state per row of the bag, ``(R, C)``."""


class StreamLayer(nn.Module):
    """``relu(norm(conv(z)))``."""

    def __init__(self, conv: Conv, norm: RowNorm) -> None:
        super().__init__()
        self.conv, self.norm = conv, norm

    def forward(self, states: Tensor, bag: Bag, edge_attr: Tensor | None) -> Tensor:
        """One layer of one stream, ``(R, C_in) -> (R, C)``."""
        return torch.relu(self.norm(self.conv(states, bag, edge_attr)))


class SingleStreamLayer(nn.Module):
    """One layer of an ordinary message passing network.

    Args:
        features: convolution, norm and relu.
        dropout: before the residual.
        residual: add the h that came in.
    """

    def __init__(self, features: StreamLayer, *, dropout: float = 0.0, residual: bool = True) -> None:
        super().__init__()
        self.features = features
        self.dropout = nn.Dropout(dropout)
        self.residual = residual

    def forward(self, h: Tensor, bag: Bag, edge_attr: Tensor | None) -> Tensor:
        """One layer, ``(R, C) -> (R, C)``."""
        new: Tensor = self.dropout(self.features(h, bag, edge_attr))
        return new + h if self.residual else new


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

    def forward(self, h: Tensor, p: Tensor, bag: Bag, edge_attr: Tensor | None) -> tuple[Tensor, Tensor]:
        """Both streams, ``(R, C)`` and ``(R, C)``."""
        new = self.dropout(self.features(torch.cat([h, p], dim=1), bag, edge_attr))
        return new + h if self.residual else new, self.marks(p, bag, None)


class TwoStreamEncoder(nn.Module):
    r"""DS-GNN encoder with the marks on a stream of their own.

    .. math::
        p^{(l)} = f_p^{(l)}(p^{(l-1)}, A), \quad
        h^{(l)} = f_h^{(l)}(h^{(l-1)} \oplus p^{(l-1)}, A), \quad
        h = p^{(L)} + h^{(L)}

    with :math:`p^{(0)} = \chi_v` and :math:`h^{(0)} = \chi_v \oplus X`.

    Args:
        node_encoder: features to C - M channels; the marks are the first channels of :math:`h^{(0)}`.
        layers: L layers.
    """

    scope: Scope = "copy"

    def __init__(self, node_encoder: nn.Module, layers: Sequence[TwoStreamLayer]) -> None:
        super().__init__()
        self.node_encoder = node_encoder
        self.layers = nn.ModuleList(layers)

    def forward(self, graphs: Graphs, bag: Bag) -> Tensor:
        """Node states of every copy, ``(R, C)``."""
        p = bag.marks  # (R, M)
        h = torch.cat([p, bag.spread(self.node_encoder(graphs))], dim=1)  # (R, C)
        for layer in self.layers:
            h, p = layer(h, p, bag, graphs.edge_attr)
        return h + p


class SingleStreamEncoder(nn.Module):
    """An ordinary message passing network: it does not see marks, so it is meant for bags of slot 0 alone.

    Args:
        node_encoder: features to C channels.
        layers: L layers.
    """

    scope: Scope = "copy"

    def __init__(self, node_encoder: nn.Module, layers: Sequence[SingleStreamLayer]) -> None:
        super().__init__()
        self.node_encoder = node_encoder
        self.layers = nn.ModuleList(layers)

    def forward(self, graphs: Graphs, bag: Bag) -> Tensor:
        """Node states of every copy, ``(R, C)``."""
        h: Tensor = bag.spread(self.node_encoder(graphs))
        for layer in self.layers:
            h = layer(h, bag, graphs.edge_attr)
        return h


def dtype_of(*parts: object) -> torch.dtype:
    """The precision of the first weight of the first part that has any; torch's default where none has."""
    modules = (part for part in parts if isinstance(part, nn.Module))
    return next((weight.dtype for module in modules for weight in module.parameters()), torch.get_default_dtype())
