"""Metrics and raw outputs of a model over data."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor
from torch_geometric.data import Batch

from policylearn.data import Task, build_metric


@torch.inference_mode()
def evaluate(model: torch.nn.Module, batches: Iterable[Batch], task: Task) -> float:
    """The task's metric over all batches together."""
    was_training = model.training
    model.eval()
    metric = build_metric(task)
    for batch in batches:
        metric.update(*scored(model, batch))
    model.train(was_training)
    return float(metric.compute())


def scored(model: torch.nn.Module, batch: Batch) -> tuple[Tensor, Tensor]:
    """What a metric is worked out from: the outputs and the targets.

    A model with ``votes`` (outputs of several draws, ``(V, G, outputs)``) is scored on each of them and not on their
    mean, as the authors of OSAN do.
    """
    votes = getattr(model, "votes", None)
    if votes is None:
        return model(batch), batch.y
    each: Tensor = votes(batch)
    return each.flatten(0, 1), batch.y.repeat(len(each), *[1] * (batch.y.dim() - 1))


def answers(output: Tensor, task: Task) -> Tensor:
    """What a user wants to see of raw outputs: numbers in the data's units, or probabilities, ``(R, outputs)``."""
    if task.kind == "classes":
        return output.softmax(dim=1)
    return output.sigmoid() if task.kind == "binary" else task.unscale(output)
