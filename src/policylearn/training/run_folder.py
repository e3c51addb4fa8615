"""Create or resume a run folder; remove it again where training fails before anything was saved."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from policylearn.models import complete
from policylearn.settings.flat import differences
from policylearn.settings.run_config import RunConfig
from policylearn.settings.run_files import FACTS, METRICS, RunError, RunFiles, read_run_files
from policylearn.training.checkpoints import CHECKPOINTS, epochs_kept, newest_readable
from policylearn.training.data_source import Source
from policylearn.training.processes import is_first_process, note, on_first_process

OWN_RUNS = {"fold-*": "the folds of a run", "member-*": "the members of an ensemble"}
NOT_COMPARED = ("data.name", "fit.epochs")
"""The same data may lie elsewhere, and its fingerprint tells; epochs may be raised."""
SHOWN = 5
"""Differences that a message lists."""


@contextmanager
def new_folder(folder: Path, *, resume: bool) -> Iterator[None]:
    """Make a run folder; where the block fails before anything was kept, remove what it left there.

    A folder that holds something is refused unless ``resume``.
    """
    there = folder.exists()
    empty = on_first_process(lambda: check_folder(folder, resume=resume))
    if is_first_process():
        folder.mkdir(parents=True, exist_ok=True)
    try:
        yield
    except BaseException:
        if empty and is_first_process() and not has_results(folder):
            for path in folder.iterdir():
                shutil.rmtree(path) if path.is_dir() else path.unlink()
            if not there:
                folder.rmdir()
        raise


def check_folder(folder: Path, *, resume: bool) -> bool:
    """Whether a run folder is empty or not yet there; a `RunError` where no run may be made in it."""
    if folder.exists() and not folder.is_dir():
        raise RunError(f"{folder}: is a file; choose another folder with -o")
    empty = not folder.exists() or not any(folder.iterdir())
    if not empty and not resume and is_first_process():
        raise RunError(f"{folder}: is not empty; add --resume to continue it, or choose another folder with -o")
    return empty


def has_results(folder: Path) -> bool:
    """Whether a run folder, or one within it, holds a checkpoint or a finished run."""
    inner = (folder, *(path for pattern in OWN_RUNS for path in folder.glob(pattern)))
    return any((one / METRICS).exists() or newest_readable(one / CHECKPOINTS) is not None for one in inner)


def resume_hint(folder: Path, words: Sequence[str]) -> str:
    """What a stopped training has kept, and the command that continues it; the words followed ``policylearn``."""
    kept = []
    for inner in (folder, *sorted(folder.glob("*-*"))):
        epochs = epochs_kept(inner / CHECKPOINTS)
        if (inner / METRICS).exists():
            kept.append(f"{inner} (finished)")
        elif epochs:
            kept.append(f"{inner} ({epochs} epoch{'s' if epochs > 1 else ''})")
    if not kept:
        return "no epoch was kept; call the same command again"
    if not any(word.split("=")[0] in ("-o", "--output") for word in words):
        words = [*words, "-o", str(folder)]
    command = shlex.join(["policylearn", *words, *([] if "--resume" in words else ["--resume"])])
    return f"kept {'; '.join(kept)}. Continue with\n  {command}"


@dataclass(frozen=True)
class ResumeState:
    """What a folder that is resumed holds."""

    checkpoint: Path | None = None  # to continue from; None starts anew
    finished: dict[str, Any] | None = None  # the metrics, if nothing is left to do
    keeps_files: bool = False  # keep the files of a finished run until the new ones are complete


def read_resume_state(folder: Path, config: RunConfig, source: Source, fold: int) -> ResumeState:
    """What to continue from in a folder; a `RunError` where it holds another run, with the difference."""
    for pattern, what in OWN_RUNS.items():
        if any(folder.glob(pattern)):
            raise RunError(f"{folder}: holds {what}, not one run; continue as it was begun, or choose another folder")
    checkpoint = newest_readable(folder / CHECKPOINTS)
    if not (folder / FACTS).exists() or (checkpoint is None and not (folder / METRICS).exists()):
        return ResumeState(checkpoint)  # nothing that could be lost; 0.1 wrote its settings at the end alone
    stored = read_run_files(folder)
    found = list(data_differences(stored, source, fold))
    for key, (ours, theirs) in differences(complete(config), complete(stored.config)).items():
        found += [] if key in NOT_COMPARED else [f"its {key} is {theirs}, not {ours}"]
    if found:
        more = f" and {len(found) - SHOWN} more" if len(found) > SHOWN else ""
        raise RunError(
            f"{folder}: holds another run: {'; '.join(found[:SHOWN])}{more}. Continue with its own data and settings,"
            " or choose another folder with -o"
        )
    return _epochs_left(folder, stored, config, checkpoint)


def _epochs_left(folder: Path, stored: RunFiles, config: RunConfig, checkpoint: Path | None) -> ResumeState:
    before, now, metrics = stored.config.fit.epochs, config.fit.epochs, stored.metrics
    if now < before:
        raise RunError(
            f"{folder}: was begun with {before} epochs, which can be raised and not lowered (got fit.epochs {now});"
            f" give --epochs {before}, or choose another folder with -o"
        )
    if now == before:
        return ResumeState(checkpoint, metrics or None)
    if metrics and metrics["epochs"] < before:
        raise RunError(
            f"{folder}: stopped by itself after {metrics['epochs']} of {before} epochs, so more of them would change"
            " nothing; train anew with another fit.patience in another folder"
        )
    if metrics and checkpoint is None:
        raise RunError(f"{folder}: has finished its {before} epochs and has no checkpoint; take another folder")
    rates = "; from here on, learning rates are those of the longer schedule"
    note(f"{folder}: continues to {now} epochs instead of {before}{rates if config.optim.schedule == 'cosine' else ''}")
    return ResumeState(checkpoint, keeps_files=bool(metrics))


def data_differences(stored: RunFiles, source: Source, fold: int) -> Iterator[str]:
    """How the data of a run differ from those at hand, in words."""
    facts, dataset = stored.facts, source.dataset
    there, here = tuple(facts["task"]["targets"]), dataset.task.targets
    if there != here:
        yield f"its target is {', '.join(there)}, not {', '.join(here)}"
    before, now = facts["dataset"], dataset.fingerprint
    if before["fingerprint"] != now:
        yield (
            f"its data are {before['name']} with {before['graphs']} graphs (fingerprint {before['fingerprint'][:12]}),"
            f" not {dataset.name} with {len(dataset)} ({now[:12]})"
        )
    wanted = fold if len(dataset.splits) > 1 else None
    if facts["fold"] != wanted:
        yield f"its fold is {facts['fold']}, not {wanted}"
