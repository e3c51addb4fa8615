"""Exact statistics for batch norms before evaluation."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch_geometric.data import Batch

from policylearn.models.objective import training_bags
from policylearn.models.subgraph_gnn import SubgraphGNN
from policylearn.nn import Graphs, RowBatchNorm


@torch.no_grad()
def calibrate(
    model: SubgraphGNN, batches: Iterable[Batch | Graphs], *, generator: torch.Generator | None = None
) -> int:
    """Replace the running statistics of all batch norms by the plain mean over ``batches``; return how many there were.

    Running statistics trail behind weights that move. On graphs whose nodes are nearly alike the lag can be larger than
    what tells two graphs apart, and evaluation then looks like chance although training has succeeded. The bags are
    those of a training step: K bags of a graph share the unmarked copy, so one bag alone has other statistics.

    Args:
        model: left in the mode it was in.
        batches: from the training data.
        generator: where the policy draws from.
    """
    norms = [module for module in model.modules() if isinstance(module, RowBatchNorm) and module.track]
    momenta = [norm.momentum for norm in norms]
    was_training = model.training
    model.train()
    count = 0
    try:
        for batch in batches:
            count += 1
            for norm in norms:
                norm.momentum = 1 / count
            graphs = Graphs.of(batch)
            selection, samples = training_bags(model, graphs, generator=generator)
            model.predict(graphs, selection, samples=samples)
    finally:
        for norm, momentum in zip(norms, momenta, strict=True):
            norm.momentum = momentum
        model.train(was_training)
    return count
