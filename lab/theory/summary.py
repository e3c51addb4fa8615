"""Trainings on (n, l)-CSL graphs in one table: a row per method, mean and spread over the seeds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import fmean, stdev

from lab.theory.records import LearningRecord, runs_of
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


def learning_table(records: Iterable[LearningRecord]) -> str:
    """Runs as a markdown table."""
    return markdown_table(HEADINGS, learning_rows(records))


def learning_rows(records: Iterable[LearningRecord]) -> list[tuple[str, ...]]:
    """A row per method and family, in the order of `HEADINGS`.

    Figures are those of the last evaluation; steps and seconds are those to the goal, over the runs that reached it
    and stayed there. Seconds are of the processor: those of the clock say more about what else the machine does.
    """
    rows: list[tuple[str, ...]] = []
    for (n, components, method), runs in runs_of(records).items():
        last = [run.curve[-1] for run in runs]
        reached = [point for run in runs if (point := run.reached) is not None]
        steps = spread([point.step for point in reached])
        picks = {"none": 0, "full": n * components}.get(method, components)
        rows.append(
            (
                f"({n}, {components})",
                method,
                str(picks),
                percent([point.accuracy for point in last]),
                percent([point.coverage for point in last]),
                percent([point.sampled_coverage for point in last]),
                f"{len(reached)} of {len(runs)}",
                steps or f"not in {runs[0].config.steps}",
                spread([point.cpu_seconds for point in reached]),
            )
        )
    return rows


def percent(shares: Sequence[float]) -> str:
    """Mean and standard deviation of shares, as percentages."""
    return f"{spread([100 * share for share in shares], 1)} %"


def spread(values: Sequence[float], digits: int = 0) -> str:
    """Mean and standard deviation; one value alone has no deviation, and none give nothing."""
    if not values:
        return ""
    return f"{fmean(values):.{digits}f}" + (f" ± {stdev(values):.{digits}f}" if len(values) > 1 else "")
