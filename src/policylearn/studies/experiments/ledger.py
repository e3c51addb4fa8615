"""The results ledger: one small JSON a run, written once."""

from __future__ import annotations

import json
import os
import re
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from policylearn.data.atomic import replacing
from policylearn.studies.experiments.declaration import Experiment, Repeat
from policylearn.studies.experiments.plan import Job
from policylearn.studies.experiments.settings import differences

FORMAT = 1
RUNS = "runs"
PICTURES = "pictures"
NAMES = re.compile(r"(seed|fold|round)\d+-[0-9a-f]{8}\.json")
"""Of records; other files may lie beside them."""


class LedgerError(ValueError):
    """A record that cannot be read or may not be written; the message says why and what to do."""


@dataclass(frozen=True)
class Record:
    """One run, with all that is needed to judge and to repeat it.

    Args:
        experiment: what was run.
        repeat: over what it is repeated.
        number: which seed, fold or round.
        table: of the cell for which it was run; other tables may show it too.
        row: likewise.
        column: likewise.
        config: the whole configuration.
        changed: settings in which it departs from the paper's, by dotted name.
        mode: of the learned policy; None for others.
        estimator: likewise.
        epochs: how many were asked for.
        paper_epochs: how many the paper took.
        schedule: how the learning rate's steps were fitted to fewer epochs; None where they were not.
        metric: its name.
        higher_is_better: of the metric.
        best_epoch: by validation, counted from 0; None for times.
        valid: there; None for times.
        test: there, or the milliseconds.
        reported: the part whose curve a k-fold protocol reports.
        curve: an entry an epoch of ``epoch``, ``loss``, ``valid`` and, where it was looked at, ``test``.
        seconds: of the training over all sessions.
        parameters: weights of each network.
        dataset: name, fingerprint, caveat and number of graphs.
        machine: what it ran on.
        versions: of the packages.
        commit: of this code.
        finished: when, in UTC.
        command: what repeats it.
    """

    experiment: Experiment
    repeat: Repeat
    number: int
    table: str
    row: str
    column: str
    config: dict[str, Any]
    changed: dict[str, Any]
    mode: str | None
    estimator: str | None
    epochs: int
    paper_epochs: int
    schedule: str | None
    metric: str
    higher_is_better: bool
    best_epoch: int | None
    valid: float | None
    test: float
    reported: str
    curve: dict[str, list[float]]
    seconds: float
    parameters: dict[str, int]
    dataset: dict[str, Any]
    machine: dict[str, Any]
    versions: dict[str, str]
    commit: str
    finished: str
    command: str

    def to_text(self) -> str:
        """As JSON with a line a field, so that curves stay short and changes can be read."""
        content = {"format": FORMAT} | asdict(self)
        lines = [f"  {json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}" for key, value in content.items()]
        return "{\n" + ",\n".join(lines) + "\n}\n"


def read_record(path: Path) -> Record:
    """Read a record back."""
    try:
        content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise LedgerError(f"{path}: is no valid JSON ({error}); restore the file, or remove it to run again") from error
    if content.pop("format", None) != FORMAT:
        raise LedgerError(f"{path}: is not a record of format {FORMAT}; restore the file, or remove it to run again")
    wanted = {field.name for field in fields(Record)}
    if wanted != content.keys():
        odd = ", ".join(sorted(wanted ^ content.keys()))
        raise LedgerError(f"{path}: lacks or has too much of {odd}; restore the file, or remove it to run again")
    experiment = content["experiment"]
    settings = tuple((key, value) for key, value in experiment.pop("settings"))
    return Record(**content | {"experiment": Experiment(**experiment, settings=settings)})


@dataclass(frozen=True)
class Ledger:
    """All records below a folder: ``<root>/<dataset>/<experiment>/<repeat><number>-<hash>.json``."""

    root: Path

    def path(self, job: Job) -> Path:
        """Where a job's record goes."""
        return self.root / folder_of(job.experiment) / f"{job.name}.json"

    def run_folder(self, job: Job) -> Path:
        """Where a job's weights and checkpoints go, which are not part of the ledger."""
        return self.root / RUNS / folder_of(job.experiment) / job.name

    def records(self) -> list[Record]:
        """All of them, in the order of their paths."""
        return [read_record(path) for path in sorted(self.root.glob("*/*/*.json")) if NAMES.fullmatch(path.name)]

    def find(self, job: Job) -> Path | None:
        """The record of a job, None if it has not been run.

        Configurations are compared and not names: a setting that did not exist when a record was written has its
        default there.
        """
        for path in sorted((self.root / folder_of(job.experiment)).glob("*.json")):
            if not NAMES.fullmatch(path.name):
                continue
            record = read_record(path)
            same = record.experiment == job.experiment and record.number == job.repeat
            if same and not differences(record.config, job.config):
                return path
        return None

    def add(self, record: Record, path: Path) -> Path:
        """Write a record, whole or not at all, and never over another."""
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.parent / f".{path.name}.{os.getpid()}.part"
        try:
            with replacing(part) as inner:
                inner.write_text(record.to_text(), encoding="utf-8")
            os.link(part, path)
        except FileExistsError:
            raise LedgerError(f"{path}: is there already, and records are not overwritten; remove it first") from None
        finally:
            part.unlink(missing_ok=True)
        return path


def folder_of(experiment: Experiment) -> Path:
    """An experiment's folder below the ledger's root; of a dataset that is a path, its last part is taken."""
    return Path(Path(experiment.dataset).stem) / experiment.slug
