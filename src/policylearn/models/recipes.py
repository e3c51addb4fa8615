"""From a configuration to a model. Only this file reads a `ModelConfig`; everything below takes plain values."""

from __future__ import annotations

from dataclasses import replace

from torch import nn
from torch_geometric.nn import GATv2Conv, GCNConv, SAGEConv

from policylearn.models.config import ModelConfig, NetworkConfig
from policylearn.models.subgraph_gnn import SubgraphGNN
from policylearn.nn import (
    GIN,
    MLP,
    Conv,
    Encoder,
    Features,
    GraphReadout,
    NodeReadout,
    NormScope,
    PyGConv,
    RowNorm,
    SingleStreamEncoder,
    SingleStreamLayer,
    SlotPool,
    StreamLayer,
    TwoStreamEncoder,
    TwoStreamLayer,
    build_edge_encoder,
    build_node_encoder,
    build_norm,
)
from policylearn.policies import (
    FullPolicy,
    LearnedPolicy,
    NoPolicy,
    Policy,
    RandomPolicy,
    RankedPolicy,
    degree,
    subgraph_centrality,
)


def build_model(config: ModelConfig) -> SubgraphGNN:
    """The model that a configuration describes."""
    network = config.prediction
    encoder: Encoder
    if config.policy.name == "none" or (config.policy.picks == 0 and config.policy.name != "full"):
        encoder = _single_stream(network, config)
    else:
        encoder = _two_stream(network, config, scope="bag", track=network.track_running_stats)
    return SubgraphGNN(
        policy=_build_policy(config),
        encoder=encoder,
        readout=GraphReadout(config.readout) if config.level == "graph" else NodeReadout(),
        head=MLP(network.channels, 2 * network.channels, config.outputs),
        pool=SlotPool(config.pooling),
        max_rows=config.max_rows,
    )


def _build_policy(config: ModelConfig) -> Policy:
    policy = config.policy
    if policy.name == "none":
        return NoPolicy()
    if policy.name == "full":
        return FullPolicy()
    if policy.name == "random":
        return RandomPolicy(policy.picks, replacement=not policy.mask_selected, seed=policy.seed)
    if policy.name in ("degree", "centrality"):
        return RankedPolicy(degree if policy.name == "degree" else subgraph_centrality, policy.picks)
    if policy.name != "learned":
        raise ValueError(f"unknown policy '{policy.name}'; use learned, random, full, none, degree or centrality")
    paper = policy.mode == "paper"
    network = policy.network if policy.network is not None else config.prediction
    network = replace(network, norm="batch" if paper else policy.norm)
    # In paper mode norms take batch statistics over the whole bag, in evaluation too; otherwise a copy's state must not
    # change when the bag grows, so statistics are the copy's own in training and fixed in evaluation.
    encoder = _two_stream(network, config, scope="bag" if paper else "slot", track=not paper)
    return LearnedPolicy(
        encoder,
        MLP(network.channels, 2 * network.channels, 1),
        picks=policy.picks,
        mode=policy.mode,
        estimator=policy.estimator,
        samples=policy.samples,
        standardise=policy.standardise,
        tau=policy.tau,
        node_dropout=policy.node_dropout,
        mask_selected=policy.mask_selected,
        add_graph_mean=policy.add_graph_mean,
        pooling=SlotPool(policy.pooling),
    )


def _two_stream(network: NetworkConfig, config: ModelConfig, *, scope: NormScope, track: bool) -> TwoStreamEncoder:
    layers = []
    for depth in range(network.layers):
        marks = 1 if depth == 0 else network.channels
        layers.append(
            TwoStreamLayer(
                _stream(network, network.channels + marks, config.edge_features, scope=scope, track=track),
                _stream(network, marks, Features("none"), scope=scope, track=track),
                dropout=network.dropout,
                residual=network.residual,
            )
        )
    return TwoStreamEncoder(build_node_encoder(config.node_features, network.channels - 1), layers)


def _single_stream(network: NetworkConfig, config: ModelConfig) -> SingleStreamEncoder:
    layers = [
        SingleStreamLayer(
            _stream(network, network.channels, config.edge_features, scope="bag", track=network.track_running_stats),
            dropout=network.dropout,
            residual=network.residual,
        )
        for _ in range(network.layers)
    ]
    return SingleStreamEncoder(build_node_encoder(config.node_features, network.channels), layers)


def _stream(network: NetworkConfig, inputs: int, edges: Features, *, scope: NormScope, track: bool) -> StreamLayer:
    def norm() -> RowNorm:
        return build_norm(network.norm, network.channels, scope=scope, track=track)

    return StreamLayer(_conv(network, inputs, edges, norm()), norm())


def _conv(network: NetworkConfig, inputs: int, edges: Features, norm: RowNorm) -> Conv:
    channels = network.channels
    if network.conv == "gin":
        encoder = build_edge_encoder(edges, inputs)
        return GIN(nn.Linear(inputs, channels), norm, nn.Linear(channels, channels), encoder)
    if network.conv == "gcn":
        return PyGConv(GCNConv(inputs, channels))
    if network.conv == "sage":
        return PyGConv(SAGEConv(inputs, channels))
    if network.conv == "gatv2":
        encoder = build_edge_encoder(edges, channels)
        return PyGConv(GATv2Conv(inputs, channels, edge_dim=None if encoder is None else channels), encoder)
    raise ValueError(f"unknown convolution '{network.conv}'; use gin, gcn, sage or gatv2")
