"""Copies of unfinished runs that travel with the records, so that another machine can continue them."""

from __future__ import annotations

import lzma
import os
import shutil
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from lab.ledger import HASH, Ledger
from lab.reproduce.plan import Job
from lab.reproduce.records import RUNS, run_folder
from lab.settings import read_settings
from policylearn.settings.flat import flat
from policylearn.settings.run_config import read_yaml
from policylearn.settings.run_files import CONFIG, FACTS, HISTORY, METRICS
from policylearn.training.checkpoints import CHECKPOINTS, LAST, epochs_kept, newest_readable
from policylearn.training.folds import read_history

UNFINISHED = "unfinished"
PACKED = f"{LAST}.xz"
FLOATS = [{"id": lzma.FILTER_LZMA2, "preset": 9, "lc": 0, "lp": 2}]
"""For values of four bytes: 7 % smaller than xz by default."""


@dataclass(frozen=True)
class BegunRun:
    """A run that has not finished.

    Args:
        name: of its record, without ``.json``.
        folder: its run folder, or the copy that is kept of it.
    """

    name: str
    folder: Path
    seconds: list[float]
    epochs: int

    @property
    def idle_minutes(self) -> float:
        """How long ago its last epoch ended."""
        return (time.time() - (self.folder / HISTORY).stat().st_mtime) / 60

    def __str__(self) -> str:
        return f"{self.name}: epoch {len(self.seconds)} of {self.epochs}"


def begun_runs(root: Path, kind: str) -> Iterator[BegunRun]:
    """The unfinished runs of a results folder: those below ``runs``, or the copies below ``unfinished``."""
    for path in sorted((root / kind).glob(f"**/{HISTORY}")):
        if not path.with_name(METRICS).exists():
            epochs, name = read_yaml(path.with_name(CONFIG))["fit"]["epochs"], path.parent.relative_to(root / kind)
            yield BegunRun(str(name), path.parent, read_history(path)["seconds"], int(epochs))


def keep_unfinished(root: Path) -> list[Path]:
    """Copy what a resume needs of each unfinished run to ``unfinished``, and remove copies of runs with a record."""
    kept = []
    for run in begun_runs(root, RUNS):
        copy = root / UNFINISHED / run.name
        if newest_readable(run.folder / CHECKPOINTS) is not None and not (root / f"{run.name}.json").exists():
            pack(run.folder, copy)
            kept.append(copy)
    for run in begun_runs(root, UNFINISHED):
        if (root / f"{run.name}.json").exists():
            remove(run.folder)
    return kept


def pack(folder: Path, copy: Path) -> None:
    """Copy a run folder's newest checkpoint, compressed, with its settings and the epochs that the checkpoint holds."""
    part = copy.with_name(f".{copy.name}.part")
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    newest = newest_readable(folder / CHECKPOINTS)
    assert newest is not None, "looked at before"
    shutil.copyfile(newest, part / LAST)  # the run may go on and replace its own
    lines = (folder / HISTORY).read_text(encoding="utf-8").splitlines(keepends=True)
    (part / HISTORY).write_text("".join(lines[: 1 + epochs_kept(part)]), encoding="utf-8")
    for name in (CONFIG, FACTS):
        shutil.copyfile(folder / name, part / name)
    (part / PACKED).write_bytes(lzma.compress((part / LAST).read_bytes(), filters=FLOATS))
    (part / LAST).unlink()
    shutil.rmtree(copy, ignore_errors=True)
    part.replace(copy)


def find_copy(ledger: Ledger, job: Job) -> Path | None:
    """The kept copy of a job's run, by its name, or by its settings where a later setting changed the name."""
    for folder in sorted((ledger.root / UNFINISHED).glob(f"{HASH.sub('', job.record)}-*")):
        if folder.name == job.name or flat(read_settings(read_yaml(folder / CONFIG))) == flat(job.settings):
            return folder
    return None


def continue_copy(ledger: Ledger, job: Job) -> None:
    """Make a job's run folder from the copy that was kept of it; a run folder that is as far stays."""
    folder, copy = run_folder(ledger, job), find_copy(ledger, job)
    if copy is None or (folder / METRICS).exists():
        return
    if epochs_kept(folder / CHECKPOINTS) >= len(read_history(copy / HISTORY)["seconds"]):
        return
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(copy, folder)
    (folder / CHECKPOINTS).mkdir()
    (folder / CHECKPOINTS / LAST).write_bytes(lzma.decompress((folder / PACKED).read_bytes()))
    (folder / PACKED).unlink()


def remove_copy(ledger: Ledger, job: Job) -> None:
    """Remove the copy of a run that has its record now."""
    copy = find_copy(ledger, job)
    if copy is not None:
        remove(copy)


def remove(copy: Path) -> None:
    """Remove a copy and the folders above it that are empty then."""
    shutil.rmtree(copy)
    with suppress(OSError):  # other copies are in it
        os.removedirs(copy.parent)
