"""Runs of comparisons that are cells of the paper's tables too: the same policy, data and number of picks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from lab.ledger import read_content, short_hash
from lab.reproduce.declaration import Cell, Experiment, Table
from lab.reproduce.records import Record, fields_of
from lab.settings import read_settings, selection_of

FOLDER = "compare"
"""Below the results; ``python -m lab compare`` puts its records there."""
COMPARE = "python -m lab compare"
SAME = (
    "metric", "higher_is_better", "valid", "test", "parameters", "dataset", "machine", "versions", "commit",
)  # fmt: skip
"""Fields that records of comparisons have too."""


def take_over(root: Path, tables: Sequence[Table]) -> list[Record]:
    """The records of comparisons that a cell asks for, each configuration once."""
    cells = cells_by_experiment(tables)
    found: dict[tuple[str, str], Record] = {}
    for path in sorted((root / FOLDER).glob("*/*/*.json")):
        if path.name.startswith("."):
            continue
        content = read_content(path)
        content["config"] = read_settings(content["config"])
        cell = cells.get(experiment_of(content["config"]))
        if cell is not None:
            kind = short_hash(content["config"]), content["dataset"]["fingerprint"]
            found.setdefault(kind, record_of(content, cell, path))
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


def record_of(content: dict[str, Any], cell: Cell, path: Path) -> Record:
    """A record of a comparison as one of a cell; the first ones were kept without a curve."""
    return Record(
        number=content["seed"],
        epochs=content["epochs"],
        schedule=None,
        best_epoch=content["best_epoch"],
        reported="valid",
        curve=content.get("curve", {}),
        seconds=content["cpu_seconds"],
        finished="",
        command=f"{COMPARE} lab/comparisons/{path.parents[1].name}.yaml",
        file=path,
        **fields_of(cell, content["config"]),
        **{key: content[key] for key in SAME},
    )
