"""The bar of a training."""

from __future__ import annotations

import lightning
from rich.progress import Progress, TaskID

from policylearn.training.history import History


class TrainingBar(lightning.Callback):
    """Moves a bar by the steps of a training, and shows epoch, loss and validation metric.

    Args:
        progress: that has the bar.
        bar: which of its bars.
        title: what is trained.
        metric: its name.
    """

    def __init__(self, progress: Progress, bar: TaskID, title: str, metric: str) -> None:
        self.progress, self.bar, self.title, self.metric = progress, bar, title, metric

    def on_transform(self, name: str, done: int, total: int) -> None:
        """Move by the graphs whose structures are computed."""
        self.progress.update(self.bar, description=name, total=total, completed=done)

    def on_train_start(self, trainer: lightning.Trainer, pl_module: lightning.LightningModule) -> None:
        """Begin, where a resumed run continues."""
        steps, epochs = int(trainer.num_training_batches), trainer.max_epochs or 0
        self.progress.reset(
            self.bar,
            description=self.title,
            total=epochs * steps,
            completed=trainer.current_epoch * steps,
            figures=f"epoch {trainer.current_epoch}/{epochs}",
        )

    def on_train_batch_end(
        self,
        trainer: lightning.Trainer,
        pl_module: lightning.LightningModule,
        outputs: object,
        batch: object,
        batch_idx: int,
    ) -> None:
        """Move on by a step."""
        self.progress.advance(self.bar)

    def on_train_epoch_end(self, trainer: lightning.Trainer, pl_module: lightning.LightningModule) -> None:
        """Show the epoch's figures."""
        history = next((c for c in trainer.callbacks if isinstance(c, History)), None)  # type: ignore[attr-defined]
        if history is None or not history.records or history.best is None:
            return
        newest = history.records[-1]
        figures = f"loss {newest.loss:.4f} valid {self.metric} {newest.valid:.4f} (best {history.best.valid:.4f})"
        self.progress.update(self.bar, figures=f"epoch {newest.epoch + 1}/{trainer.max_epochs} {figures}")
