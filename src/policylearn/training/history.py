"""What a run has seen so far: the metrics of each epoch and the best weights."""

from __future__ import annotations

import csv
import io
import time
from dataclasses import asdict, dataclass, fields
from typing import Any

import lightning
from torch import Tensor

from policylearn.training.module import RunModule


@dataclass(frozen=True)
class EpochRecord:
    """One epoch's figures; ``test`` only where the protocol needs it at every epoch."""

    epoch: int
    loss: float
    valid: float
    test: float | None
    seconds: float
    learning_rate: float
    cpu_seconds: float = 0.0
    """Of this process; 0 in records of version 0.1."""


class History(lightning.Callback):
    """Keeps the record of each epoch and a copy of the weights at the best validation metric.

    Args:
        higher_is_better: of the metric.
        patience: stop after this many epochs without a better metric; 0 does not stop.
    """

    def __init__(self, *, higher_is_better: bool, patience: int = 0) -> None:
        self.higher_is_better, self.patience = higher_is_better, patience
        self.records: list[EpochRecord] = []
        self.best: EpochRecord | None = None
        self.best_weights: dict[str, Tensor] = {}
        self.started = self.cpu_started = 0.0

    def on_train_epoch_start(self, trainer: lightning.Trainer, pl_module: lightning.LightningModule) -> None:
        """Start the epoch's clock."""
        self.started, self.cpu_started = time.perf_counter(), time.process_time()

    def on_validation_end(self, trainer: lightning.Trainer, pl_module: lightning.LightningModule) -> None:
        """Record the epoch; Lightning validates at the end of each."""
        assert isinstance(pl_module, RunModule)
        if trainer.sanity_checking:
            return
        figures = {name: float(value) for name, value in trainer.callback_metrics.items()}
        record = EpochRecord(
            epoch=trainer.current_epoch,
            loss=figures["loss"],
            valid=figures["valid"],
            test=figures.get("test"),
            seconds=time.perf_counter() - self.started,
            learning_rate=trainer.optimizers[0].param_groups[0]["lr"],
            cpu_seconds=time.process_time() - self.cpu_started,
        )
        self.records.append(record)
        if self.best is None or self._better(record.valid, self.best.valid):
            self.best = record
            self.best_weights = {k: v.detach().cpu().clone() for k, v in pl_module.model.state_dict().items()}
        assert self.best is not None
        if self.patience and record.epoch - self.best.epoch >= self.patience:
            trainer.should_stop = True

    def _better(self, value: float, than: float) -> bool:
        return value > than if self.higher_is_better else value < than

    def state_dict(self) -> dict[str, Any]:
        """Everything, as plain values and tensors, for the checkpoint."""
        best = None if self.best is None else self.best.epoch
        return {"records": [asdict(record) for record in self.records], "best": best, "weights": self.best_weights}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Continue from a checkpoint."""
        self.records = [EpochRecord(**record) for record in state_dict["records"]]
        self.best = next((r for r in self.records if r.epoch == state_dict["best"]), None)
        self.best_weights = state_dict["weights"]

    def table(self) -> str:
        """The records as CSV."""
        text = io.StringIO()
        writer = csv.DictWriter(text, [field.name for field in fields(EpochRecord)], lineterminator="\n")
        writer.writeheader()
        writer.writerows(asdict(record) for record in self.records)
        return text.getvalue()
