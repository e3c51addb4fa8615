"""Theorem 2: a selection network that never picks twice from the same component.

The marks' stream floods: after each layer a node holds 1 if the mark has reached it, else 0. Pooled over the copies, a
node has a positive value if and only if its component was marked already, and the scores push such nodes far down,
while all others keep one and the same score.
"""

from __future__ import annotations

import torch
from torch import Tensor

from lab.policy_model import policy_model
from policylearn.nn import GIN, NetworkConfig, NoNorm
from policylearn.policies import LearnedPolicy

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
