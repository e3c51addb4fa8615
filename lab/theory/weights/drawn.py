"""Weights drawn at random, to speak of networks in general."""

from __future__ import annotations

from typing import TypeVar

import torch
from torch import nn

Module = TypeVar("Module", bound=nn.Module)


def draw_weights(module: Module, generator: torch.Generator) -> Module:
    """Replace every weight by a normal draw, scaled by the number of inputs, and return the module for evaluation.

    Args:
        module: any network.
        generator: source of randomness.
    """
    with torch.no_grad():
        for parameter in module.parameters():
            scale = parameter.shape[-1] ** -0.5
            parameter.copy_(scale * torch.randn(parameter.shape, generator=generator))
    return module.eval()
