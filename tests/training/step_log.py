"""What each step of a training computed and on which machinery, so that two runs that differ say where and why."""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Iterable, Sequence
from typing import Any

import lightning
import torch
from torch import Tensor

COMPUTED = ("batch", "random", "loss", "gradients", "weights")
"""In the order in which one leads to the next."""


class StepLog(lightning.Callback):
    """Digests of each step; a step is plain values, so that another process can send it."""

    def __init__(self) -> None:
        self.steps: list[dict[str, Any]] = []

    def on_train_batch_end(
        self, trainer: lightning.Trainer, pl_module: Any, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        named = list(pl_module.model.named_parameters())
        self.steps.append(
            {
                "step": [trainer.current_epoch, batch_idx],
                "batch": digest([batch.x, batch.edge_index, batch.index]),
                "random": digest([torch.get_rng_state()]),
                "loss": digest([outputs["loss"]]),
                "gradients": {name: digest([weight.grad]) for name, weight in named if weight.grad is not None},
                "weights": {name: digest([weight]) for name, weight in named},
                "threads": torch.get_num_threads(),
                "others": sorted(one.name for one in threading.enumerate()),
                "layouts": sorted({f"{one.stride()} at {one.data_ptr() % 64}" for _, one in named}),
                "small numbers": float(torch.tensor(1e-40) * 1) > 0,
                "load": os.getloadavg()[0],
            }
        )


def digest(tensors: Iterable[Tensor]) -> str:
    """Of the bytes of some tensors."""
    found = hashlib.sha256()
    for one in tensors:
        found.update(one.detach().cpu().contiguous().numpy().tobytes())
    return found.hexdigest()[:16]


def first_difference(ones: Sequence[dict[str, Any]], others: Sequence[dict[str, Any]]) -> str:
    """Where two logs differ first, in what, and how the machinery differs; empty where they do not."""
    known = {tuple(step["step"]): step for step in others}
    for one in ones:
        other = known.get(tuple(one["step"]))
        if other is None or all(one[name] == other[name] for name in COMPUTED):
            continue
        name = next(name for name in COMPUTED if one[name] != other[name])
        inside = one[name] if isinstance(one[name], dict) else {}
        parts = [part for part, value in inside.items() if other[name].get(part) != value]
        around = [f"{key}: {one[key]} and {other[key]}" for key in one if key not in (*COMPUTED, "step")]
        return "\n".join([f"step {one['step']}: first in '{name}' {parts}", *around])
    return ""
