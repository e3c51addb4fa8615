"""Two bars for a list of trainings: all of them, and the epochs of the current one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console

from policylearn.cli.printing import add_bar, progress_bars, spoken_notes
from policylearn.cli.stopping import stop_signals
from policylearn.cli.training_progress import TrainingBar

EpochBar = Callable[[str, str], list[TrainingBar]]
"""Makes the callbacks of a training from its title and metric."""


@contextmanager
def training_bars(title: str, total: int, console: Console) -> Iterator[tuple[EpochBar, Callable[[], None]]]:
    """Show the bars, and give what moves them: the callbacks of a training, and what says that one more is over."""
    kept = f"finished {title} and checkpoints are kept; call the same command again to continue"
    with spoken_notes(console), stop_signals(lambda: kept), progress_bars(console) as progress:
        everything, current = add_bar(progress, title, total), add_bar(progress, "epochs")
        yield lambda *words: [TrainingBar(progress, current, *words)], lambda: progress.advance(everything)
