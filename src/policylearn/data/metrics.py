"""The metrics of tasks, computed exactly over all data."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from policylearn.data.packed import Array, DataError
from policylearn.data.tasks import Task


def build_metric(task: Task, *, loss: bool = False) -> TaskMetric:
    """The metric of a task, or its loss, which chooses the epoch where the metric cannot."""
    return RocAuc(task) if task.metric == "rocauc" and not loss else ColumnMean(task, "loss" if loss else task.metric)


def why_unscored(task: Task, y: Array) -> str | None:
    """Why the metric of a task cannot be computed over stored targets ``(R, K)`` or ``(R,)``; None where it can."""
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


class TaskMetric:
    """A metric of a task over all batches that `update` was given."""

    def __init__(self, task: Task) -> None:
        self.task = task

    def update(self, output: Tensor, y: Tensor) -> None:
        """Add raw outputs ``(R, outputs)`` and stored targets: ``(R, K)``, or class ids ``(R,)``."""
        raise NotImplementedError

    def compute(self) -> float:
        """The metric over everything seen."""
        raise NotImplementedError

    def columns(self, output: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        """Outputs and targets side by side, in the units that are reported, ``(R, K)`` both."""
        target = y.reshape(len(output), -1)
        if target.shape != output.shape:
            raise DataError(
                f"the network gave {tuple(output.shape)} outputs for {tuple(y.shape)} targets"
                f" of {len(self.task.targets)} columns; build it with task.outputs = {self.task.outputs}"
            )
        if self.task.metric_in_data_units:
            return self.task.unscale(output), target
        return output, self.task.scale(target).to(output.dtype)


class ColumnMean(TaskMetric):
    """A mean over the labels of each column, then over the columns; missing labels (NaN) are left out.

    "mae" and "rmse" are errors, the latter as OGB's evaluator has it. "accuracy" is the share of right answers: the
    largest of the class scores, or for yes/no whether the logit is positive. "loss" is the task's own, over all labels.
    """

    def __init__(self, task: Task, what: str) -> None:
        super().__init__(task)
        self.what = what
        self.total = torch.zeros(len(task.targets), dtype=torch.float64)
        self.count = torch.zeros(len(task.targets), dtype=torch.float64)

    def update(self, output: Tensor, y: Tensor) -> None:
        value, known = (one.cpu() for one in self.values(output.detach(), y))
        self.total += torch.where(known, value, 0).sum(dim=0, dtype=torch.float64)
        self.count += known.sum(dim=0, dtype=torch.float64)

    def values(self, output: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        """One value per label, and whether the label is there, ``(R, K)`` both."""
        if self.what == "loss":
            return self.task.loss_terms(output, y)
        if self.task.kind == "classes":
            right = (output.argmax(dim=1) == y.reshape(-1)).unsqueeze(1)  # (R, 1)
            return right, torch.ones_like(right)
        guess, target = self.columns(output, y)
        if self.what == "accuracy":
            value = (guess > 0) == (target > 0.5)
        else:
            value = (guess - target).abs() if self.what == "mae" else (guess - target).square()
        return value, ~torch.isnan(target)

    def compute(self) -> float:
        if self.what == "loss":
            return as_single(self.total.sum() / self.count.sum().clamp(min=1))
        usable = self.count > 0
        if not bool(usable.any()):
            raise DataError(f"'{self.what}' needs at least one label; none of the targets seen so far has one")
        means = self.total[usable] / self.count[usable]
        return as_single((means.sqrt() if self.what == "rmse" else means).mean())


class RocAuc(TaskMetric):
    """Mean ROC-AUC over the columns that hold both answers, as OGB's evaluator has it."""

    def __init__(self, task: Task) -> None:
        super().__init__(task)
        self.outputs: list[Tensor] = []  # a ranking cannot be put together from batches
        self.labels: list[Tensor] = []

    def update(self, output: Tensor, y: Tensor) -> None:
        guess, target = self.columns(output.detach(), y)
        self.outputs.append(guess.float().cpu())
        self.labels.append(target.float().cpu())

    def compute(self) -> float:
        from sklearn.metrics import roc_auc_score

        score, label = (torch.cat(parts).numpy() for parts in (self.outputs, self.labels))
        usable = ((label == 0).any(axis=0) & (label == 1).any(axis=0)).nonzero()[0]
        if not len(usable):
            raise DataError(
                f"ROC-AUC needs a column with a 0 and a 1; none of {label.shape[1]} over {len(label)} rows has both"
            )
        known = ~np.isnan(label)
        areas = [float(roc_auc_score(label[known[:, at], at], score[known[:, at], at])) for at in usable]
        return as_single(sum(areas) / len(areas))


def as_single(value: Tensor | float) -> float:
    """A number rounded to single precision, in which histories and records keep metrics."""
    return float(np.float32(value))
