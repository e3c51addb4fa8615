"""Checkpoints that survive a kill at any moment."""

from __future__ import annotations

import os
import pickle
import time
from pathlib import Path
from typing import Any

import lightning
import torch

CHECKPOINTS = "checkpoints"
LAST, PREVIOUS = "last.ckpt", "previous.ckpt"


class Checkpoints(lightning.Callback):
    """Writes the state of the run at the end of epochs, beside the last one, and then renames it.

    Args:
        folder: where they go.
        seconds: least time between two of them.
    """

    def __init__(self, folder: Path, *, seconds: float) -> None:
        self.folder, self.seconds = folder, seconds
        self.written = time.perf_counter()

    def on_train_epoch_end(self, trainer: lightning.Trainer, pl_module: lightning.LightningModule) -> None:
        """Write one if it is time."""
        due = time.perf_counter() - self.written >= self.seconds
        # All processes must agree, since Lightning saves with all of them.
        if trainer.strategy.broadcast(due):
            self.write(trainer)

    def on_fit_end(self, trainer: lightning.Trainer, pl_module: lightning.LightningModule) -> None:
        """Write the last one."""
        self.write(trainer)

    def write(self, trainer: lightning.Trainer) -> None:
        """Write the state now; the one before is kept."""
        part = self.folder / f".{LAST}.part"
        trainer.save_checkpoint(part)
        if trainer.is_global_zero:
            with part.open("rb") as file:
                os.fsync(file.fileno())
            last = self.folder / LAST
            if last.exists():
                last.replace(self.folder / PREVIOUS)
            part.replace(last)
        self.written = time.perf_counter()


def newest_readable(folder: Path) -> Path | None:
    """The newest checkpoint that is whole; a truncated one is passed over, None if there is none."""
    for path in (folder / LAST, folder / PREVIOUS):
        if path.exists() and is_whole(path):
            return path
    return None


def is_whole(path: Path) -> bool:
    """Whether a checkpoint can be read to its end."""
    return _read(path) is not None


def epochs_kept(folder: Path) -> int:
    """How many epochs of a run its newest whole checkpoint holds; 0 without one.

    Args:
        folder: of the checkpoints.
    """
    newest = newest_readable(folder)
    content = None if newest is None else _read(newest)
    return 0 if content is None else len(content["callbacks"].get("History", {}).get("records", ()))


def _read(path: Path) -> dict[str, Any] | None:
    try:
        content: dict[str, Any] = torch.load(path, map_location="cpu", weights_only=True)
    except (pickle.UnpicklingError, RuntimeError, EOFError, OSError, ValueError, KeyError):
        return None
    return content if "state_dict" in content and "loops" in content else None
