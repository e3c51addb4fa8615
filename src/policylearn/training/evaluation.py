"""Metrics and raw outputs of a model over data."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from policylearn.bags import NO_PICK, Graphs, Selection
from policylearn.data import BatchLoader, Task
from policylearn.data.packed import Array
from policylearn.models import PickingModel

if TYPE_CHECKING:
    from torch_geometric.data import Batch


@dataclass(frozen=True)
class PartAnswers:
    """What a trained model says of the graphs of one part.

    Args:
        rows: places of the graphs in the data.
        values: in the data's units, or probabilities.
        picks: the nodes that were marked, counted within each graph.
        metric: the task's metric; None where it cannot be computed.

    Shapes:
        rows ``(G,)``; values ``(G, outputs)``, in node tasks a row per node.
    """

    rows: Array
    values: Array
    picks: list[list[int]]
    metric: float | None


@torch.inference_mode()
def answer_part(model: torch.nn.Module, batches: BatchLoader, task: Task, *, scores: bool = True) -> PartAnswers:
    """Answers and metric of a model over a part, in one pass; the model is put into evaluation mode.

    Args:
        model: a trained model.
        batches: of the part.
        task: of the model.
        scores: whether the metric can be computed.
    """
    from policylearn.data.metrics import build_metric

    model.eval()
    metric = build_metric(task) if scores else None
    values: list[Array] = []
    picks: list[list[int]] = []
    for batch in batches:
        outputs, selection = outputs_of(model, batch)
        values.append(answers(outputs, task).cpu().numpy())
        graphs = Graphs.of(batch)
        picks += [[] for _ in range(graphs.num_graphs)] if selection is None else local_picks(selection, graphs)
        if metric is not None:
            metric.update(*(scored(model, batch) if hasattr(model, "votes") else (outputs, batch.y)))
    found = np.concatenate(values) if values else np.zeros((0, task.outputs), dtype=np.float32)
    return PartAnswers(np.asarray(batches.indices), found, picks, None if metric is None else float(metric.compute()))


def local_picks(selection: Selection, graphs: Graphs) -> list[list[int]]:
    """The picks of each graph, counted within the graph."""
    columns = selection.local_roots(graphs.ptr).t().tolist()  # (T, G) -> G lists
    return [[node for node in column if node != NO_PICK] for column in columns]


@torch.inference_mode()
def evaluate(model: torch.nn.Module, batches: Iterable[Batch], task: Task) -> float:
    """The task's metric over all batches together; the model is left in the mode it was in."""
    from policylearn.data.metrics import (
        build_metric,  # torchmetrics takes two seconds, which a prediction need not wait
    )

    was_training = model.training
    model.eval()
    metric = build_metric(task)
    for batch in batches:
        metric.update(*scored(model, batch))
    model.train(was_training)
    return float(metric.compute())


def outputs_of(model: torch.nn.Module, batch: Batch | Graphs) -> tuple[Tensor, Selection | None]:
    """A model's outputs and its picks; no picks from a model that makes none."""
    if not isinstance(model, PickingModel):
        return model(batch), None
    graphs = Graphs.of(batch)
    selection = model.select(graphs)
    return model.predict(graphs, selection), selection


def scored(model: torch.nn.Module, batch: Batch) -> tuple[Tensor, Tensor]:
    """What a metric is computed from: the outputs and the targets.

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
