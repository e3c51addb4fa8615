"""What a model is made of, as plain values."""

from __future__ import annotations

from dataclasses import dataclass, field

from policylearn.models.subgraph_gnn import STREAMED_ROWS
from policylearn.nn import Features
from policylearn.settings import BagConfig, CopyPooling, GraphReadout, Level, NetworkConfig, PolicyConfig, PoolingOrder


@dataclass(frozen=True)
class ModelConfig:
    """A whole model."""

    node_features: Features = field(default=Features())
    """What nodes come with."""
    edge_features: Features = field(default=Features())
    """What edges come with."""
    outputs: int = 1
    """Width of the output."""
    level: Level = "graph"
    """Whether a prediction belongs to a graph or to a node."""
    prediction: NetworkConfig = field(default_factory=NetworkConfig)
    """The prediction network."""
    policy: PolicyConfig = field(default_factory=PolicyConfig)
    """The policy."""
    pooling: CopyPooling = "mean"
    """How the prediction network pools the copies of a node."""
    readout: GraphReadout = "mean"
    """How nodes are pooled to a graph vector; with 'both' it has twice the channels, and a norm before the head."""
    order: PoolingOrder = "copies"
    """What is pooled first: the copies of each node, or the nodes of each copy."""
    bag: BagConfig = field(default_factory=BagConfig)
    """How copies are made of the picks."""
    descriptors: int = 0
    """Numbers per graph that the head reads beside the graph's vector, from the extra 'descriptors'; 0 for none."""
    descriptor_dropout: float = 0.0
    """Share of them that is set to zero in training."""
    descriptor_heads: int = 0
    """Perceptrons that see them alone, and whose mean counts half of what is predicted; 0 for none."""
    max_rows: int = STREAMED_ROWS
    """Rows held at once at inference; without running statistics the bag is held whole, as pieces have others."""
