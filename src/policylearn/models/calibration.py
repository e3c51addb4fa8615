"""Exact statistics for batch norms before evaluation."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from torch import nn

from policylearn.nn import batch_norms, keeps_statistics


@torch.no_grad()
def calibrate(model: nn.Module, batches: Iterable[Any], *, generator: torch.Generator | None = None) -> int:
    """Replace the running statistics of all batch norms by the plain mean over ``batches``; return how many there were.

    Running statistics trail behind weights that move. On graphs whose nodes are nearly alike the lag can be larger than
    what tells two graphs apart, and evaluation then looks like chance although training has succeeded.

    Args:
        model: a `GraphModel`; left in the mode it was in.
        batches: from the training data.
        generator: where the model draws from.
    """
    norms = [norm for norm in batch_norms(model) if keeps_statistics(norm)]
    momenta = [norm.momentum for norm in norms]
    was_training = model.training
    model.train()
    count = 0
    try:
        for batch in batches:
            count += 1
            for norm in norms:
                norm.momentum = 1 / count
            model(batch, generator=generator)
    finally:
        for norm, momentum in zip(norms, momenta, strict=True):
            norm.momentum = momentum
        model.train(was_training)
    return count
