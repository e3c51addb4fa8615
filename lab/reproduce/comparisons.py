"""Runs of comparisons that are cells of the paper's tables too: the same policy, data and number of picks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from lab.ledger import read_record
from lab.reproduce.declaration import Cell, Experiment, Table
from lab.reproduce.records import SHOWN_APART, Record
from policylearn.settings.flat import differences, short_hash
from policylearn.settings.run_config import POLICY, RunConfig

FOLDER = "compare"
"""Below the results; ``python -m lab compare`` puts its records there."""


def take_over(root: Path, tables: Sequence[Table]) -> list[Record]:
    """The records of comparisons that a cell asks for, each configuration once.

    Args:
        root: the folder of all results.
        tables: whose cells.
    """
    cells = cells_by_experiment(tables)
    found: dict[tuple[str, str], Record] = {}
    for path in sorted((root / FOLDER).glob("*/*/*.json")):
        if path.name.startswith("."):
            continue
        content = read_record(path, lambda fields: fields)
        cell = cells.get(experiment_of(content["config"]))
        if cell is not None:
            kind = short_hash(content["config"]), content["dataset"]["fingerprint"]
            found.setdefault(kind, record_of(content, cell, path.parents[1].name))
    return list(found.values())


def cells_by_experiment(tables: Iterable[Table]) -> dict[Experiment, Cell]:
    """The first cell of each experiment that is repeated over seeds; a comparison knows no folds."""
    found: dict[Experiment, Cell] = {}
    for cell in (cell for table in tables for cell in table.cells()):
        if cell.column.protocol.repeat == "seed" and cell.column.measure == "metric":
            found.setdefault(cell.experiment, cell)
    return found


def experiment_of(config: dict[str, Any]) -> Experiment:
    """What a configuration trains, in the words of the tables."""
    policy = config["selection"]
    if config["model"] != POLICY:
        return Experiment(config["data"]["name"], "", model=config["model"])
    return Experiment(config["data"]["name"], policy["name"], policy["picks"])


def record_of(content: dict[str, Any], cell: Cell, comparison: str) -> Record:
    """A record of a comparison as one of a cell; the first ones were kept without a curve."""
    experiment, config = cell.experiment, content["config"]
    paper, policy = experiment.config(), config["selection"]
    changed = differences(config, paper, RunConfig())
    return Record(
        experiment=experiment,
        repeat="seed",
        number=content["seed"],
        table=cell.table,
        row=cell.row.slug,
        column=cell.column.slug,
        config=config,
        changed={key: value for key, value in changed.items() if key not in SHOWN_APART},
        mode=policy["mode"] if experiment.learns else None,
        estimator=policy["estimator"] if experiment.learns else None,
        epochs=content["epochs"],
        paper_epochs=paper.fit.epochs,
        schedule=None,
        metric=content["metric"],
        higher_is_better=content["higher_is_better"],
        best_epoch=content["best_epoch"],
        valid=content["valid"],
        test=content["test"],
        reported="valid",
        curve=content.get("curve", {}),
        seconds=content["cpu_seconds"],
        parameters=content["parameters"],
        dataset=content["dataset"],
        machine=content["machine"],
        versions=content["versions"],
        commit=content["commit"],
        finished="",
        command=f"python -m lab compare lab/comparisons/{comparison}.yaml",
    )
