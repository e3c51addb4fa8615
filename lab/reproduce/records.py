"""The record of one run of the paper's tables, and the ledger that holds them all."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lab.ledger import Ledger, read_record
from lab.reproduce.declaration import Cell, Experiment, Repeat
from lab.reproduce.plan import ESTIMATOR, REPEATED, Job
from lab.run_record import RunRecord
from lab.settings import read_settings, selection_of, settings_of
from policylearn.settings.flat import differences

RUNS = "runs"
NAMES = re.compile(r"(seed|fold|round)\d+-[0-9a-f]{8}\.json")
"""Of records; other files may lie beside them."""
SHOWN_APART = (*REPEATED, "fit.epochs", ESTIMATOR, "selection.mode")
"""Settings that have fields of their own in a record."""


@dataclass(frozen=True, kw_only=True)
class Record(RunRecord):
    """One run, with all that is needed to judge and to repeat it; its configuration is in today's form.

    Args:
        table: of the cell for which it was run; other tables may show it too.
        changed: settings in which it departs from the paper's, by dotted name.
        schedule: how the learning rate's steps were fitted to fewer epochs; None where they were not.
        reported: the part whose curve a k-fold protocol reports.
        seconds: of the training over all sessions.
    """

    experiment: Experiment
    repeat: Repeat
    number: int
    table: str
    row: str
    column: str
    changed: dict[str, Any]
    mode: str | None
    estimator: str | None
    paper_epochs: int
    schedule: str | None
    reported: str
    seconds: float
    finished: str
    command: str


def upgrade(content: dict[str, Any]) -> dict[str, Any]:
    """The fields of a record in today's form."""
    if content["experiment"].get("model") == "policy":  # its name in older records
        del content["experiment"]["model"]
    return content | {"config": read_settings(content["config"])}


def fields_of(cell: Cell, settings: dict[str, Any]) -> dict[str, Any]:
    """The fields of a record that follow from what was run for which cell."""
    policy, paper = selection_of(settings), cell.experiment.config()
    changes = differences(settings, settings_of(paper)).items()
    return {
        "experiment": cell.experiment,
        "repeat": cell.column.protocol.repeat,
        "table": cell.table,
        "row": cell.row.slug,
        "column": cell.column.slug,
        "config": settings,
        "changed": {key: ours for key, (ours, _) in changes if key not in SHOWN_APART},
        "mode": policy.get("mode"),
        "estimator": policy.get("estimator"),
        "paper_epochs": paper.fit.epochs,
    }


def load_records(ledger: Ledger) -> list[Record]:
    """All records, in the order of their paths."""
    paths = sorted(path for path in ledger.root.glob("*/*/*.json") if NAMES.fullmatch(path.name))
    return [read_record(path, Record, upgrade) for path in paths]


def run_folder(ledger: Ledger, job: Job) -> Path:
    """Where a job's weights and checkpoints go, which are not part of the ledger."""
    return ledger.root / RUNS / job.record
