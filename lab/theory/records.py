"""What a training on (n, l)-CSL graphs leaves behind: one record per run in a ledger."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from lab.ledger import Ledger, LedgerError, read_content, run_jobs
from policylearn.demo.learning import METHODS, Evaluation, LearningConfig, LearningMethod, first_settled, learn
from policylearn.settings.provenance import commit, describe_machine, versions

StepListener = Callable[[LearningConfig, int, float, Evaluation | None], None]
Kind = TypeVar("Kind")


@dataclass(frozen=True)
class LearningRecord:
    """One run: what was asked for, what was measured, and with what.

    Args:
        config: the settings.
        curve: the evaluations, in the order of steps.
        machine: what it ran on; one line in records of version 0.1.
        versions: of the packages.
        commit: of the source; None in records of version 0.1 that were made outside a checkout.
    """

    config: LearningConfig
    curve: tuple[Evaluation, ...]
    machine: dict[str, Any] | str = field(default_factory=describe_machine)
    versions: dict[str, str] = field(default_factory=versions)
    commit: str | None = field(default_factory=commit)

    @property
    def reached(self) -> Evaluation | None:
        """Where the goal was reached to stay, see `first_settled`."""
        return first_settled(self.curve, self.config)


def read_as(path: Path, kind: type[Kind]) -> Kind:
    """A record of a ledger, as an instance of its class, all of whose settings are known."""
    content = read_content(path)
    try:
        record = msgspec.convert(content, kind)
        unknown = content["config"].keys() - msgspec.to_builtins(record)["config"].keys()
        if unknown:
            raise msgspec.ValidationError(f"there is no setting '{min(unknown)}'")
    except msgspec.ValidationError as error:
        raise LedgerError(f"{path}: is no {kind.__name__} ({error}); restore it, or remove it to run again") from error
    return record


def open_ledger(folder: Path) -> Ledger:
    """The ledger of a folder of runs."""
    return Ledger(folder, LearningConfig())


def load_records(folder: Path) -> list[LearningRecord]:
    """All runs of a folder, by family of graphs, method and seed."""
    records = [read_as(path, LearningRecord) for path in sorted(folder.glob("csl-*.json"))]
    if not records:
        raise LedgerError(f"{folder}: holds no runs; make some with 'python -m lab theory learn -o {folder}'")

    def place(record: LearningRecord) -> tuple[int, int, int, int]:
        config = record.config
        return config.n, config.components, METHODS.index(config.method), config.seed

    return sorted(records, key=place)


def run_all(
    configs: Iterable[LearningConfig], folder: Path, report: StepListener | None = None
) -> list[LearningRecord]:
    """Make every run that has no record yet, each saved as soon as it has ended, and give all records.

    Args:
        configs: the runs.
        folder: where the records are.
        report: told of each step of each run.
    """
    wanted, ledger = list(configs), open_ledger(folder)
    source = commit()  # now, since a checkout may move on while the runs are made

    def perform(config: LearningConfig) -> LearningRecord:
        tell = None if report is None else lambda step, loss, newest: report(config, step, loss, newest)
        return LearningRecord(config, learn(config, tell).curve, commit=source)

    run_jobs(ledger, wanted, perform, wait=True)
    return [read_as(ledger.path(config), LearningRecord) for config in wanted]


def runs_of(records: Iterable[LearningRecord]) -> dict[tuple[int, int, LearningMethod], list[LearningRecord]]:
    """Records by family of graphs and method, in the order in which they come."""
    groups: dict[tuple[int, int, LearningMethod], list[LearningRecord]] = {}
    for record in records:
        config = record.config
        groups.setdefault((config.n, config.components, config.method), []).append(record)
    return groups
