"""The run's picture: loss and validation metric over the epochs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from policylearn.data import Task
from policylearn.data.pictures import new_picture
from policylearn.training.history import EpochRecord


def draw_curves(records: Sequence[EpochRecord], kept: EpochRecord, task: Task, path: Path) -> None:
    """Draw a PNG with two panels; the epoch whose weights are kept is marked."""
    with new_picture(path, 9, 3.5) as figure:
        loss_axis, metric_axis = figure.subplots(1, 2)
        epochs = [record.epoch for record in records]
        loss_axis.plot(epochs, [record.loss for record in records], color="tab:blue")
        loss_axis.set(xlabel="epoch", ylabel=f"training loss ({task.loss})")
        metric_axis.plot(epochs, [record.valid for record in records], color="tab:orange", label="validation")
        if records and records[0].test is not None:
            metric_axis.plot(epochs, [record.test for record in records], color="tab:green", label="test", alpha=0.7)
        metric_axis.plot(kept.epoch, kept.valid, "o", color="black", label=f"kept: {kept.valid:.4g} at {kept.epoch}")
        metric_axis.set(
            xlabel="epoch", ylabel=f"{task.metric} ({'higher' if task.higher_is_better else 'lower'} is better)"
        )
        metric_axis.legend()
        for axis in (loss_axis, metric_axis):
            axis.grid(alpha=0.3)
