"""Runs of comparisons that are cells of the paper's tables too: the same policy, data and number of picks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from lab.compare.runner import CompareRecord
from lab.ledger import read_record, short_hash
from lab.reproduce.declaration import Cell, Experiment, Table
from lab.reproduce.records import Record, fields_of
from lab.run_record import RunRecord
from lab.settings import read_settings, selection_of

FOLDER = "compare"
"""Below the results; ``python -m lab compare`` puts its records there."""
COMPARE = "python -m lab compare"


def take_over(root: Path, tables: Sequence[Table]) -> list[Record]:
    """The records of comparisons that a cell asks for, each configuration once."""
    cells = cells_by_experiment(tables)
    found: dict[tuple[str, str], Record] = {}
    for path in sorted((root / FOLDER).glob("*/*/*.json")):
        record = read_record(path, CompareRecord)
        settings = read_settings(record.config)
        cell = cells.get(experiment_of(settings))
        if cell is not None:
            kind = short_hash(settings), record.dataset["fingerprint"]
            found.setdefault(kind, record_of(record, cell, settings))
    return list(found.values())


def cells_by_experiment(tables: Iterable[Table]) -> dict[Experiment, Cell]:
    """The first cell of each experiment that is repeated over seeds; a comparison knows no folds."""
    found: dict[Experiment, Cell] = {}
    for cell in (cell for table in tables for cell in table.cells()):
        if cell.column.protocol.repeat == "seed" and cell.column.measure == "metric":
            found.setdefault(cell.experiment, cell)
    return found


def experiment_of(settings: dict[str, Any]) -> Experiment:
    """What a run trains, in the words of the tables."""
    policy, data = selection_of(settings), settings["data"]["name"]
    if not policy:
        return Experiment(data, "", model=settings["model"])
    return Experiment(data, policy["name"], policy.get("picks", 0))


def record_of(record: CompareRecord, cell: Cell, settings: dict[str, Any]) -> Record:
    """A record of a comparison as one of a cell, with its settings in today's form."""
    assert record.file is not None, "it was read"
    shared = {one.name: getattr(record, one.name) for one in fields(RunRecord) if one.name != "config"}
    return Record(
        number=record.seed,
        schedule=None,
        reported="valid",
        seconds=record.cpu_seconds,
        finished="",
        command=f"{COMPARE} lab/comparisons/{record.file.parents[1].name}.yaml",
        **fields_of(cell, settings),
        **shared,
    )
