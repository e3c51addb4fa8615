"""Metrics and raw outputs of a model over data."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from policylearn.bags import NO_PICK, Graphs, Selection
from policylearn.data import Task
from policylearn.models import PickingModel

if TYPE_CHECKING:
    from torch_geometric.data import Batch


@dataclass(frozen=True)
class Measured:
    """A metric over data.

    Args:
        value: of the metric.
        picks: mean picks per graph, where a model decides by itself when to stop; None elsewhere.
    """

    value: float
    picks: float | None = None


def evaluate(model: torch.nn.Module, batches: Iterable[Batch], task: Task) -> float:
    """The task's metric over all batches together."""
    return measure(model, batches, task).value


@torch.inference_mode()
def measure(model: torch.nn.Module, batches: Iterable[Batch], task: Task, *, draws: int = 1) -> Measured:
    """The task's metric over all batches together, and how many picks it took.

    Args:
        model: in any mode, which it is given back in.
        batches: with targets.
        task: of the model.
        draws: M; more than one averages the outputs over so many bags that are drawn (see `outputs_of`).
    """
    from policylearn.data.metrics import (
        build_metric,
    )  # torchmetrics takes two seconds, which a prediction need not wait

    was_training = model.training
    model.eval()
    metric, counts = build_metric(task), []
    for batch in batches:
        if draws == 1 and not getattr(model, "stops_early", False):
            metric.update(*scored(model, batch))
            continue
        outputs, selections = outputs_of(model, batch, draws)
        metric.update(outputs, batch.y)
        counts += [(one.roots != NO_PICK).sum(0) for one in selections]
    model.train(was_training)
    picks = float(torch.cat(counts).double().mean()) if counts and getattr(model, "stops_early", False) else None
    return Measured(float(metric.compute()), picks)


def outputs_of(model: torch.nn.Module, batch: Batch | Graphs, draws: int = 1) -> tuple[Tensor, list[Selection]]:
    """A model's outputs, and the picks of each bag that they come from; no selection from a model that picks nothing.

    Args:
        model: in evaluation mode.
        batch: G graphs.
        draws: 1 takes the model's own choice; with more, so many bags of each graph are drawn from its policy and the
            outputs are averaged. Draws depend on the graph alone, not on its batch.
    """
    if draws != 1:
        drawing = getattr(model, "predict_drawn", None)
        if drawing is None:
            raise ValueError(f"{type(model).__name__} draws no bags to average over; leave 'draws' out")
        found: tuple[Tensor, list[Selection]] = drawing(batch, draws)
        return found
    if not isinstance(model, PickingModel):
        return model(batch), []
    graphs = Graphs.of(batch)
    selection = model.select(graphs)
    return model.predict(graphs, selection), [selection]


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
