"""From a configuration to a model. Only this file reads a `ModelConfig`; everything below takes plain values."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import get_args

from torch import nn

from policylearn.bags import BagRule, delete_nodes, ego_nets, mark_nodes
from policylearn.models.config import ModelConfig
from policylearn.models.subgraph_gnn import SubgraphGNN
from policylearn.nn import (
    GIN,
    MLP,
    ColumnHeads,
    Conv,
    CopiesThenNodes,
    CopyPool,
    Encoder,
    Features,
    GraphColumns,
    NodeEncoder,
    NodesThenCopies,
    NormStatistics,
    PyGConv,
    Readout,
    RowBatchNorm,
    RowNorm,
    SingleStreamEncoder,
    SingleStreamLayer,
    StreamLayer,
    TwoStreamEncoder,
    TwoStreamLayer,
    build_edge_encoder,
    build_norm,
)
from policylearn.policies import (
    Estimator,
    FullPolicy,
    Gapped,
    Imle,
    LearnedPolicy,
    NoPolicy,
    Policy,
    RandomPolicy,
    RankedPolicy,
    Reinforce,
    Rloo,
    StraightThrough,
    degree,
    log_degree,
    subgraph_centrality,
)
from policylearn.policies.ranked import NodeScore
from policylearn.settings import BagConfig, EstimatorName, NetworkConfig, PolicyConfig, PriorName
from policylearn.settings.notes import RunNote

WITHOUT_EDGES = ("gcn", "sage")
"""Convolutions that look at who is a neighbour alone."""


def build_model(config: ModelConfig) -> SubgraphGNN:
    """The model that a configuration describes."""
    network, rule = config.prediction, build_rule(config.bag)
    edges = len(config.edge_features.categorical) + config.edge_features.real
    if edges and network.conv in WITHOUT_EDGES:
        warnings.warn(
            f"the convolution '{network.conv}' does not read edge features, and edges have {edges} of them; use gin or"
            " gatv2 to have them read",
            RunNote,
            stacklevel=2,
        )
    encoder: Encoder
    if config.policy.marks_nothing:
        encoder = _single_stream(network, config)
    else:
        # A shared encoder sees one copy at a time, as a selection network does, and has the norms of one: batch norms
        # take each copy's own statistics in training, and the same for all copies in evaluation.
        shared = config.policy.learns and config.policy.shared
        network = replace(network, norm=config.policy.norm) if shared else network
        encoder = _two_stream(
            network, config, statistics="slot" if shared else "bag", track=network.track_running_stats
        )
    both = config.readout == "both" and config.level == "graph"  # a task of nodes pools none
    width = 2 * network.channels if both else network.channels
    return SubgraphGNN(
        policy=_build_policy(config, rule, encoder),
        encoder=encoder,
        readout=_build_readout(config),
        head=MLP(width + config.descriptors, 2 * network.channels, config.outputs),
        rule=rule,
        columns=_build_columns(config),
        column_heads=_build_column_heads(config),
        vector_norm=RowBatchNorm(width) if both else None,
        max_rows=config.max_rows,
    )


def build_rule(bag: BagConfig) -> BagRule:
    """How copies are made of the picks."""
    if bag.rule == "mark":
        return mark_nodes
    if bag.rule == "ego":
        return ego_nets(bag.hops)
    if bag.rule == "delete":
        return delete_nodes
    raise ValueError(f"unknown bag rule '{bag.rule}'; use mark, ego or delete")


def build_estimator(policy: PolicyConfig) -> Estimator:
    """How gradients reach the picks."""
    if policy.estimator == "reinforce":
        return Reinforce(policy.baseline, standardise=policy.standardise)
    if policy.estimator == "rloo":
        return Rloo(policy.samples, policy.standardise)
    if policy.estimator == "straight_through":
        return StraightThrough(policy.tau)
    if policy.estimator == "gapped":
        return Gapped(policy.tau)
    if policy.estimator == "imle":
        return Imle(policy.imle_strength)
    raise ValueError(f"'estimator' must be one of {', '.join(get_args(EstimatorName))} (got '{policy.estimator}')")


def _build_readout(config: ModelConfig) -> Readout:
    if config.order == "copies":
        return CopiesThenNodes(config.pooling, config.readout, level=config.level)
    if config.level == "node":
        raise ValueError("nodes of a copy cannot be pooled first in a task of nodes; use order 'copies'")
    if config.pooling == "min":
        raise ValueError("vectors of copies are pooled by 'mean' or 'sum'; use order 'copies' for 'min'")
    return NodesThenCopies(config.readout, config.pooling)


def _build_columns(config: ModelConfig) -> GraphColumns | None:
    if not config.descriptors:
        return None
    if config.level == "node":
        raise ValueError("descriptors belong to whole graphs, and a task of nodes cannot read them; leave them out")
    return GraphColumns(config.descriptors, dropout=config.descriptor_dropout)


def _build_column_heads(config: ModelConfig) -> ColumnHeads | None:
    if not (config.descriptors and config.descriptor_heads):
        return None
    return ColumnHeads(config.descriptor_heads, config.descriptors, config.outputs)


def _build_policy(config: ModelConfig, rule: BagRule, shared: Encoder) -> Policy:
    policy, marks = config.policy, config.policy.marks_per_copy
    if policy.name in ("none", "full"):
        if marks > 1:
            raise ValueError(f"policy '{policy.name}' marks one node per copy (got marks_per_copy {marks})")
        return NoPolicy() if policy.name == "none" else FullPolicy()
    if policy.name == "random":
        return RandomPolicy(policy.picks, replacement=not policy.mask_selected, seed=policy.seed, marks_per_copy=marks)
    if policy.name in ("degree", "centrality"):
        score = degree if policy.name == "degree" else subgraph_centrality
        return RankedPolicy(score, policy.picks, marks_per_copy=marks)
    if policy.name != "learned":
        raise ValueError(f"unknown policy '{policy.name}'; use learned, random, full, none, degree or centrality")
    paper = policy.mode == "paper"
    network = policy.network if policy.network is not None else config.prediction
    network = replace(network, norm="batch" if paper else policy.norm)
    # In paper mode norms take batch statistics over the whole bag, in evaluation too; otherwise a copy's state must not
    # change when the bag grows, so statistics are the copy's own in training and fixed in evaluation.
    encoder: Encoder = shared
    if policy.shared:
        network = config.prediction
        if paper or config.order != "copies" or policy.pooling != config.pooling:
            raise ValueError(
                "a shared encoder needs mode 'incremental', order 'copies' and one way to pool copies for both"
                f" networks (got {policy.mode}, {config.order}, {policy.pooling} and {config.pooling})"
            )
    else:
        encoder = _two_stream(network, config, statistics="bag" if paper else "slot", track=not paper)
    return LearnedPolicy(
        encoder,
        MLP(network.channels, 2 * network.channels, 1),
        picks=policy.picks,
        estimator=build_estimator(policy),
        mode=policy.mode,
        node_dropout=policy.node_dropout,
        mask_selected=policy.mask_selected,
        add_graph_mean=policy.add_graph_mean,
        pooling=CopyPool(policy.pooling),
        marks_per_copy=marks,
        rule=rule,
        shared=policy.shared,
        prior=None if policy.prior is None else build_prior(policy.prior),
        gain=None if policy.stop_below is None else MLP(network.channels, network.channels, policy.picks),
        stop_below=policy.stop_below,
    )


def build_prior(name: PriorName) -> NodeScore:
    """The logarithm of what the first pick leans to."""
    known: dict[str, NodeScore] = {"degree": log_degree, "centrality": subgraph_centrality}
    if name not in known:
        raise ValueError(f"'prior' must be one of {', '.join(known)} (got '{name}')")
    return known[name]


def _two_stream(
    network: NetworkConfig, config: ModelConfig, *, statistics: NormStatistics, track: bool
) -> TwoStreamEncoder:
    layers = []
    for depth in range(network.layers):
        marks = 1 if depth == 0 else network.channels
        layers.append(
            TwoStreamLayer(
                _stream(network, network.channels + marks, config.edge_features, statistics=statistics, track=track),
                _stream(network, marks, Features(), statistics=statistics, track=track),
                dropout=network.dropout,
                residual=network.residual,
            )
        )
    return TwoStreamEncoder(NodeEncoder(config.node_features, network.channels - 1), layers)


def _single_stream(network: NetworkConfig, config: ModelConfig) -> SingleStreamEncoder:
    layers = [
        SingleStreamLayer(
            _stream(
                network, network.channels, config.edge_features, statistics="bag", track=network.track_running_stats
            ),
            dropout=network.dropout,
            residual=network.residual,
        )
        for _ in range(network.layers)
    ]
    return SingleStreamEncoder(NodeEncoder(config.node_features, network.channels), layers)


def _stream(
    network: NetworkConfig, inputs: int, edges: Features, *, statistics: NormStatistics, track: bool
) -> StreamLayer:
    def norm() -> RowNorm:
        return build_norm(network.norm, network.channels, statistics=statistics, track=track)

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
    if network.conv == "gatv2":
        encoder = build_edge_encoder(edges, channels)
        return PyGConv(GATv2Conv(inputs, channels, edge_dim=None if encoder is None else channels), encoder)
    raise ValueError(f"unknown convolution '{network.conv}'; use gin, gcn, sage or gatv2")
