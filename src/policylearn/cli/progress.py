"""The progress bar of a training."""

from __future__ import annotations

import lightning
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from policylearn.training.history import History


class TrainingBar(lightning.Callback):
    """Epochs done, loss, validation metric and time left; the steps of an epoch move the bar too.

    Args:
        title: what is trained.
        console: where to draw.
        metric: its name.
    """

    def __init__(self, title: str, console: Console, metric: str) -> None:
        self.title, self.metric, self.console = title, metric, console
        self.progress: Progress | None = None
        self.bar: TaskID | None = None

    def on_train_start(self, trainer: lightning.Trainer, pl_module: lightning.LightningModule) -> None:
        """Put up the bar, at the place where a resumed run goes on."""
        if not trainer.is_global_zero:
            return
        self.progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("epoch {task.fields[epoch]}/{task.fields[epochs]} {task.fields[figures]}"),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
            console=self.console,
        )
        steps = int(trainer.num_training_batches)
        self.bar = self.progress.add_task(
            self.title,
            total=(trainer.max_epochs or 0) * steps,
            completed=trainer.current_epoch * steps,
            epoch=trainer.current_epoch,
            epochs=trainer.max_epochs,
            figures="",
        )
        self.progress.start()

    def on_train_batch_end(
        self,
        trainer: lightning.Trainer,
        pl_module: lightning.LightningModule,
        outputs: object,
        batch: object,
        batch_idx: int,
    ) -> None:
        """Move on by a step."""
        if self.progress is not None and self.bar is not None:
            self.progress.advance(self.bar)

    def on_train_epoch_end(self, trainer: lightning.Trainer, pl_module: lightning.LightningModule) -> None:
        """Show the epoch's figures."""
        history = next((c for c in trainer.callbacks if isinstance(c, History)), None)  # type: ignore[attr-defined]
        if self.progress is None or self.bar is None or history is None or not history.records:
            return
        newest, best = history.records[-1], history.best
        assert best is not None
        figures = f"loss {newest.loss:.4f} valid {self.metric} {newest.valid:.4f} (best {best.valid:.4f})"
        self.progress.update(self.bar, epoch=newest.epoch + 1, figures=figures)

    def teardown(self, trainer: lightning.Trainer, pl_module: lightning.LightningModule, stage: str) -> None:
        """Take the bar down, also after a failure."""
        if self.progress is not None:
            self.progress.stop()


class EpochBar(lightning.Callback):
    """Moves a bar of somebody else's by epochs, for trainings that are some of many.

    Args:
        progress: that has the bar.
        bar: which of its bars.
        title: what is trained.
    """

    def __init__(self, progress: Progress, bar: TaskID, title: str) -> None:
        self.progress, self.bar, self.title = progress, bar, title

    def on_train_start(self, trainer: lightning.Trainer, pl_module: lightning.LightningModule) -> None:
        """Begin anew, at the place where a resumed run goes on."""
        total, done = trainer.max_epochs, trainer.current_epoch
        self.progress.reset(self.bar, description=self.title, total=total, completed=done)

    def on_train_epoch_end(self, trainer: lightning.Trainer, pl_module: lightning.LightningModule) -> None:
        """Move on by an epoch."""
        self.progress.advance(self.bar)
