"""What a training on (n, l)-CSL graphs leaves behind: a record per run in a ledger, and a table of all."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, stdev

from lab.ledger import Ledger, LedgerError, read_record, run_jobs
from lab.provenance import Provenance, commit
from policylearn.demo.learning import METHODS, Evaluation, LearningConfig, LearningMethod, first_settled, learn
from policylearn.wording import markdown_table

HEADINGS = (
    "graphs",
    "method",
    "T",
    "accuracy",
    "coverage, argmax",
    "coverage, sampled",
    "seeds at 99 %",
    "steps to 99 %",
    "seconds to 99 %",
)


@dataclass(frozen=True)
class LearningRecord(Provenance):
    """One run: what was asked for, its evaluations in the order of steps, and with what they were made."""

    config: LearningConfig
    curve: tuple[Evaluation, ...]

    @property
    def reached(self) -> Evaluation | None:
        """Where the goal was reached to stay, see `first_settled`."""
        return first_settled(self.curve, self.config)


def open_ledger(folder: Path) -> Ledger:
    """The ledger of a folder of runs."""
    return Ledger(folder, LearningConfig())


def load_records(folder: Path) -> list[LearningRecord]:
    """All runs of a folder, by family of graphs, method and seed."""
    records = [read_record(path, LearningRecord) for path in sorted(folder.glob("csl-*.json"))]
    if not records:
        raise LedgerError(f"{folder}: holds no runs; make some with 'python -m lab theory learn -o {folder}'")

    def place(record: LearningRecord) -> tuple[int, int, int, int]:
        config = record.config
        return config.n, config.components, METHODS.index(config.method), config.seed

    return sorted(records, key=place)


def run_all(
    configs: Iterable[LearningConfig], folder: Path, after: Callable[[LearningConfig], None] = lambda _config: None
) -> list[LearningRecord]:
    """Make every run that has no record yet, each saved as soon as it has ended, and give all records."""
    wanted, ledger = list(configs), open_ledger(folder)
    source = commit()  # now, since a checkout may move on while the runs are made
    run_jobs(ledger, wanted, lambda one: LearningRecord(one, learn(one).curve, commit=source), wait=True, after=after)
    return [read_record(ledger.path(config), LearningRecord) for config in wanted]


def runs_of(records: Iterable[LearningRecord]) -> dict[tuple[int, int, LearningMethod], list[LearningRecord]]:
    """Records by family of graphs and method, in the order in which they come."""
    groups: dict[tuple[int, int, LearningMethod], list[LearningRecord]] = {}
    for record in records:
        config = record.config
        groups.setdefault((config.n, config.components, config.method), []).append(record)
    return groups


def learning_table(records: Iterable[LearningRecord]) -> str:
    """A row per method and family.

    Figures are those of the last evaluation; steps and seconds are those to the goal, over the runs that reached it
    and stayed there. Seconds are of the processor: those of the clock say more about what else the machine does.
    """
    rows: list[tuple[str, ...]] = []
    for (n, components, method), runs in runs_of(records).items():
        last = [run.curve[-1] for run in runs]
        reached = [point for run in runs if (point := run.reached) is not None]
        rows.append(
            (
                f"({n}, {components})",
                method,
                str({"none": 0, "full": n * components}.get(method, components)),
                percent([point.accuracy for point in last]),
                percent([point.coverage for point in last]),
                percent([point.sampled_coverage for point in last]),
                f"{len(reached)} of {len(runs)}",
                spread([point.step for point in reached]) or f"not in {runs[0].config.steps}",
                spread([point.cpu_seconds for point in reached]),
            )
        )
    return markdown_table(HEADINGS, rows)


def percent(shares: Sequence[float]) -> str:
    """Mean and standard deviation of shares, as percentages."""
    return f"{spread([100 * share for share in shares], 1)} %"


def spread(values: Sequence[float], digits: int = 0) -> str:
    """Mean and standard deviation; one value alone has no deviation, and none give nothing."""
    if not values:
        return ""
    return f"{fmean(values):.{digits}f}" + (f" ± {stdev(values):.{digits}f}" if len(values) > 1 else "")
