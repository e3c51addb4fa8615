"""A ledger of jobs: one JSON per finished job, written once, in a folder that any number of processes share.

A job is done when there is a record of an equal configuration. Sweeps, the paper's tables and the trainings of the
theory all keep their work here.
"""

from __future__ import annotations

import glob
import hashlib
import json
import os
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, is_dataclass, replace
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

import msgspec
from filelock import FileLock, Timeout

from policylearn.data.atomic import replacing
from policylearn.settings.flat import flat

FORMAT = 1
LOCKS = ".locks"
HASH = re.compile(r"-[0-9a-f]{8}$")
"""The end of the name of a record whose configuration is in its name."""
WAIT_SECONDS = 2.0
"""Between two looks at jobs of other processes."""
FILE = "file"
"""A field that says where a record was read from; it is not written."""


def short_hash(config: Any) -> str:
    """Eight letters that differ where the configuration does."""
    return hashlib.sha256(json.dumps(flat(config), sort_keys=True).encode()).hexdigest()[:8]


class LedgerError(ValueError):
    """A record that cannot be read or may not be written; the message says why and what to do."""


class LedgerJob(Protocol):
    """Something that is to be done once."""

    @property
    def record(self) -> str:
        """Where its record goes: a path below the ledger's folder, without ``.json``."""

    @property
    def settings(self) -> Mapping[str, Any]:
        """What makes it what it is; a record holds the same under ``config``."""


SomeJob = TypeVar("SomeJob", bound=LedgerJob)
Kept = TypeVar("Kept")


@dataclass(frozen=True)
class JobOutcome(Generic[SomeJob]):
    """What came of a list of jobs.

    Args:
        done: those that this process finished.
        found: those whose record was there.
        busy: those that another process is at, or that were more than asked for.
    """

    done: tuple[SomeJob, ...]
    found: tuple[SomeJob, ...]
    busy: tuple[SomeJob, ...]


@dataclass(frozen=True)
class Ledger:
    """The records below a folder.

    Args:
        default: the configuration whose values stand for settings that older records do not know.
        read: brings the configuration of a record into today's form.
    """

    root: Path
    default: Any = field(default_factory=dict)
    read: Callable[[dict[str, Any]], Mapping[str, Any]] = dict

    def path(self, job: LedgerJob) -> Path:
        """Where a job's record goes."""
        return self.root / f"{job.record}.json"

    def find(self, job: LedgerJob) -> Path | None:
        """The record of a job, None if it is not done; raises where its place is taken by other settings.

        Configurations are compared and not names: with a setting that came later a job has another name than its
        record.
        """
        path, usual = self.path(job), flat(self.default)
        wanted = usual | flat(job.settings)
        name = glob.escape(HASH.sub("", job.record))
        hashed = HASH.search(job.record) is not None
        for other in sorted(self.root.glob(f"{name}-????????.json" if hashed else f"{name}.json")):
            stored = usual | flat(self.read(read_content(other).get("config", {})))
            if stored == wanted:
                return other
            if other == path:
                key = min(key for key in stored.keys() | wanted.keys() if stored.get(key) != wanted.get(key))
                raise LedgerError(
                    f"{path}: was run with {key}={stored.get(key)}, and {key}={wanted.get(key)} is wanted now;"
                    " choose another folder, or the settings of that run"
                )
        return None

    def add(self, job: LedgerJob, record: Any) -> Path:
        """Write a job's record, whole or not at all, and never over another.

        A record is a dataclass or a mapping, and its ``config`` holds the job's settings.
        """
        path = self.path(job)
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.parent / f".{path.name}.{os.getpid()}.part"
        try:
            with replacing(part) as inner:
                inner.write_text(to_text(record), encoding="utf-8")
            os.link(part, path)
        except FileExistsError:
            raise LedgerError(f"{path}: is there already, and records are not overwritten; remove it first") from None
        finally:
            part.unlink(missing_ok=True)
        return path

    @contextmanager
    def claim(self, job: LedgerJob) -> Iterator[bool]:
        """Hold a job for the length of a block; False where another process holds it.

        The system lets go of a job whose process has died.
        """
        path = self.root / LOCKS / f"{job.record}.lock"
        path.parent.mkdir(parents=True, exist_ok=True)
        lock = FileLock(path)
        try:
            lock.acquire(timeout=0)
        except Timeout:
            yield False
            return
        try:
            yield True
        finally:
            lock.release()


def run_jobs(
    ledger: Ledger,
    jobs: Sequence[SomeJob],
    perform: Callable[[SomeJob], Any],
    *,
    most: int | None = None,
    wait: bool = False,
    after: Callable[[SomeJob], None] = lambda _job: None,
) -> JobOutcome[SomeJob]:
    """Do the jobs that have no record and that no other process is at.

    Args:
        ledger: where their records go.
        jobs: in the order in which to do them.
        perform: does a job and gives its record.
        most: how many to do; None does them all.
        wait: whether to wait for what other processes are at, and to take it over where they die.
        after: told each job that is over, whoever did it.
    """
    for job in jobs:
        ledger.find(job)  # what does not fit is said before hours are spent
    done: list[SomeJob] = []
    found: list[SomeJob] = []
    busy = list(jobs)
    while True:
        waiting, busy = busy, []
        for job in waiting:
            with ledger.claim(job) as ours:
                if ledger.find(job) is not None:
                    found.append(job)
                elif ours and len(done) != most:
                    ledger.add(job, perform(job))
                    done.append(job)
                else:
                    busy.append(job)
            if job not in busy or not wait:
                after(job)
        if not (wait and busy) or len(done) == most:
            return JobOutcome(tuple(done), tuple(found), tuple(busy))
        time.sleep(WAIT_SECONDS)


def to_text(record: Any) -> str:
    """A record as JSON with a line per field, so that curves stay short and changes can be read."""
    content = {"format": FORMAT} | (asdict(record) if is_dataclass(record) and not isinstance(record, type) else record)
    lines = [
        f"  {json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}" for key, value in content.items() if key != FILE
    ]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def read_content(path: Path) -> dict[str, Any]:
    """The fields of a record."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, json.JSONDecodeError, UnicodeDecodeError) as error:
        raise LedgerError(f"{path}: is no valid JSON ({error}); restore the file, or remove it to run again") from error
    if not isinstance(content, dict) or content.pop("format", FORMAT) != FORMAT:
        raise LedgerError(f"{path}: is not a record of format {FORMAT}; restore the file, or remove it to run again")
    return content


def read_record(path: Path, kind: type[Kept], upgrade: Callable[[dict[str, Any]], Any] = lambda found: found) -> Kept:
    """A record as an instance of its class, all of whose fields and settings are known.

    Args:
        path: of the file.
        kind: a dataclass.
        upgrade: brings the fields of older records into today's form.

    Returns:
        The record, with its path where the class has a field ``file``.
    """
    content = read_content(path)
    try:
        content = upgrade(content)
        record = msgspec.convert(content, kind)
        known = msgspec.to_builtins(record)
        unknown = [*(content.keys() - known.keys()), *(content["config"].keys() - known["config"].keys())]
        if unknown:
            raise msgspec.ValidationError(f"there is no '{min(unknown)}'")
    except (KeyError, msgspec.ValidationError) as error:
        raise LedgerError(f"{path}: is no {kind.__name__} ({error}); restore it, or remove it to run again") from error
    return replace(record, file=path) if hasattr(record, FILE) else record  # type: ignore[type-var]
