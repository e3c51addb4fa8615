"""Networks that turn copies of graphs into node states, and how they are built from their settings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Protocol

import msgspec
import torch
from torch import Tensor, nn

from policylearn.bags import Bag, Graphs
from policylearn.nn.convs import GIN, Conv, PyGConv
from policylearn.nn.features import Features, NodeEncoder, build_edge_encoder
from policylearn.nn.norms import build_norm
from policylearn.nn.scope import Scope
from policylearn.settings import ConvName, NormKind
from policylearn.settings.schema import DropShare, Positive, Settings


class Encoder(Protocol):
    """Node states of every copy.

    An encoder says by ``scope`` what a row's state may depend on (see `Scope`). One that says nothing is run on whole
    bags, one at a time.
    """

    def __call__(self, graphs: Graphs, bag: Bag) -> Tensor:
        """One state per row of the bag, ``(R, C)``."""


class StreamLayer(nn.Module):
    """``relu(norm(conv(z)))``, ``(R, C_in) -> (R, C)``."""

    def __init__(self, conv: Conv, norm: nn.Module) -> None:
        super().__init__()
        self.conv, self.norm = conv, norm

    def forward(self, states: Tensor, bag: Bag, edge_attr: Tensor | None) -> Tensor:
        return torch.relu(self.norm(self.conv(states, bag, edge_attr)))


class SingleStreamLayer(nn.Module):
    """One layer of an ordinary message passing network, with dropout before the residual."""

    def __init__(self, features: StreamLayer, *, dropout: float = 0.0, residual: bool = True) -> None:
        super().__init__()
        self.features, self.dropout, self.residual = features, nn.Dropout(dropout), residual

    def forward(self, h: Tensor, bag: Bag, edge_attr: Tensor | None) -> Tensor:
        new: Tensor = self.dropout(self.features(h, bag, edge_attr))
        return new + h if self.residual else new


class TwoStreamLayer(nn.Module):
    """Updates of the features h and of the marks p, ``(R, C)`` each; both read the p that came in.

    The layer of the features reads ``[h, p]`` and the edge features, that of the marks p alone. Dropout and residual
    are of the features.
    """

    def __init__(
        self, features: StreamLayer, marks: StreamLayer, *, dropout: float = 0.0, residual: bool = True
    ) -> None:
        super().__init__()
        self.features, self.marks = features, marks
        self.dropout, self.residual = nn.Dropout(dropout), residual

    def forward(self, h: Tensor, p: Tensor, bag: Bag, edge_attr: Tensor | None) -> tuple[Tensor, Tensor]:
        new = self.dropout(self.features(torch.cat([h, p], dim=1), bag, edge_attr))
        return new + h if self.residual else new, self.marks(p, bag, None)


class TwoStreamEncoder(nn.Module):
    r"""DS-GNN encoder with the marks on a stream of their own.

    .. math::
        p^{(l)} = f_p^{(l)}(p^{(l-1)}, A), \quad
        h^{(l)} = f_h^{(l)}(h^{(l-1)} \oplus p^{(l-1)}, A), \quad
        h = p^{(L)} + h^{(L)}

    with :math:`p^{(0)} = \chi_v` and :math:`h^{(0)} = \chi_v \oplus X`: the node encoder gives C - M channels for M
    marks.
    """

    scope: Scope = "copy"

    def __init__(self, node_encoder: nn.Module, layers: Sequence[TwoStreamLayer]) -> None:
        super().__init__()
        self.node_encoder, self.layers = node_encoder, nn.ModuleList(layers)

    def forward(self, graphs: Graphs, bag: Bag) -> Tensor:
        p = bag.marks  # (R, M)
        h = torch.cat([p, bag.spread(self.node_encoder(graphs))], dim=1)  # (R, C)
        for layer in self.layers:
            h, p = layer(h, p, bag, graphs.edge_attr)
        return h + p


class SingleStreamEncoder(nn.Module):
    """An ordinary message passing network: it does not see marks, so it is meant for bags of slot 0 alone."""

    scope: Scope = "copy"

    def __init__(self, node_encoder: nn.Module, layers: Sequence[SingleStreamLayer]) -> None:
        super().__init__()
        self.node_encoder, self.layers = node_encoder, nn.ModuleList(layers)

    def forward(self, graphs: Graphs, bag: Bag) -> Tensor:
        h: Tensor = bag.spread(self.node_encoder(graphs))
        for layer in self.layers:
            h = layer(h, bag, graphs.edge_attr)
        return h


def dtype_of(*parts: object) -> torch.dtype:
    """The precision of the first weight of the first part that has any; torch's default where none has."""
    modules = (part for part in parts if isinstance(part, nn.Module))
    return next((weight.dtype for module in modules for weight in module.parameters()), torch.get_default_dtype())


AtLeastTwo = Annotated[int, msgspec.Meta(ge=2)]
"""One channel holds the mark, and the others what nodes come with."""


class NetworkConfig(Settings, frozen=True):
    """One of the two networks."""

    channels: AtLeastTwo = 64
    """Width C of every layer."""
    layers: Positive = 6
    """Number of layers."""
    conv: ConvName = "gin"
    """The inner convolution."""
    norm: NormKind = "batch"
    """Norm after each linear map; the selection network has its own setting, `selection.norm`."""
    track_running_stats: bool = True
    """Whether batch norms keep running statistics for evaluation."""
    dropout: DropShare = 0.0
    """Dropout between layers."""
    residual: bool = True
    """Add each layer's input to its output."""


def two_stream_encoder(network: NetworkConfig, nodes: Features, edges: Features) -> TwoStreamEncoder:
    """An encoder that sees marks, for nodes and edges with these features."""
    layers = []
    for depth in range(network.layers):
        marks = 1 if depth == 0 else network.channels
        features = _stream(network, network.channels + marks, edges)
        mark_layer = _stream(network, marks, Features())
        layers.append(TwoStreamLayer(features, mark_layer, dropout=network.dropout, residual=network.residual))
    return TwoStreamEncoder(NodeEncoder(nodes, network.channels - 1), layers)


def single_stream_encoder(network: NetworkConfig, nodes: Features, edges: Features) -> SingleStreamEncoder:
    """An ordinary message passing network."""
    layers = [
        SingleStreamLayer(_stream(network, network.channels, edges), dropout=network.dropout, residual=network.residual)
        for _ in range(network.layers)
    ]
    return SingleStreamEncoder(NodeEncoder(nodes, network.channels), layers)


def _stream(network: NetworkConfig, inputs: int, edges: Features) -> StreamLayer:
    def norm() -> nn.Module:
        return build_norm(network.norm, network.channels, track=network.track_running_stats)

    return StreamLayer(_conv(network, inputs, edges, norm()), norm())


def _conv(network: NetworkConfig, inputs: int, edges: Features, norm: nn.Module) -> Conv:
    channels = network.channels
    if network.conv == "gin":
        encoder = build_edge_encoder(edges, inputs)
        return GIN(nn.Linear(inputs, channels), norm, nn.Linear(channels, channels), encoder)
    from torch_geometric.nn import GATv2Conv, GCNConv, SAGEConv  # two seconds, for those who take them

    if network.conv == "gcn":
        return PyGConv(GCNConv(inputs, channels))
    if network.conv == "sage":
        return PyGConv(SAGEConv(inputs, channels))
    encoder = build_edge_encoder(edges, channels)
    return PyGConv(GATv2Conv(inputs, channels, edge_dim=None if encoder is None else channels), encoder)
