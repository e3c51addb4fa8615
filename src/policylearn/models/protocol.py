"""The interface of models: all that training, prediction and the command use of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, runtime_checkable

import torch
from torch import Tensor, nn

from policylearn.bags import Graphs, Members, Selection
from policylearn.nn import segment_sum

if TYPE_CHECKING:
    from torch_geometric.data import Batch, Data

LossTerms = Callable[[Tensor, Tensor], tuple[Tensor, Tensor]]
"""Outputs and targets to the loss of every label and whether it is known, both ``(R, K)``."""

AnyBatch: TypeAlias = "Batch | Data | Graphs"


@dataclass(frozen=True)
class Objective:
    """What one training step minimises, and what it saw on the way.

    Args:
        loss: to be minimised; its gradient reaches all networks.
        prediction_loss: the mean loss, for logs.
        outputs: the model's outputs.
        costs: each graph's own loss, without gradient.
        selection: the picks, where the model makes any.

    Shapes:
        loss and prediction_loss scalar; outputs ``(G, outputs)`` (node tasks: ``(N, outputs)``), costs ``(G,)``.
    """

    loss: Tensor
    prediction_loss: Tensor
    outputs: Tensor
    costs: Tensor
    selection: Selection | None = None


class GraphModel(Protocol):
    """An ``nn.Module`` over PyG batches.

    A model may also have ``selection_parameters()``: weights that have a learning rate of their own.
    """

    @property
    def depends_on_batch(self) -> bool:
        """Whether an output in evaluation may depend on what else is in the batch."""

    def __call__(self, batch: Any, *, generator: torch.Generator | None = None) -> Tensor:
        """Outputs, ``(G, outputs)`` (node tasks: ``(N, outputs)``)."""

    def objective(
        self, batch: Any, y: Tensor, terms: LossTerms, *, generator: torch.Generator | None = None
    ) -> Objective:
        """One training step's loss for targets of one row per graph (or node): the mean over the known labels."""


@runtime_checkable
class PickingModel(Protocol):
    """A model that looks at copies of picked nodes and can say which."""

    def select(self, batch: Any, *, generator: torch.Generator | None = None) -> Selection:
        """The picks for a batch."""

    def predict(self, batch: Any, selection: Selection) -> Tensor:
        """The outputs for picks that are handed in."""


def mean_loss(
    model: Any, batch: Any, y: Tensor, terms: LossTerms, *, generator: torch.Generator | None = None
) -> Objective:
    """The objective of a model that learns nothing but to predict; ``objective = mean_loss`` makes it a class's own."""
    graphs = Graphs.of(batch)
    return plain_objective(model(graphs, generator=generator), y, terms, graphs)


class PlainModel(nn.Module):
    """A model that learns nothing but to predict, and each graph by itself; what it adds is `outputs`."""

    depends_on_batch = False
    objective = mean_loss

    def forward(self, batch: AnyBatch, *, generator: torch.Generator | None = None) -> Tensor:
        return self.outputs(Graphs.of(batch))

    def outputs(self, graphs: Graphs) -> Tensor:
        """The outputs for a batch, ``(G, outputs)``."""
        raise NotImplementedError


def plain_objective(outputs: Tensor, y: Tensor, terms: LossTerms, members: Members) -> Objective:
    """The mean loss over known labels, of outputs that are there already."""
    values, known = terms(outputs, y)
    mean = values.sum() / known.sum().clamp(min=1)
    return Objective(mean, mean.detach(), outputs, graph_costs(values.detach(), known, members))


def graph_costs(values: Tensor, known: Tensor, members: Members) -> Tensor:
    """Each graph's mean loss over its known labels, those of its nodes in node tasks, ``(R, K) -> (G,)``."""
    total, count = values.sum(1), known.sum(1).to(values.dtype)
    if len(total) != members.num_graphs:
        total = segment_sum(total, members.batch, members.num_graphs)
        count = segment_sum(count, members.batch, members.num_graphs)
    return total / count.clamp(min=1)
