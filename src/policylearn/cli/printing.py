"""What the command prints: lines and tables that a pipe never cuts."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

PIPE_WIDTH = 1000
"""A pipe has no width: its lines are never cut or folded."""


def say(text: str, console: Console | None = None) -> None:
    """A line as it is, without colours or marks of its own."""
    from rich.console import Console

    (console or Console()).print(text, highlight=False, markup=False, soft_wrap=True)


def warn(text: str, console: Console) -> None:
    """A yellow line."""
    console.print(f"⚠ {text}", style="yellow", highlight=False, markup=False, soft_wrap=True)


def print_table(table: RenderableType, pipe_width: int = PIPE_WIDTH) -> None:
    """A table in the width of the terminal, or of a pipe."""
    from rich.console import Console

    console = Console()
    Console(width=None if console.is_terminal else pipe_width).print(table)


def quiet_lightning() -> None:
    """Lightning's own lines are left out; the progress bar says what matters."""
    for name in ("lightning.pytorch", "lightning.fabric"):
        logging.getLogger(name).setLevel(logging.WARNING)
