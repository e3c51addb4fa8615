"""Metrics and outputs of a model over data."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from policylearn.bags import NO_PICK, Graphs, Selection
from policylearn.data import BatchLoader, PackedGraphs, Split, Task, build_metric
from policylearn.data.packed import Array
from policylearn.models import PickingModel

if TYPE_CHECKING:
    from torch_geometric.data import Batch


@dataclass(frozen=True)
class PartAnswers:
    """What a trained model predicts for the graphs of one part."""

    rows: Array  # positions of the graphs in the data, ``(G,)``
    values: Array  # in the data's units, or probabilities, ``(G, outputs)``; in node tasks a row per node
    picks: list[list[int]]  # marked nodes, counted within each graph
    metric: float | None  # the task's metric; None where it cannot be computed


def answer_parts(
    model: torch.nn.Module,
    graphs: PackedGraphs,
    split: Split,
    task: Task,
    *,
    batch_size: int,
    unscored: Collection[str] = (),
) -> dict[str, PartAnswers]:
    """Predictions and metric of the validation and test parts; those that are ``unscored`` get no metric."""
    rows = {part: getattr(split, part) for part in ("valid", "test")}
    loaders = {part: BatchLoader(graphs, own, batch_size=batch_size) for part, own in rows.items() if len(own)}
    return {part: answer_part(model, loader, task, scores=part not in unscored) for part, loader in loaders.items()}


@torch.inference_mode()
def answer_part(model: torch.nn.Module, batches: BatchLoader, task: Task, *, scores: bool = True) -> PartAnswers:
    """Predictions and, if ``scores``, the metric of a model over a part, in one pass."""
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
    return PartAnswers(np.asarray(batches.indices), found, picks, None if metric is None else metric.compute())


def local_picks(selection: Selection, graphs: Graphs) -> list[list[int]]:
    """The picks of each graph, counted within the graph."""
    columns = selection.local_roots(graphs.ptr).t().tolist()  # (T, G) -> G lists
    return [[node for node in column if node != NO_PICK] for column in columns]


@torch.inference_mode()
def evaluate(model: torch.nn.Module, batches: Iterable[Batch], task: Task) -> float:
    """The task's metric over all batches together; the model is left in the mode it was in."""
    was_training = model.training
    model.eval()
    metric = build_metric(task)
    for batch in batches:
        metric.update(*scored(model, batch))
    model.train(was_training)
    return metric.compute()


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


@contextmanager
def torch_threads(count: int) -> Iterator[None]:
    """Torch's threads for the length of a block; 0 leaves them as they are."""
    before = torch.get_num_threads()
    torch.set_num_threads(count or before)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def answers(output: Tensor, task: Task) -> Tensor:
    """Convert raw outputs to numbers in the data's units, or to probabilities, ``(R, outputs)``."""
    if task.kind == "classes":
        return output.softmax(dim=1)
    return output.sigmoid() if task.kind == "binary" else task.unscale(output)
