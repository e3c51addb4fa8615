"""Trainings on (n, l)-CSL graphs in one table: a row per method, mean and spread over the seeds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev

from lab.theory.records import LearningRecord, runs_of
from policylearn.demo.learning import LearningConfig
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
class Spread:
    """Mean and standard deviation over the seeds; one seed alone has no deviation."""

    mean: float
    deviation: float | None

    @staticmethod
    def of(values: Sequence[float]) -> Spread:
        """Of at least one value."""
        return Spread(fmean(values), stdev(values) if len(values) > 1 else None)

    def percent(self) -> str:
        """As a percentage."""
        return f"{100 * self.mean:.1f}{'' if self.deviation is None else f' ± {100 * self.deviation:.1f}'} %"

    def plain(self) -> str:
        """As it is."""
        return f"{self.mean:.0f}{'' if self.deviation is None else f' ± {self.deviation:.0f}'}"


@dataclass(frozen=True)
class Summary:
    """The runs of one method on one family of graphs; figures are those of the last evaluation.

    Args:
        config: the settings of the first run; the others differ in their seed.
        runs: how many.
        accuracy: on unseen graphs.
        coverage: by the best picks, or by the fixed draws of the random policy.
        sampled_coverage: by drawn picks.
        reached: how many runs reached the goal and stayed there, see `first_settled`.
        steps: to the goal, over the runs that reached it; None if none did.
        seconds: of the processor, likewise; those of the clock say more about what else the machine does.
    """

    config: LearningConfig
    runs: int
    accuracy: Spread
    coverage: Spread
    sampled_coverage: Spread
    reached: int
    steps: Spread | None
    seconds: Spread | None

    def cells(self) -> tuple[str, ...]:
        """In the order of `HEADINGS`."""
        config = self.config
        return (
            f"({config.n}, {config.components})",
            config.method,
            str(picks(config)),
            self.accuracy.percent(),
            self.coverage.percent(),
            self.sampled_coverage.percent(),
            f"{self.reached} of {self.runs}",
            f"not in {config.steps}" if self.steps is None else self.steps.plain(),
            "" if self.seconds is None else self.seconds.plain(),
        )


def picks(config: LearningConfig) -> int:
    """T, how many nodes a method marks."""
    return {"none": 0, "full": config.n * config.components}.get(config.method, config.components)


def summarise(records: Iterable[LearningRecord]) -> list[Summary]:
    """A summary per method and family."""
    summaries = []
    for runs in runs_of(records).values():
        last = [run.curve[-1] for run in runs]
        reached = [point for run in runs if (point := run.reached) is not None]
        summaries.append(
            Summary(
                config=runs[0].config,
                runs=len(runs),
                accuracy=Spread.of([point.accuracy for point in last]),
                coverage=Spread.of([point.coverage for point in last]),
                sampled_coverage=Spread.of([point.sampled_coverage for point in last]),
                reached=len(reached),
                steps=Spread.of([point.step for point in reached]) if reached else None,
                seconds=Spread.of([point.cpu_seconds for point in reached]) if reached else None,
            )
        )
    return summaries


def learning_table(summaries: Iterable[Summary]) -> str:
    """Summaries as a markdown table."""
    return markdown_table(HEADINGS, [summary.cells() for summary in summaries])
