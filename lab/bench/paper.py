"""The paper's GPU times beside ours: ratios between methods, since a GPU and a CPU share no clock."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from lab.bench.cases import CASES, Phase
from lab.bench.record import BenchReport, paired_ratio
from lab.bench.systems import SYSTEM
from lab.reproduce import TABLES
from lab.reproduce.declaration import Column, Measure, PaperRow, Printed, Table
from policylearn.settings.run_config import POLICY

PHASES: dict[Measure, tuple[Phase, bool]] = {
    "train_ms": ("train", False),
    "test_ms": ("infer", False),
    "test_ms_deterministic": ("infer", True),
}
"""What the columns of the paper's timing tables are here: the phase, and whether algorithms were deterministic."""
BASES = ("random-t2", "none")
"""Which case's time is the unit: the first that a table has."""


@dataclass(frozen=True)
class MethodRatio:
    """One method's time over another's on the same data.

    Args:
        table: of the paper.
        dataset: by name.
        phase: training or inference.
        deterministic: under torch's deterministic algorithms.
        case: whose time.
        base: in units of whose time.
        paper: by the paper's GPU times.
        ours: by ours, of the benchmark or of the table of systems; None if one of the two was not measured.
        replicated: by those of the replicated model; likewise.
    """

    table: str
    dataset: str
    phase: Phase
    deterministic: bool
    case: str
    base: str
    paper: float
    ours: float | None
    replicated: float | None


def method_ratios(report: BenchReport) -> list[MethodRatio]:
    """Every pair of the paper's timing tables of which a figure of ours exists."""
    found = [ratio for table in TABLES for column in table.columns for ratio in _of_column(table, column, report)]
    return [ratio for ratio in found if ratio.ours is not None or ratio.replicated is not None]


def _of_column(table: Table, column: Column, report: BenchReport) -> Iterator[MethodRatio]:
    if column.measure not in PHASES:
        return
    phase, deterministic = PHASES[column.measure]
    at = table.columns.index(column)
    printed: dict[str, Printed] = {}
    for row in table.rows:
        case = case_of(row)
        if case is not None:
            printed[case] = row.cells[at]
    base = next((name for name in BASES if name in printed), None)
    unit = printed[base].mean if base else None
    if base is None or unit is None:
        return
    for case, cell in printed.items():
        if case != base and cell.mean is not None:
            where = (column.dataset, phase, deterministic)
            usual, of_systems, replicated = (
                ratio_between(report, *where, case, base, contender) for contender in ("ours", SYSTEM, "replicated")
            )
            ours = of_systems if usual is None else usual
            yield MethodRatio(table.name, *where, case, base, cell.mean / unit, ours, replicated)


def case_of(row: PaperRow) -> str | None:
    """The case that a row of the paper's tables stands for, a system's own name; None if it is none of ours."""
    if row.method.model != POLICY:
        return row.method.model
    for case in CASES.values():
        if row.method.policy == case.policy and (row.picks or 0) == case.picks:
            return case.name
    return None


def ratio_between(
    report: BenchReport, dataset: str, phase: str, deterministic: bool, case: str, base: str, contender: str
) -> float | None:
    """One case's time over another's with the same contender; a learned policy is trained as the paper does it."""
    times = []
    for name in (case, base):
        learns = name in CASES and CASES[name].learns and phase == "train" and contender == "ours"
        estimator = "straight_through" if learns else None
        timing = report.find(dataset, name, phase, contender, estimator=estimator, deterministic=deterministic)
        if timing is None or not timing.ms:
            return None
        times.append(timing.ms)
    return paired_ratio(*times)
