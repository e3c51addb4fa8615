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

from lab.settings import policy_model
from policylearn.bags import Graphs, mark_nodes
from policylearn.models import Inputs, SubgraphGNN
from policylearn.nn import (
    MLP,
    CopyPool,
    Features,
    NetworkConfig,
    NodeEncoder,
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


def zeros_like(module: nn.Module) -> dict[str, Tensor]:
    """All weights of a module as zeros, by their names."""
    return {name: torch.zeros_like(value) for name, value in module.state_dict().items()}


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
    weights = zeros_like(policy)
    for name in [name.removesuffix(".eps") for name in weights if name.endswith("marks.conv.eps")]:
        # min(1, own + neighbours) in channel 0, as relu(x) - relu(x - 1)
        weights[f"{name}.lin1.weight"][:2, 0] = 1
        weights[f"{name}.lin1.bias"][1] = -1
        weights[f"{name}.lin2.weight"][0, :2] = torch.tensor([1.0, -1.0])
    weights["selector.lin1.weight"][0, 0] = 1  # relu keeps the value: it is not negative
    # The mean over T copies makes 1 / T of a single mark; scores are scaled so that it still counts in full.
    weights["selector.lin2.weight"][0, 0] = -FAR_DOWN * (policy.picks + 1)
    policy.load_state_dict(weights)
    return policy.eval()


MODEL_CHANNELS = 8


def covering_model(picks: int, layers: int, outputs: int, generator: torch.Generator) -> SubgraphGNN:
    """A whole model in double precision: covering weights to select, random weights to predict."""
    network = NetworkConfig(channels=MODEL_CHANNELS, layers=layers, conv="gin", norm="none")
    model = draw_weights(policy_model({"picks": picks, "norm": "none"}, network, Inputs(outputs=outputs)), generator)
    load_covering_weights(model.policy)
    return model.double()


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
    encoder, selector = two_streams(Features(), CHANNELS, DEGREE_LAYERS), MLP(CHANNELS, CHANNELS, 1)
    policy = LearnedPolicy(
        encoder, selector, picks=picks, mask_selected=mask_selected, add_graph_mean=False, pooling=CopyPool("min")
    )
    policy.load_state_dict(appendix_weights(policy, threshold))
    return policy.eval()


def appendix_weights(policy: LearnedPolicy, threshold: int) -> dict[str, Tensor]:
    """The weights of the proof, layer by layer; channels come mark first here, and the other way round there."""
    weights = zeros_like(policy)
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
    weights = zeros_like(network)
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
    width, picks = network.channels + 2, network.picks  # the mark, the states, the ones
    encoder = two_streams(Features(real=network.features), width, len(network.encoder.layers))
    linear = [nn.Linear(width, 4 * picks), nn.Linear(4 * picks, 2 * picks), nn.Linear(2 * picks, 1)]
    selector = nn.Sequential(linear[0], nn.ReLU(), linear[1], nn.ReLU(), linear[2])
    policy = LearnedPolicy(
        encoder, selector, picks=picks, mask_selected=mask_selected, add_graph_mean=False, pooling=CopyPool("sum")
    ).to(network.head.weight.dtype)
    policy.load_state_dict(hosting_weights(network, policy))
    return policy.eval()


def hosting_weights(network: OneShot, policy: LearnedPolicy) -> dict[str, Tensor]:
    """The one-shot network's weights in the middle of wider ones that are zero, and the selector's."""
    given, weights, picks = network.state_dict(), zeros_like(policy), network.picks
    inner = slice(1, network.channels + 1)
    for name in given.keys() & weights.keys():
        if name.startswith("encoder.node_encoder"):
            weights[name][: network.channels] = given[name]
        elif name.endswith("weight"):
            weights[name][inner, inner] = given[name]
        else:
            weights[name][inner] = given[name]
            weights[name][-1] = 1  # the column of ones
    head, bias = given["head.weight"], given["head.bias"]
    eye = torch.eye(picks, dtype=head.dtype)
    steps = torch.arange(1, picks + 1, dtype=head.dtype)
    # Hidden: the score y_s of each step s twice with either sign, and how far the step is, t - s and s - t. The states
    # came in summed over t copies, which is s copies where it counts.
    # The selector reads the step from the last column and gives that step's score.
    first, first_bias = weights["selector.0.weight"], weights["selector.0.bias"]
    first[:picks, inner] = head / steps.unsqueeze(1)
    first[picks : 2 * picks, inner] = -head / steps.unsqueeze(1)
    first[2 * picks : 3 * picks, -1] = 1
    first[3 * picks :, -1] = -1
    first_bias.copy_(torch.cat([bias, -bias, -steps, steps]))
    # y_s and -y_s, unless the step is another one: the distance is exactly 0 at t = s, so nothing is lost to rounding.
    block = -BLOCK * eye
    weights["selector.2.weight"] = torch.cat(
        [torch.cat([eye, -eye, block, block], dim=1), torch.cat([-eye, eye, block, block], dim=1)]
    )
    weights["selector.4.weight"] = torch.cat([torch.ones(1, picks), -torch.ones(1, picks)], dim=1).to(head.dtype)
    return weights


def two_streams(features: Features, channels: int, depth: int) -> TwoStreamEncoder:
    """GraphConv layers on two streams; the marks' own stays zero, as the features see the mark themselves."""
    layers = [
        TwoStreamLayer(stream(channels + marks, channels), stream(marks, channels), residual=False)
        for marks in (1, *[channels] * (depth - 1))
    ]
    return TwoStreamEncoder(NodeEncoder(features, channels - 1), layers)


def stream(inputs: int, outputs: int) -> StreamLayer:
    """A GraphConv layer without norm."""
    return StreamLayer(PyGConv(GraphConv(inputs, outputs)), nn.Identity())
