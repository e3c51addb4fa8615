"""What the command prints: lines, tables and progress bars."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.progress import Progress, TaskID
    from rich.table import Table

PIPE_WIDTH = 1000
"""A pipe has no width: its lines are never cut or folded."""


def say(text: str, console: Console | None = None) -> None:
    """Print a line without markup."""
    from rich.console import Console

    (console or Console()).print(text, highlight=False, markup=False, emoji=False, soft_wrap=True)


def warn(text: str, console: Console) -> None:
    """Print a warning in yellow."""
    console.print(f"⚠ {text}", style="yellow", highlight=False, markup=False, emoji=False, soft_wrap=True)


@contextmanager
def spoken_notes(console: Console) -> Iterator[None]:
    """Print each `RunNote` as a yellow line when it is raised."""
    from policylearn.settings.schema import RunNote

    with warnings.catch_warnings():
        warnings.simplefilter("always", RunNote)
        plain = warnings.showwarning

        def show(message: Any, category: type[Warning], *place: Any, **more: Any) -> None:
            if issubclass(category, RunNote):
                warn(str(message), console)
            else:
                plain(message, category, *place, **more)

        warnings.showwarning = show
        yield


def make_table(
    headings: Sequence[str], rows: Iterable[Sequence[str]], title: str | None = None, *, numbers: bool = False
) -> Table:
    """A table of text; with ``numbers``, all columns but the first are set to the right."""
    from rich.table import Table

    table = Table(title=title)
    for place, heading in enumerate(headings):
        table.add_column(heading, justify="right" if numbers and place else "left")
    for row in rows:
        table.add_row(*row)
    return table


def print_table(table: RenderableType, pipe_width: int = PIPE_WIDTH) -> None:
    """A table in the width of the terminal, or of a pipe."""
    from rich.console import Console

    width = None if Console().is_terminal else pipe_width
    Console(width=width, markup=False).print(table)


def progress_bars(console: Console, *, transient: bool = False, disable: bool = False) -> Progress:
    """Progress bars between a title and figures; `add_bar` adds one."""
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

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
    """Add a bar; without a total it is indeterminate."""
    return progress.add_task(title, total=total, figures="")
