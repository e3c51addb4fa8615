"""The processes that torchrun or Ray started for one training: what they know of each other before they begin."""

from __future__ import annotations

import atexit
import os
import socket
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import torch
from torch import Tensor, distributed

from policylearn.settings.run_config import FitConfig
from policylearn.settings.run_files import RunError
from policylearn.settings.schema import RunNote

Decided = TypeVar("Decided")


@dataclass(frozen=True)
class Launch:
    """How many processes a launcher started, on each of how many machines."""

    local: int
    machines: int


def launched() -> Launch | None:
    """What torchrun or Ray wrote into the environment; None in a process of its own and in one that Lightning started.

    The rank over all machines tells: Lightning gives its own processes none.
    """
    world, local = (int(os.environ.get(name, 1)) for name in ("WORLD_SIZE", "LOCAL_WORLD_SIZE"))
    return Launch(local, world // local) if "RANK" in os.environ and world > 1 else None


def is_first_process() -> bool:
    """Whether this process writes and speaks for all: the first over all machines."""
    return int(os.environ.get("RANK", os.environ.get("LOCAL_RANK", 0))) == 0


def note(text: str) -> None:
    """Warn once for all processes; the command prints the text as a note."""
    if is_first_process():
        warnings.warn(text, RunNote, stacklevel=3)


def several_processes() -> bool:
    """Whether this process trains together with others; asked of torch, since a step may be run without a trainer."""
    return distributed.is_available() and distributed.is_initialized() and distributed.get_world_size() > 1


def join_process_group() -> None:
    """Join the process group of a launcher, once; from then on, all notice when a process ends."""
    if launched() is not None and not distributed.is_initialized():
        distributed.init_process_group("cpu:gloo,cuda:nccl" if torch.cuda.is_available() else "gloo")
        atexit.register(leave_process_group)


def leave_process_group() -> None:
    """Leave the process group before Python exits.

    Threads of a group that was not destroyed hold tensors, and sometimes abort a process that has finished.
    """
    if distributed.is_initialized():
        distributed.destroy_process_group()


def broadcast_from_first(value: Any) -> Any:
    """The value that the first process gives; a `RunError` where another process has ended."""
    content = [value]
    with _lost_process_as_error():
        distributed.broadcast_object_list(content)
    return content[0]


def on_first_process(decide: Callable[[], Decided]) -> Decided:
    """Decide on the first process, such as what a run folder holds, and tell all; all raise its `RunError`."""
    if launched() is None:
        return decide()
    found: Decided | RunError | None = None
    if is_first_process():
        try:
            found = decide()
        except RunError as error:
            found = error
    found = broadcast_from_first(found)
    if isinstance(found, RunError):
        raise found
    return found


def check_processes_agree(facts: Mapping[str, Any]) -> None:
    """Raise a `RunError` in all processes where the ``facts`` of one, by name, are not those of the first."""
    if launched() is None:
        return
    every: list[Any] = [None] * distributed.get_world_size()
    with _lost_process_as_error():
        distributed.all_gather_object(every, (socket.gethostname(), dict(facts)))
    (_, first), *others = every
    for rank, (host, theirs) in enumerate(others, start=1):
        for name, value in first.items():
            if theirs.get(name) != value:
                raise RunError(
                    f"the processes do not train the same: {name} is {value} in process 0, and {theirs.get(name)} in"
                    f" process {rank} on {host}; start all with the same version, data and settings"
                )


@contextmanager
def checkpoint_for_all(path: Path | None) -> Iterator[Path | None]:
    """The first process's checkpoint as a file that this process can read, on whatever disks the run folder lies."""
    if launched() is None or path is None:
        yield path
        return
    content = broadcast_from_first(path.read_bytes() if is_first_process() else None)
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / path.name
        copy.write_bytes(content)
        yield copy


def share_of_labels(known: Tensor) -> Tensor:
    """What to multiply a process's mean loss over its ``known`` labels by, so that the mean is over those of all."""
    total = known.clone()
    distributed.all_reduce(total)
    return known * distributed.get_world_size() / total.clamp(min=1)


def rows_of_all(rows: Tensor) -> Tensor:
    """The rows of all processes, those of the first one first; each may have another number of them, ``(R, ...)``."""
    counts = torch.zeros(distributed.get_world_size(), dtype=torch.int64, device=rows.device)
    counts[distributed.get_rank()] = len(rows)
    distributed.all_reduce(counts)
    padded = rows.new_zeros(int(counts.max()), *rows.shape[1:])
    padded[: len(rows)] = rows
    every = [torch.empty_like(padded) for _ in counts]
    distributed.all_gather(every, padded)
    return torch.cat([one[:count] for one, count in zip(every, counts.tolist(), strict=True)])


@contextmanager
def _lost_process_as_error() -> Iterator[None]:
    try:
        yield
    except RuntimeError as error:
        raise RunError("another process of this training has ended before it began; its own output says why") from error


def check_device(settings: FitConfig) -> None:
    """Raise where a run asks for GPUs that are not here."""
    launch = launched()
    if launch is not None and settings.devices not in (1, launch.local):
        raise RunError(
            f"'fit.devices' is {settings.devices}, and {launch.local} processes were started on this machine; leave"
            " --devices out: the launcher has decided"
        )
    there = torch.cuda.device_count() or int(torch.backends.mps.is_available())
    wanted = settings.devices if launch is None else launch.local
    if settings.accelerator == "gpu" and there < wanted:
        raise RunError(
            f"'fit.accelerator' is gpu with fit.devices {wanted}, and there are {there} GPUs that torch can"
            " use; use --accelerator cpu, or ask for fewer with --devices"
        )
