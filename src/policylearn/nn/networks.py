"""The encoders of Policy-learn, built from their settings."""

from __future__ import annotations

from typing import Annotated

import msgspec
from torch import nn

from policylearn.nn.convs import GIN, Conv, PyGConv
from policylearn.nn.encoders import (
    SingleStreamEncoder,
    SingleStreamLayer,
    StreamLayer,
    TwoStreamEncoder,
    TwoStreamLayer,
)
from policylearn.nn.features import Features, NodeEncoder, build_edge_encoder
from policylearn.nn.norms import RowNorm, build_norm
from policylearn.settings import ConvName, NormKind
from policylearn.settings.schema import DropShare, Positive, Settings

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
    """An encoder that sees marks.

    Args:
        network: its settings.
        nodes: what nodes come with.
        edges: what edges come with.
    """
    layers = []
    for depth in range(network.layers):
        marks = 1 if depth == 0 else network.channels
        features = _stream(network, network.channels + marks, edges)
        mark_layer = _stream(network, marks, Features())
        layers.append(TwoStreamLayer(features, mark_layer, dropout=network.dropout, residual=network.residual))
    return TwoStreamEncoder(NodeEncoder(nodes, network.channels - 1), layers)


def single_stream_encoder(network: NetworkConfig, nodes: Features, edges: Features) -> SingleStreamEncoder:
    """An ordinary message passing network; the arguments are those of `two_stream_encoder`."""
    layers = [
        SingleStreamLayer(_stream(network, network.channels, edges), dropout=network.dropout, residual=network.residual)
        for _ in range(network.layers)
    ]
    return SingleStreamEncoder(NodeEncoder(nodes, network.channels), layers)


def _stream(network: NetworkConfig, inputs: int, edges: Features) -> StreamLayer:
    def norm() -> RowNorm:
        return build_norm(network.norm, network.channels, track=network.track_running_stats)

    return StreamLayer(_conv(network, inputs, edges, norm()), norm())


def _conv(network: NetworkConfig, inputs: int, edges: Features, norm: RowNorm) -> Conv:
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
