"""What is reported: one torchmetrics metric a task, exact over all data and across processes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torchmetrics import Metric
from torchmetrics.utilities import dim_zero_cat

from policylearn.data.packed import Array, DataError
from policylearn.data.tasks import Task


def build_metric(task: Task) -> Metric:
    """The metric of a task; ``update(output, y)`` takes raw network outputs and targets as they are stored."""
    metrics: dict[str, Callable[[Task], Metric]] = {
        "mae": MeanAbsoluteError,
        "rmse": RootMeanSquaredError,
        "accuracy": Accuracy,
        "rocauc": RocAuc,
    }
    return metrics[task.metric](task)


def why_unscored(task: Task, y: Array) -> str | None:
    """Why the metric of a task cannot be worked out over these targets, in words; None where it can.

    Args:
        task: what is predicted.
        y: the targets of a part as they are stored, ``(R, K)`` or ``(R,)``.
    """
    if not len(y):
        return "it has no rows"
    if task.kind == "classes":
        return None
    columns = y.reshape(len(y), -1)
    if np.isnan(columns).all():
        return "it has no labels"
    if task.metric != "rocauc" or ((columns == 0).any(axis=0) & (columns == 1).any(axis=0)).any():
        return None
    only = np.unique(columns[~np.isnan(columns)]).astype(int)
    if len(only) > 1:
        return "no target has both labels there"
    return f"all its labels are {task.classes[only[0]] if task.classes else only[0]}, and ROC-AUC needs both"


class _TaskMetric(Metric):
    """A metric that knows how its task stores targets.

    Args:
        task: whose scaling and direction apply.
    """

    is_differentiable = False
    full_state_update = False

    def __init__(self, task: Task, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.task = task

    def columns(self, output: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        """Outputs and targets side by side, in the units that are reported.

        Shapes:
            both ``(R, K)``.
        """
        target = y.reshape(len(output), -1)
        if target.shape != output.shape:
            raise DataError(
                f"the network gave {tuple(output.shape)} outputs for {tuple(y.shape)} targets"
                f" of {len(self.task.targets)} columns; build it with task.outputs = {self.task.outputs}"
            )
        if self.task.metric_in_data_units:
            return self.task.unscale(output), target
        return output, self.task.scale(target).to(output.dtype)


class _ColumnMean(_TaskMetric):
    """Sums and counts of one value per label, column by column; a missing label (NaN) counts nowhere."""

    total: Tensor
    count: Tensor

    def __init__(self, task: Task, **kwargs: Any) -> None:
        super().__init__(task, **kwargs)
        zeros = torch.zeros(len(task.targets), dtype=torch.float64)
        self.add_state("total", zeros, dist_reduce_fx="sum")
        self.add_state("count", zeros.clone(), dist_reduce_fx="sum")

    def add(self, value: Tensor, known: Tensor) -> None:
        """Take in one value per label, both ``(R, K)``."""
        self.total = self.total + torch.where(known, value, 0).sum(dim=0, dtype=torch.float64)
        self.count = self.count + known.sum(dim=0, dtype=torch.float64)

    def means(self) -> Tensor:
        """The mean of each column that has a label."""
        usable = self.count > 0
        if not bool(usable.any()):
            raise DataError(f"'{self.task.metric}' needs at least one label; none of the targets seen so far has one")
        return self.total[usable] / self.count[usable]


class MeanLoss(_ColumnMean):
    """The task's own loss, a mean over all labels: what chooses the epoch where the metric cannot."""

    higher_is_better = False

    def update(self, output: Tensor, y: Tensor) -> None:
        """Take in raw outputs and stored targets."""
        self.add(*self.task.loss_terms(output.detach(), y))

    def compute(self) -> Tensor:
        """The loss over everything seen."""
        return (self.total.sum() / self.count.sum().clamp(min=1)).float()


class MeanAbsoluteError(_ColumnMean):
    """Mean over the columns of each column's mean absolute error."""

    higher_is_better = False

    def update(self, output: Tensor, y: Tensor) -> None:
        """Take in raw outputs ``(R, K)`` and stored targets ``(R, K)``."""
        guess, target = self.columns(output.detach(), y)
        self.add((guess - target).abs(), ~torch.isnan(target))

    def compute(self) -> Tensor:
        """The error over everything seen."""
        return self.means().mean().float()


class RootMeanSquaredError(_ColumnMean):
    """Mean over the columns of each column's root mean squared error, as OGB's evaluator has it."""

    higher_is_better = False

    def update(self, output: Tensor, y: Tensor) -> None:
        """Take in raw outputs ``(R, K)`` and stored targets ``(R, K)``."""
        guess, target = self.columns(output.detach(), y)
        self.add((guess - target).square(), ~torch.isnan(target))

    def compute(self) -> Tensor:
        """The error over everything seen."""
        return self.means().sqrt().mean().float()


class Accuracy(_ColumnMean):
    """Share of right answers: the largest of the class scores, or for yes/no whether the logit is positive."""

    higher_is_better = True

    def update(self, output: Tensor, y: Tensor) -> None:
        """Take in raw outputs ``(R, outputs)`` and stored class ids ``(R,)`` or yes/no labels ``(R, K)``."""
        output = output.detach()
        if self.task.kind == "classes":
            right = (output.argmax(dim=1) == y.reshape(-1)).unsqueeze(1)  # (R, 1)
            self.add(right.double(), torch.ones_like(right))
            return
        guess, target = self.columns(output, y)
        self.add(((guess > 0) == (target > 0.5)).double(), ~torch.isnan(target))

    def compute(self) -> Tensor:
        """The share over everything seen, a mean over the columns."""
        return self.means().mean().float()


class RocAuc(_TaskMetric):
    """Mean ROC-AUC over the columns that hold both answers, as OGB's evaluator has it."""

    higher_is_better = True
    outputs: list[Tensor]
    labels: list[Tensor]

    def __init__(self, task: Task, **kwargs: Any) -> None:
        super().__init__(task, **kwargs)
        # A ranking cannot be put together from batches: keep every score.
        self.add_state("outputs", [], dist_reduce_fx="cat")
        self.add_state("labels", [], dist_reduce_fx="cat")

    def update(self, output: Tensor, y: Tensor) -> None:
        """Take in raw outputs ``(R, K)`` and stored labels ``(R, K)``: 0, 1 or NaN."""
        guess, target = self.columns(output.detach(), y)
        self.outputs.append(guess)
        self.labels.append(target)

    def compute(self) -> Tensor:
        """The mean area over everything seen."""
        from sklearn.metrics import roc_auc_score

        score = dim_zero_cat(self.outputs).float().cpu().numpy()
        label = dim_zero_cat(self.labels).float().cpu().numpy()
        usable = ((label == 0).any(axis=0) & (label == 1).any(axis=0)).nonzero()[0]
        if not len(usable):
            raise DataError(
                "ROC-AUC needs a column with both a 0 and a 1; none of the"
                f" {label.shape[1]} columns over {len(label)} rows has both"
            )
        areas = []
        for column in usable:
            known = label[:, column] == label[:, column]
            areas.append(float(roc_auc_score(label[known, column], score[known, column])))
        return torch.tensor(sum(areas) / len(areas))
