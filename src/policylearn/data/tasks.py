"""The task of a dataset: loss, metric, output width and target scaling."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from policylearn.data.arrays import Array
from policylearn.settings import Level

if TYPE_CHECKING:
    from torch import Tensor

Kind = Literal["regression", "binary", "classes"]
Metric = Literal["mae", "rmse", "rocauc", "accuracy"]
Loss = Literal["l1", "mse", "bce", "cross_entropy"]

SINGLE_DIGITS = 9
"""Significant digits that tell any two numbers of single precision apart."""
HIGHER_IS_BETTER: dict[Metric, bool] = {"mae": False, "rmse": False, "rocauc": True, "accuracy": True}


@dataclass(frozen=True)
class Scaling:
    """``scaled = (y - shift) / scale``, a number per target."""

    shift: tuple[float, ...]
    scale: tuple[float, ...]

    def apply(self, y: Tensor) -> Tensor:
        """Targets as the network sees them."""
        y = in_double(y)
        return (y - y.new_tensor(self.shift)) / y.new_tensor(self.scale)

    def invert(self, y: Tensor) -> Tensor:
        """Network outputs in the units of the data, in double precision: a large shift leaves few digits to a float."""
        y = in_double(y)
        return y * y.new_tensor(self.scale) + y.new_tensor(self.shift)

    def digits(self) -> list[int]:
        """Significant digits of each target that hold what single precision holds of the scaled one."""
        return [
            SINGLE_DIGITS + max(0, math.ceil(math.log10(max(abs(shift) / scale, 1.0))))
            for shift, scale in zip(self.shift, self.scale, strict=True)
        ]


def standardise(y: Array) -> Scaling:
    """Mean and standard deviation of the known values of each column; a column without spread keeps its scale."""
    known = ~np.isnan(y)
    count = np.maximum(known.sum(axis=0), 1)
    mean = np.where(known, y, 0.0).sum(axis=0) / count
    spread = np.sqrt((np.where(known, y - mean, 0.0) ** 2).sum(axis=0) / count)
    lowest, highest = np.where(known, y, np.inf).min(axis=0), np.where(known, y, -np.inf).max(axis=0)
    spread[~(highest > lowest) | (spread == 0)] = 1.0  # squares of the smallest numbers are zero
    return Scaling(tuple(mean.tolist()), tuple(spread.tolist()))


def in_double(y: Tensor) -> Tensor:
    """The tensor in double precision, where its device has that."""
    return y if y.device.type == "mps" else y.double()


@dataclass(frozen=True)
class Task:
    """One learning problem over the graphs (or the nodes) of a dataset.

    Args:
        kind: numbers, yes/no (several columns: one yes/no each, gaps allowed), or one of several classes.
        loss: what training minimises, on scaled targets.
        metric: what is reported.
        targets: the name of each target column (`classes`: one name, that of the label).
        level: whether a row of ``y`` belongs to a graph or to a node.
        classes: the names behind the class ids (`classes`) or behind 0 and 1 (`binary`), where they have names.
        scaling: of the targets; None leaves them as they are.
        metric_in_data_units: undo the scaling before the metric (Alchemy) or report in scaled units (counting).
    """

    kind: Kind
    loss: Loss
    metric: Metric
    targets: tuple[str, ...] = ("y",)
    level: Level = "graph"
    classes: tuple[str, ...] = ()
    scaling: Scaling | None = None
    metric_in_data_units: bool = True

    @property
    def outputs(self) -> int:
        """Width of the network's output."""
        return len(self.classes) if self.kind == "classes" else len(self.targets)

    @property
    def higher_is_better(self) -> bool:
        return HIGHER_IS_BETTER[self.metric]

    def scale(self, y: Tensor) -> Tensor:
        """Targets as the loss wants them; scaled ones are in double precision."""
        return y if self.scaling is None else self.scaling.apply(y)

    def unscale(self, output: Tensor) -> Tensor:
        """Network outputs in the units of the data; scaled ones are in double precision."""
        return output if self.scaling is None else self.scaling.invert(output)

    def loss_terms(self, output: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        """The loss of every label, 0 for a missing one, and whether the label is there.

        Shapes:
            output ``(R, outputs)``, y as stored ``(R, K)`` or ``(R,)``; results ``(R, K)`` (`classes`: ``(R, 1)``).
        """
        import torch
        from torch.nn import functional

        if self.kind == "classes":
            value = functional.cross_entropy(output, y.reshape(-1).long(), reduction="none")
            return value.unsqueeze(1), torch.ones_like(value, dtype=torch.bool).unsqueeze(1)
        target = y.reshape(len(output), -1)
        known = ~torch.isnan(target)
        target = self.scale(torch.where(known, target, torch.zeros_like(target))).to(output.dtype)
        pointwise: dict[str, Callable[..., Tensor]] = {
            "l1": functional.l1_loss,
            "mse": functional.mse_loss,
            "bce": functional.binary_cross_entropy_with_logits,
        }
        return pointwise[self.loss](output, target, reduction="none") * known, known

    def compute_loss(self, output: Tensor, y: Tensor) -> Tensor:
        """Mean loss over the labels that are there."""
        value, known = self.loss_terms(output, y)
        return value.sum() / known.sum().clamp(min=1)
