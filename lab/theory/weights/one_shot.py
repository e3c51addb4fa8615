"""The proposition on OSAN: whatever distributions a one-shot network gives, the learned policy can give one per step.

The selection network ignores the marks and carries the one-shot network's states, with a column of ones beside them.
Summed over the t copies of step t, that column holds t, and the selector reads column t of the scores.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch_geometric.nn import GraphConv

from lab.theory.weights.drawn import draw_weights
from policylearn.bags import Graphs, mark_nodes
from policylearn.nn import (
    CopyPool,
    Features,
    NodeEncoder,
    NoNorm,
    PyGConv,
    SingleStreamEncoder,
    SingleStreamLayer,
    StreamLayer,
    TwoStreamEncoder,
    TwoStreamLayer,
)
from policylearn.policies import LearnedPolicy, NoPolicy

BLOCK = 1e6
"""Pushes the columns of other steps below zero; scores must stay below it in size."""


class OneShot(nn.Module):
    """Scores of all T picks at once, from the unmarked graph alone, as OSAN's selection network gives them.

    Args:
        features: columns of ``x``.
        channels: width of the GraphConv layers.
        layers: how many.
        picks: T.
    """

    def __init__(self, features: int, channels: int, layers: int, picks: int) -> None:
        super().__init__()
        self.picks, self.features, self.channels = picks, features, channels
        self.encoder = SingleStreamEncoder(
            NodeEncoder(Features(real=features), channels),
            [SingleStreamLayer(stream(channels, channels), residual=False) for _ in range(layers)],
        )
        self.head = nn.Linear(channels, picks)

    def forward(self, graphs: Graphs) -> Tensor:
        """The logits of each pick, a column per pick, ``(N, T)``."""
        bag = mark_nodes(graphs, NoPolicy()(graphs), dtype=self.head.weight.dtype)
        logits: Tensor = self.head(self.encoder(graphs, bag))
        return logits


def random_one_shot(features: int, channels: int, layers: int, picks: int, generator: torch.Generator) -> OneShot:
    """A one-shot network with random weights; the arguments are those of `OneShot`."""
    return draw_weights(OneShot(features, channels, layers, picks), generator)


def table_one_shot(picks: int) -> OneShot:
    """A one-shot network whose logits are the T columns of ``x``: hand it any distributions for any graph."""
    network = OneShot(picks, 2 * picks, 1, picks)
    signed = torch.cat([torch.eye(picks), -torch.eye(picks)])  # relu(z) - relu(-z) = z
    weights = {name: torch.zeros_like(value) for name, value in network.state_dict().items()}
    weights["encoder.node_encoder.linear.weight"] = signed
    weights["encoder.layers.0.features.conv.conv.lin_root.weight"] = torch.eye(2 * picks)
    weights["head.weight"] = signed.t().contiguous()
    network.load_state_dict(weights)
    return network


def one_shot_policy(network: OneShot, *, mask_selected: bool = False) -> LearnedPolicy:
    """A learned policy that gives the one-shot network's distribution of pick t at its step t.

    Args:
        network: whose weights are taken over.
        mask_selected: False for the very same distributions; True bars picked nodes, which a one-shot network cannot.
    """
    width = network.channels + 2  # the mark, the states, the ones
    layers = []
    for depth in range(len(network.encoder.layers)):
        marks = 1 if depth == 0 else width
        layers.append(TwoStreamLayer(stream(width + marks, width), stream(marks, width), residual=False))
    policy = LearnedPolicy(
        TwoStreamEncoder(NodeEncoder(Features(real=network.features), width - 1), layers),
        Selector(width, network.picks),
        picks=network.picks,
        mask_selected=mask_selected,
        add_graph_mean=False,
        pooling=CopyPool("sum"),
    ).to(network.head.weight.dtype)
    policy.load_state_dict(hosting_weights(network.state_dict(), policy.state_dict(), network.picks))
    return policy.eval()


class Selector(nn.Module):
    """Three linear maps that read the step from the last column and give that step's score.

    Args:
        channels: of the summed states.
        picks: T.
    """

    def __init__(self, channels: int, picks: int) -> None:
        super().__init__()
        self.lin1 = nn.Linear(channels, 4 * picks)
        self.lin2 = nn.Linear(4 * picks, 2 * picks)
        self.lin3 = nn.Linear(2 * picks, 1)

    def forward(self, x: Tensor) -> Tensor:
        """Map, ``(N, C) -> (N, 1)``."""
        out: Tensor = self.lin3(torch.relu(self.lin2(torch.relu(self.lin1(x)))))
        return out


def hosting_weights(given: dict[str, Tensor], shapes: dict[str, Tensor], picks: int) -> dict[str, Tensor]:
    """The one-shot network's weights in the middle of wider ones that are zero, and the selector's."""
    weights = {name: torch.zeros_like(value) for name, value in shapes.items()}
    encoded = given["encoder.node_encoder.linear.weight"]
    channels = len(encoded)
    weights["encoder.node_encoder.linear.weight"][:channels] = encoded
    weights["encoder.node_encoder.linear.bias"][:channels] = given["encoder.node_encoder.linear.bias"]
    inner = slice(1, channels + 1)
    for layer in range(sum(name.endswith("lin_rel.bias") for name in given)):
        name = f"encoder.layers.{layer}.features.conv.conv"
        for part in ("lin_rel.weight", "lin_root.weight"):
            weights[f"{name}.{part}"][inner, inner] = given[f"{name}.{part}"]
        weights[f"{name}.lin_rel.bias"][inner] = given[f"{name}.lin_rel.bias"]
        weights[f"{name}.lin_rel.bias"][-1] = 1  # the column of ones
    head, bias = given["head.weight"], given["head.bias"]
    eye = torch.eye(picks, dtype=head.dtype)
    steps = torch.arange(1, picks + 1, dtype=head.dtype)
    # Hidden: the score y_s of each step s twice with either sign, and how far the step is, t - s and s - t. The states
    # came in summed over t copies, which is s copies where it counts.
    first, first_bias = weights["selector.lin1.weight"], weights["selector.lin1.bias"]
    first[:picks, inner] = head / steps.unsqueeze(1)
    first[picks : 2 * picks, inner] = -head / steps.unsqueeze(1)
    first[2 * picks : 3 * picks, -1] = 1
    first[3 * picks :, -1] = -1
    first_bias.copy_(torch.cat([bias, -bias, -steps, steps]))
    # y_s and -y_s, unless the step is another one: the distance is exactly 0 at t = s, so nothing is lost to rounding.
    block = -BLOCK * eye
    weights["selector.lin2.weight"] = torch.cat(
        [torch.cat([eye, -eye, block, block], dim=1), torch.cat([-eye, eye, block, block], dim=1)]
    )
    weights["selector.lin3.weight"] = torch.cat([torch.ones(1, picks), -torch.ones(1, picks)], dim=1).to(head.dtype)
    return weights


def stream(inputs: int, outputs: int) -> StreamLayer:
    """A GraphConv layer without norm."""
    return StreamLayer(PyGConv(GraphConv(inputs, outputs)), NoNorm())
