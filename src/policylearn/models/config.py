"""What a model is made of, as plain values."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from policylearn.models.subgraph_gnn import MAX_ROWS
from policylearn.nn import Features, NodePooling, NormKind, SlotPooling
from policylearn.policies import Estimator, Mode

PolicyName = Literal["learned", "random", "full", "none", "degree", "centrality"]
ConvName = Literal["gin", "gcn", "sage", "gatv2"]


@dataclass(frozen=True)
class NetworkConfig:
    """One of the two networks."""

    channels: int = 64
    """Width C of every layer."""
    layers: int = 6
    """Number of layers."""
    conv: ConvName = "gin"
    """The inner convolution."""
    norm: NormKind = "batch"
    """Norm after each linear map; the selection network has its own setting, `PolicyConfig.norm`."""
    track_running_stats: bool = True
    """Whether batch norms keep running statistics for evaluation."""
    dropout: float = 0.0
    """Dropout between layers."""
    residual: bool = True
    """Add each layer's input to its output."""


@dataclass(frozen=True)
class PolicyConfig:
    """Which copies to look at."""

    name: PolicyName = "learned"
    """The policy."""
    picks: int = 2
    """T, how many nodes are marked, each in a copy of its own."""
    network: NetworkConfig | None = None
    """The selection network; the same as the prediction network if not given."""
    mode: Mode = "incremental"
    """One pass a step, or the authors' way."""
    norm: NormKind = "layer"
    """Norm of the selection network; in paper mode it is a batch norm over the whole bag."""
    estimator: Estimator = "rloo"
    """How gradients reach the picks."""
    samples: int = 4
    """K, bags drawn a graph by 'rloo'."""
    standardise: bool = True
    """Divide the advantages of 'rloo' by their standard deviation."""
    tau: float = 1.0
    """Temperature of 'straight_through' and 'gapped'."""
    node_dropout: float = 0.0
    """Share of the candidates that cannot be picked, in training."""
    mask_selected: bool = True
    """Do not pick a node twice (learned); draw without replacement (random)."""
    add_graph_mean: bool = True
    """Add the graph's mean to each node before scoring."""
    pooling: SlotPooling = "mean"
    """How the selection network pools the copies of a node."""
    seed: int = 0
    """Of the random policy's draws in evaluation."""


@dataclass(frozen=True)
class ModelConfig:
    """A whole model."""

    node_features: Features = field(default=Features("constant"))
    """What the columns of x hold."""
    edge_features: Features = field(default=Features("none"))
    """What the columns of edge_attr hold."""
    outputs: int = 1
    """Width of the output."""
    level: Literal["graph", "node"] = "graph"
    """Whether a prediction belongs to a graph or to a node."""
    prediction: NetworkConfig = NetworkConfig()
    """The prediction network."""
    policy: PolicyConfig = PolicyConfig()
    """The policy."""
    pooling: SlotPooling = "mean"
    """How the prediction network pools the copies of a node."""
    readout: NodePooling = "mean"
    """How nodes are pooled to a graph vector."""
    max_rows: int = MAX_ROWS
    """Rows held at once at inference; without running statistics the bag is held whole, as pieces have others."""
