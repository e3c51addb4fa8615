"""Picks per graph against accuracy, for runs that may stop early: one training, many thresholds.

Run with ``python -m benchmarks.early_stops RUN...`` from where the runs' data lies, with runs that were trained with
``selection.stop_below``. The threshold plays no part in training, so each run is evaluated again with every one of
them. Differences to making all picks are paired by run, in favour of stopping where positive.
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks.machine import keep
from policylearn.settings import with_setting
from policylearn.studies.compare.summary import standard_error
from policylearn.training.reevaluation import SplitPart, reevaluate
from policylearn.training.runs import Run, load_run

ALL_PICKS = -1e9
THRESHOLDS = (ALL_PICKS, -0.05, -0.02, -0.01, 0.0, 0.01, 0.02, 0.05, 0.1, 1e9)
PARTS: tuple[SplitPart, ...] = ("valid", "test")
CONSOLE = Console(width=110)


@dataclass(frozen=True)
class StoppedScore:
    """A run on a part of its data with a threshold."""

    data: str
    run: str
    part: str
    stop_below: float
    picks: float
    metric: str
    higher_is_better: bool
    value: float


def scores_of(run: Run) -> Iterator[StoppedScore]:
    """A run with every threshold."""
    for part in PARTS:
        for threshold in THRESHOLDS:
            other = dataclasses.replace(run, config=with_setting(run.config, "selection.stop_below", threshold))
            found = reevaluate(other, part=part)
            if found.picks is None:
                raise SystemExit(f"{run.folder}: was not trained with selection.stop_below, and never stops early")
            yield StoppedScore(
                run.folder.parent.name, run.folder.name, part, threshold, found.picks, found.metric,
                run.facts.task.higher_is_better, found.value,
            )  # fmt: skip


def add_rows(table: Table, scores: Sequence[StoppedScore]) -> None:
    """A row per dataset, part and threshold."""
    for data, part, threshold in dict.fromkeys((one.data, one.part, one.stop_below) for one in scores):
        own = [one for one in scores if (one.data, one.part) == (data, part)]
        base = {one.run: one.value for one in own if one.stop_below == ALL_PICKS}
        sign = 1 if own[0].higher_is_better else -1
        own = [one for one in own if one.stop_below == threshold]
        gains = np.array([sign * (one.value - base[one.run]) for one in own])
        label = {ALL_PICKS: "all picks", 1e9: "no picks"}.get(threshold, f"{threshold:g}")
        table.add_row(
            data, part, label, str(len(own)), f"{np.mean([one.picks for one in own]):.2f}",
            f"{np.mean([one.value for one in own]):.4f} {own[0].metric}",
            f"{gains.mean():+.4f} ± {standard_error(gains):.4f}",
        )  # fmt: skip


def main() -> None:
    """Evaluate the runs that are finished, print and keep."""
    folders = [Path(word) for word in sys.argv[1:]]
    finished = [folder for folder in folders if (folder / "metrics.json").is_file()]
    scores = [one for folder in finished for one in scores_of(load_run(folder))]
    if not scores:
        raise SystemExit("usage: python -m benchmarks.early_stops RUN...   (finished runs with selection.stop_below)")
    table = Table("data", "part", "stop below", "runs", "picks per graph", "metric", "better than all picks by")
    add_rows(table, scores)
    CONSOLE.print(table)
    CONSOLE.print(str(keep("early_stops", {"scores": [asdict(one) for one in scores]})))


if __name__ == "__main__":
    main()
