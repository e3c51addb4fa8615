"""Progress of a training: a bar in a terminal, lines elsewhere."""

from __future__ import annotations

import time

import lightning
from rich.progress import Progress, TaskID

from policylearn.cli.printing import say
from policylearn.training.history import History

LINE_SECONDS = 10.0
"""Least time between two lines where there is no terminal."""


class TrainingBar(lightning.Callback):
    """Moves a bar by the steps of a training, and shows epoch, loss and validation metric.

    Without a terminal, where bars say nothing before the end, it prints a line after the first epoch, then one every
    few seconds, and one after the last epoch.
    """

    def __init__(self, progress: Progress, bar: TaskID, title: str, metric: str) -> None:
        self.progress, self.bar, self.title, self.metric = progress, bar, title, metric
        self.started = self.spoken = time.monotonic()
        self.figures = ""

    def on_transform(self, name: str, done: int, total: int) -> None:
        """Move by the graphs whose structures are computed."""
        self.progress.update(self.bar, description=name, total=total, completed=done)
        if done < total:
            self._speak(f"{name}: {done:,} of {total:,} graphs")

    def on_train_start(self, trainer: lightning.Trainer, pl_module: lightning.LightningModule) -> None:
        """Begin, where a resumed run continues."""
        steps, epochs = int(trainer.num_training_batches), trainer.max_epochs or 0
        self.started = self.spoken = time.monotonic()
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
        steps = int(trainer.num_training_batches)
        if batch_idx + 1 < steps:
            place = f"epoch {trainer.current_epoch + 1}/{trainer.max_epochs}, step {batch_idx + 1} of {steps}"
            self._speak(f"{place}{f'; {self.figures}' if self.figures else ''}")

    def on_train_epoch_end(self, trainer: lightning.Trainer, pl_module: lightning.LightningModule) -> None:
        """Show the epoch's figures."""
        history = next((c for c in trainer.callbacks if isinstance(c, History)), None)  # type: ignore[attr-defined]
        if history is None or not history.records or history.kept is None:
            return
        newest = history.records[-1]
        name = f"valid {self.metric}" if newest.valid_loss is None else "valid loss"
        best = f" (best {history.kept.choice:.4f})" if history.keep == "best" else ""
        self.figures = f"loss {newest.loss:.4f} {name} {newest.choice:.4f}{best}"
        text = f"epoch {newest.epoch}/{trainer.max_epochs} {self.figures}"
        self.progress.update(self.bar, figures=text)
        ends = newest.epoch == trainer.max_epochs or trainer.should_stop
        self._speak(text, now=ends or len(history.records) == 1)

    def _speak(self, text: str, *, now: bool = False) -> None:
        """Print a line where there is no terminal and it is time for one."""
        time_now = time.monotonic()
        if self.progress.console.is_terminal or not (now or time_now - self.spoken >= LINE_SECONDS):
            return
        self.spoken = time_now
        say(f"{self.title}: {text}, {time_now - self.started:.0f} s", self.progress.console)
