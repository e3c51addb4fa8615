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
    """Writes checkpoints at the end of epochs, at least so many seconds apart.

    Each is a new file that is then renamed; the one before is kept.
    """

    def __init__(self, folder: Path, *, seconds: float) -> None:
        self.folder, self.seconds = folder, seconds
        self.written = time.perf_counter()

    def on_train_epoch_end(self, trainer: lightning.Trainer, pl_module: lightning.LightningModule) -> None:
        """Write one if it is time; all processes must agree, since Lightning saves with all of them."""
        if trainer.strategy.broadcast(time.perf_counter() - self.written >= self.seconds):
            self.write(trainer)

    def on_fit_end(self, trainer: lightning.Trainer, pl_module: lightning.LightningModule) -> None:
        """Write the last one."""
        self.write(trainer)

    def write(self, trainer: lightning.Trainer) -> None:
        """Write the state now."""
        part, last = self.folder / f".{LAST}.part", self.folder / LAST
        trainer.save_checkpoint(part)
        if trainer.is_global_zero:
            with part.open("rb") as file:
                os.fsync(file.fileno())
            if last.exists():
                last.replace(self.folder / PREVIOUS)
            part.replace(last)
        self.written = time.perf_counter()


def newest_readable(folder: Path) -> Path | None:
    """The newest checkpoint that is whole; None if there is none."""
    return next((path for path in (folder / LAST, folder / PREVIOUS) if read(path) is not None), None)


def epochs_kept(folder: Path) -> int:
    """How many epochs of a run the newest whole checkpoint in a folder holds; 0 without one."""
    newest = newest_readable(folder)
    content = None if newest is None else read(newest)
    return 0 if content is None else len(content["callbacks"].get("History", {}).get("records", ()))


def read(path: Path) -> dict[str, Any] | None:
    """What a checkpoint holds; None where it is absent or damaged."""
    try:
        content: dict[str, Any] = torch.load(path, map_location="cpu", weights_only=True)
    except (pickle.UnpicklingError, RuntimeError, EOFError, OSError, ValueError, KeyError):
        return None
    return content if "state_dict" in content and "loops" in content else None
