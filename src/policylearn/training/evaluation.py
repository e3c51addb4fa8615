"""Metrics and raw outputs of a model over data."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor
from torch_geometric.data import Batch

from policylearn.data import Task, build_metric
from policylearn.models import SubgraphGNN


@torch.inference_mode()
def evaluate(model: SubgraphGNN, batches: Iterable[Batch], task: Task) -> float:
    """The task's metric over all batches together."""
    was_training = model.training
    model.eval()
    metric = build_metric(task)
    for batch in batches:
        metric.update(model(batch), batch.y)
    model.train(was_training)
    return float(metric.compute())


def answers(output: Tensor, task: Task) -> Tensor:
    """What a user wants to see of raw outputs: numbers in the data's units, or probabilities, ``(R, outputs)``."""
    if task.kind == "classes":
        return output.softmax(dim=1)
    return output.sigmoid() if task.kind == "binary" else task.unscale(output)
