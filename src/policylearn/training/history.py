"""The figures of each epoch of a training, and the weights that it keeps."""

from __future__ import annotations

import csv
import math
import time
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import lightning
from torch import Tensor

from policylearn.data.atomic import replacing
from policylearn.settings.run_config import Keep
from policylearn.training.module import CHOICE, RunModule


@dataclass(frozen=True)
class EpochRecord:
    """One epoch's figures, epochs counted from 1; ``test`` only where the protocol needs it at every epoch."""

    epoch: int
    loss: float
    valid: float
    test: float | None
    seconds: float
    learning_rate: float
    cpu_seconds: float = 0.0  # of this process; 0 in records of versions before 0.2.0
    valid_loss: float | None = None  # chooses the epoch where ``valid`` is NaN

    @property
    def choice(self) -> float:
        """What chooses the epoch."""
        return self.valid if self.valid_loss is None else self.valid_loss


class History(lightning.Callback):
    """Keeps the record of each epoch, and a copy of the weights at the best validation metric or of the last epoch.

    Records are written as CSV after each epoch. Training stops after ``patience`` epochs without a better metric; 0
    does not stop it.
    """

    def __init__(self, path: Path, *, higher_is_better: bool, keep: Keep = "best", patience: int = 0) -> None:
        self.path, self.higher_is_better, self.keep, self.patience = path, higher_is_better, keep, patience
        self.records: list[EpochRecord] = []
        self.kept: EpochRecord | None = None
        self.kept_weights: dict[str, Tensor] = {}
        self.started = self.cpu_started = 0.0

    def on_train_epoch_start(self, trainer: lightning.Trainer, pl_module: lightning.LightningModule) -> None:
        """Start the epoch's clock."""
        self.started, self.cpu_started = time.perf_counter(), time.process_time()

    def on_validation_end(self, trainer: lightning.Trainer, pl_module: lightning.LightningModule) -> None:
        """Record the epoch; Lightning validates at the end of each."""
        assert isinstance(pl_module, RunModule)
        figures = {name: float(value) for name, value in trainer.callback_metrics.items()}
        record = EpochRecord(
            epoch=trainer.current_epoch + 1,
            loss=figures["loss"],
            valid=figures["valid"],
            test=figures.get("test"),
            seconds=time.perf_counter() - self.started,
            learning_rate=trainer.optimizers[0].param_groups[0]["lr"],
            cpu_seconds=time.process_time() - self.cpu_started,
            valid_loss=figures.get(CHOICE),
        )
        self.records.append(record)
        if trainer.is_global_zero:
            self.write()
        if self.kept is None or self.keep == "last" or self._is_better(record, self.kept):
            self.kept = record
            self.kept_weights = {k: v.detach().cpu().clone() for k, v in pl_module.model.state_dict().items()}
        if self.patience and record.epoch - self.kept.epoch >= self.patience:
            trainer.should_stop = True

    def _is_better(self, record: EpochRecord, best: EpochRecord) -> bool:
        if math.isnan(best.choice):
            return not math.isnan(record.choice)
        higher = self.higher_is_better and record.valid_loss is None
        return record.choice > best.choice if higher else record.choice < best.choice

    def state_dict(self) -> dict[str, Any]:
        """Everything, as plain values and tensors, for the checkpoint."""
        best = None if self.kept is None else self.kept.epoch
        return {"records": [asdict(record) for record in self.records], "best": best, "weights": self.kept_weights}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Continue from a checkpoint."""
        records, best = state_dict["records"], state_dict["best"]
        if records and records[0]["epoch"] == 0:  # a checkpoint of a version that counted from 0
            records = [record | {"epoch": record["epoch"] + 1} for record in records]
            best = None if best is None else best + 1
        self.records = [EpochRecord(**record) for record in records]
        self.kept = next((record for record in self.records if record.epoch == best), None)
        self.kept_weights = state_dict["weights"]

    def write(self) -> None:
        """Write the records as CSV."""
        with replacing(self.path) as part, part.open("w", encoding="utf-8") as file:
            writer = csv.DictWriter(file, [field.name for field in fields(EpochRecord)], lineterminator="\n")
            writer.writeheader()
            writer.writerows(asdict(record) for record in self.records)
