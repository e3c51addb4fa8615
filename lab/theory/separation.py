"""Whether a whole model gives graphs of different classes different outputs, and the same class always the same."""

from __future__ import annotations

import torch
from torch import Tensor

from lab.policy_model import policy_model
from lab.theory.weights import draw_weights, load_covering_weights
from policylearn.models import Inputs, SubgraphGNN
from policylearn.nn import NetworkConfig

CHANNELS = 8


def separation(outputs: Tensor, labels: Tensor) -> tuple[float, float]:
    """Largest difference within a class, and least distance between the means of two, in units of the largest output.

    Shapes:
        outputs ``(G, C)``, labels ``(G,)`` from 0 without gaps.
    """
    scaled = outputs / outputs.abs().max().clamp(min=torch.finfo(outputs.dtype).tiny)
    means = torch.stack([scaled[labels == label].mean(0) for label in range(int(labels.max()) + 1)])
    spread = (scaled - means[labels]).abs().max()
    distances = (means.unsqueeze(0) - means.unsqueeze(1)).abs().amax(-1)  # (classes, classes)
    distances.fill_diagonal_(torch.inf)
    return float(spread), float(distances.min())


def covering_model(picks: int, layers: int, outputs: int, generator: torch.Generator) -> SubgraphGNN:
    """A whole model in double precision: covering weights to select, random weights to predict."""
    network = NetworkConfig(channels=CHANNELS, layers=layers, conv="gin", norm="none")
    model = draw_weights(policy_model({"picks": picks, "norm": "none"}, network, Inputs(outputs=outputs)), generator)
    load_covering_weights(model.policy)
    return model.double()
