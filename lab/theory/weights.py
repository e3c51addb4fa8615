"""Weights written by hand, after the paper's proofs, in the same networks that are otherwise trained.

Theorem 2, covering: the marks' stream floods, so that after each layer a node holds 1 if the mark has reached it, else
0. Pooled over the copies, a node has a positive value if and only if its component was marked already, and the scores
push such nodes far down, while all others keep one and the same score.

The proposition on OSAN, one shot: the selection network ignores the marks and carries the one-shot network's states,
with a column of ones beside them. Summed over the t copies of step t, that column holds t, and the selector reads
column t of the scores.
"""

from __future__ import annotations

from typing import TypeVar

import torch
from torch import Tensor, nn
from torch_geometric.nn import GraphConv

from lab.policy_model import policy_model
from policylearn.bags import Graphs, mark_nodes
from policylearn.nn import (
    GIN,
    MLP,
    CopyPool,
    Features,
    NetworkConfig,
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

Module = TypeVar("Module", bound=nn.Module)


def draw_weights(module: Module, generator: torch.Generator) -> Module:
    """Replace every weight by a normal draw, scaled by the number of inputs, and return the module for evaluation."""
    with torch.no_grad():
        for parameter in module.parameters():
            scale = parameter.shape[-1] ** -0.5
            parameter.copy_(scale * torch.randn(parameter.shape, generator=generator))
    return module.eval()


CHANNELS = 2
FAR_DOWN = 200.0
"""Difference of scores that no draw crosses: Gumbel noise in single precision lies between -5 and 88."""


def covering_policy(picks: int, layers: int, *, mask_selected: bool = True) -> LearnedPolicy:
    """The package's own selection network (GIN, two streams, no norm) with weights that cover.

    Args:
        picks: T.
        layers: at least the largest diameter of a component, or the flood stops short.
        mask_selected: whether the policy itself bars picked nodes; the weights do not need it.
    """
    network = NetworkConfig(channels=CHANNELS, layers=layers, conv="gin", norm="none")
    selection = {"picks": picks, "norm": "none", "mask_selected": mask_selected}
    return load_covering_weights(policy_model(selection, network).policy)


def load_covering_weights(policy: object) -> LearnedPolicy:
    """Replace the weights of a selection network by covering ones, and return it in evaluation mode.

    Args:
        policy: learned, with GIN layers without norms, at least two channels and slots pooled by mean or sum.
    """
    assert isinstance(policy, LearnedPolicy), "other policies have no selection network"
    floods = [module for module in policy.modules() if isinstance(module, GIN)]
    plain = floods and all(isinstance(layer.norm, NoNorm) and layer.lin1.out_features >= 2 for layer in floods)
    if not plain or policy.pool.how == "min":
        raise ValueError(
            "covering weights need a policy with GIN layers of >= 2 channels and norm 'none', whose slots are pooled by"
            f" mean or sum (got {policy}); build it with covering_policy"
        )
    weights = {name: torch.zeros_like(value) for name, value in policy.state_dict().items()}
    layers = sum(name.endswith("marks.conv.eps") for name in weights)
    for layer in range(layers):
        flood_layer(weights, f"encoder.layers.{layer}.marks.conv")
    weights["selector.lin1.weight"][0, 0] = 1  # relu keeps the value: it is not negative
    # The mean over T copies makes 1 / T of a single mark; scores are scaled so that it still counts in full.
    weights["selector.lin2.weight"][0, 0] = -FAR_DOWN * (policy.picks + 1)
    policy.load_state_dict(weights)
    return policy.eval()


def flood_layer(weights: dict[str, Tensor], layer: str) -> None:
    """Make one GIN layer compute min(1, own + neighbours) in channel 0, as relu(x) - relu(x - 1)."""
    weights[f"{layer}.lin1.weight"][:2, 0] = 1
    weights[f"{layer}.lin1.bias"][1] = -1
    weights[f"{layer}.lin2.weight"][0, 0] = 1
    weights[f"{layer}.lin2.weight"][0, 1] = -1


IS_ROOT, DEGREE = 0, 1
"""Channels of the states: whether the node is the root of its copy; first 1, then whether its degree is above d."""
DEGREE_LAYERS = 4
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
        graph_conv_encoder(),
        MLP(CHANNELS, CHANNELS, 1),
        picks=picks,
        mask_selected=mask_selected,
        add_graph_mean=False,
        pooling=CopyPool("min"),
    )
    policy.load_state_dict(appendix_weights(policy.state_dict(), threshold))
    return policy.eval()


def graph_conv_encoder() -> TwoStreamEncoder:
    """Two streams of GraphConv layers; the marks' own stream stays zero, as the features see the mark themselves."""
    layers = []
    for depth in range(DEGREE_LAYERS):
        marks = 1 if depth == 0 else CHANNELS
        layers.append(TwoStreamLayer(stream(CHANNELS + marks, CHANNELS), stream(marks, CHANNELS), residual=False))
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


BLOCK = 1e6
"""Pushes the columns of other steps below zero; scores must stay below it in size."""


class OneShot(nn.Module):
    """Scores of all T picks at once, from the unmarked graph alone, as OSAN's selection network gives them."""

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
    """Three linear maps that read the step from the last column and give that step's score."""

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
