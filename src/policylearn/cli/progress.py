"""The command's progress bars, all of one kind."""

from __future__ import annotations

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn, TimeRemainingColumn


def progress_bars(console: Console, *, transient: bool = False, disable: bool = False) -> Progress:
    """Bars with a title before them and figures behind; `add_bar` adds one."""
    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f} %"),
        TextColumn("{task.fields[figures]}", markup=False),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        console=console,
        transient=transient,
        disable=disable,
    )


def add_bar(progress: Progress, title: str, total: float | None = None) -> TaskID:
    """A further bar; without a total it only moves."""
    return progress.add_task(title, total=total, figures="")
