"""The progress bars of a sweep: its trials, and the epochs of the one that runs here."""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType

import lightning
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from policylearn.training.sweep import Standing


class SweepBars:
    """Two bars while a sweep runs.

    Args:
        console: where to draw.
        metric: what the validation figure is.
    """

    def __init__(self, console: Console, metric: str) -> None:
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("left"))
        self.metric = metric
        self.progress = Progress(*columns, TimeRemainingColumn(), TextColumn("{task.fields[figures]}"), console=console)
        self.trials = self.progress.add_task("trials", total=None, figures="")
        self.epochs = self.progress.add_task("epochs", total=None, figures="", visible=False)

    def __enter__(self) -> SweepBars:
        self.progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.progress.stop()

    def report(self, standing: Standing) -> None:
        """Show how far the sweep is, over all processes."""
        best = "" if standing.best is None else f"best valid {self.metric} {standing.values[standing.best]:.4f}"
        self.progress.update(
            self.trials,
            total=standing.total,
            completed=len(standing.values),
            figures=best,
        )

    def callbacks_of(self, title: str) -> Sequence[lightning.Callback]:
        """The callback that moves the bar of epochs."""
        return [EpochBar(self.progress, self.epochs, title)]


class EpochBar(lightning.Callback):
    """Moves a bar that is shown already by the epochs of a training.

    Args:
        progress: the bars.
        bar: which of them.
        title: what is trained.
    """

    def __init__(self, progress: Progress, bar: TaskID, title: str) -> None:
        self.progress, self.bar, self.title = progress, bar, title

    def on_train_start(self, trainer: lightning.Trainer, pl_module: lightning.LightningModule) -> None:
        """Begin, at the place where a resumed trial goes on."""
        self.progress.reset(
            self.bar,
            description=self.title,
            total=trainer.max_epochs,
            completed=trainer.current_epoch,
            visible=True,
            figures="",
        )

    def on_train_epoch_end(self, trainer: lightning.Trainer, pl_module: lightning.LightningModule) -> None:
        """Move on by an epoch."""
        valid = trainer.callback_metrics.get("valid")
        self.progress.update(self.bar, advance=1, figures="" if valid is None else f"valid {float(valid):.4f}")

    def teardown(self, trainer: lightning.Trainer, pl_module: lightning.LightningModule, stage: str) -> None:
        """Take the bar away."""
        self.progress.update(self.bar, visible=False)
