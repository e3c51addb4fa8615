"""The degree-aware policy of the paper's appendix: pick all nodes of degree greater than d, each once."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch_geometric.nn import GraphConv

from policylearn.nn import (
    MLP,
    CopyPool,
    Features,
    NodeEncoder,
    NoNorm,
    PyGConv,
    StreamLayer,
    TwoStreamEncoder,
    TwoStreamLayer,
)
from policylearn.policies import LearnedPolicy

IS_ROOT, DEGREE = 0, 1
"""Channels of the states: whether the node is the root of its copy; first 1, then whether its degree is above d."""
LAYERS, CHANNELS = 4, 2
SHARPNESS = 200.0
"""Scale of the scores, so that draws follow the picks too; the paper's own scores are 0 and 1."""


def degree_aware_policy(threshold: int, picks: int, *, mask_selected: bool = True) -> LearnedPolicy:
    r"""Four GraphConv layers without norm, slots pooled by min, no graph mean; the weights are the appendix's.

    .. math:: h_v = \min_i \mathrm{relu}(1[d(v) > d] - \mathrm{id}_{v,i})

    Args:
        threshold: the paper's d.
        picks: T, the number m of nodes of larger degree; beyond it all nodes score alike.
        mask_selected: whether the policy itself bars picked nodes; the weights do not need it.
    """
    if threshold < 0:
        raise ValueError(f"'threshold' must be >= 0 (got {threshold}); every node has a larger degree than that")
    policy = LearnedPolicy(
        encoder(),
        MLP(CHANNELS, CHANNELS, 1),
        picks=picks,
        mask_selected=mask_selected,
        add_graph_mean=False,
        pooling=CopyPool("min"),
    )
    policy.load_state_dict(appendix_weights(policy.state_dict(), threshold))
    return policy.eval()


def encoder() -> TwoStreamEncoder:
    """Two streams of GraphConv layers; the marks' own stream stays zero, as the features see the mark themselves."""

    def stream(inputs: int) -> StreamLayer:
        return StreamLayer(PyGConv(GraphConv(inputs, CHANNELS)), NoNorm())

    layers = []
    for depth in range(LAYERS):
        marks = 1 if depth == 0 else CHANNELS
        layers.append(TwoStreamLayer(stream(CHANNELS + marks), stream(marks), residual=False))
    features: nn.Module = NodeEncoder(Features(), CHANNELS - 1)
    return TwoStreamEncoder(features, layers)


def appendix_weights(shapes: dict[str, Tensor], threshold: int) -> dict[str, Tensor]:
    """The weights of the proof, layer by layer; channels come mark first here, and the other way round there."""
    weights = {name: torch.zeros_like(value) for name, value in shapes.items()}
    weights["encoder.node_encoder.vector"].fill_(1)

    def of(layer: int, what: str) -> Tensor:
        return weights[f"encoder.layers.{layer}.features.conv.conv.{what}"]

    for layer in range(3):
        of(layer, "lin_root.weight")[IS_ROOT, IS_ROOT] = 1
    # relu(d(v) - d): above 0 for the nodes that are wanted
    of(0, "lin_rel.weight")[DEGREE, DEGREE] = 1
    of(0, "lin_rel.bias")[DEGREE] = -threshold
    # relu(1 - relu(1 - .)): made 1 for them, 0 stays 0
    for layer in (1, 2):
        of(layer, "lin_root.weight")[DEGREE, DEGREE] = -1
        of(layer, "lin_rel.bias")[DEGREE] = 1
    # minus the mark, in channel 0
    of(3, "lin_root.weight")[0, DEGREE] = 1
    of(3, "lin_root.weight")[0, IS_ROOT] = -1
    weights["selector.lin1.weight"][0, 0] = 1
    weights["selector.lin2.weight"][0, 0] = SHARPNESS
    return weights
