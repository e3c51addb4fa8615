"""Peak memory: what a process of its own holds at most, and what the replicated model would need."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

import psutil
import torch
from torch_geometric.data import Batch

from lab.bench.cases import Case, Phase
from policylearn.models import Inputs
from policylearn.nn import NetworkConfig

GIB = 2**30
SHARE = 0.8
"""Of the memory that is free, as much as a contender may need."""
LOOK = 0.02
"""Seconds between two looks at the memory of a process."""


class MemoryLimitError(RuntimeError):
    """A process of its own held more than it may, and was ended."""


def peak() -> int:
    """Most bytes that this process has held, so far or since `forget_peak`."""
    status = Path("/proc/self/status")
    if status.exists():
        return next(int(line.split()[1]) * 1024 for line in status.read_text().splitlines() if "VmHWM" in line)
    held = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return held if sys.platform == "darwin" else held * 1024


def forget_peak() -> None:
    """Reset the peak, where the system can; elsewhere reading the data counts too."""
    switch = Path("/proc/self/clear_refs")
    if switch.exists():
        switch.write_text("5")


def resident() -> int:
    """Bytes that this process holds now."""
    return int(psutil.Process().memory_info().rss)


def available() -> int:
    """Bytes that a further process could have."""
    return int(psutil.virtual_memory().available)


def run_alone(module: str, words: dict[str, Any], *, most_bytes: int | None = None) -> dict[str, Any]:
    """Run ``python -m MODULE WORDS`` in a process of its own and return the JSON object that it prints last.

    The C library is told to give freed tensors back at once: by default it keeps those below 32 MiB, and small settings
    would look larger than they are.

    Args:
        module: what to run.
        words: its one argument, as JSON.
        most_bytes: how much it may hold; more ends it with a `MemoryLimitError`.
    """
    environment = os.environ | {"MALLOC_MMAP_THRESHOLD_": str(64 * 1024)}
    command = [sys.executable, "-m", module, json.dumps(words)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, env=environment, stdout=pipe, stderr=pipe, text=True) as process:
        try:
            out, errors = watch(process, most_bytes)
        finally:
            process.kill()  # does nothing to one that is over
    if process.returncode:
        raise RuntimeError(f"{words} in a process of its own failed with code {process.returncode}:\n{errors}")
    found: dict[str, Any] = json.loads(out.splitlines()[-1])
    return found


def watch(process: subprocess.Popen[str], most_bytes: int | None) -> tuple[str, str]:
    """What a process writes to its two outputs until its end, looking at its memory meanwhile."""
    while True:
        try:
            return process.communicate(timeout=None if most_bytes is None else LOOK)
        except subprocess.TimeoutExpired:
            if most_bytes is not None and psutil.Process(process.pid).memory_info().rss > most_bytes:
                raise MemoryLimitError(f"needs more than {most_bytes / GIB:.1f} GiB of memory") from None


def replicated_bytes(inputs: Inputs, network: NetworkConfig, case: Case, phase: Phase, batch: Batch) -> int:
    """About how much memory the replicated model needs for a batch: the tensors that autograd keeps, or a layer's own.

    A row keeps 13 C numbers per layer: 8 of the features' stream (``[h, p]``, its sum over neighbours, two maps and two
    relus) and 5 of the marks'; an edge with features keeps its message. Without gradients only one layer of the
    largest pass is held.
    """
    sizes = batch.ptr.diff()
    edges = torch.bincount(batch.batch[batch.edge_index[0]], minlength=len(sizes))
    bag = sizes + 1 if case.policy == "full" else torch.full_like(sizes, case.picks + 1)
    selection = case.picks * (case.picks + 1) // 2 if case.learns else 0
    copies = bag + selection if phase == "train" else bag
    rows, messages = int((sizes * copies).sum()), int((edges * copies).sum())
    featured = inputs.edge_features.present
    if phase == "train":
        return 4 * network.channels * network.layers * (13 * rows + 2 * featured * messages)
    return 4 * network.channels * (10 * rows + (8 if featured else 2) * messages)


def too_large(needed: int) -> str:
    """Why a contender is not run; empty if it fits."""
    free = available()
    if needed <= SHARE * free:
        return ""
    return f"not run: would need about {needed / GIB:.0f} GiB of memory, {free / GIB:.0f} are free"
