"""What averaging over drawn bags adds to taking the best nodes, on finished runs.

Run with ``python -m benchmarks.drawn_bags RUN...`` from where the runs' data lies. Each run is evaluated again with its
best nodes and with M drawn bags; differences are paired by run, in favour of draws where positive. Nothing is trained
and nothing is chosen: every M that was tried is shown.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks.machine import keep
from policylearn.studies.compare.summary import standard_error
from policylearn.training.reevaluation import SplitPart, reevaluate
from policylearn.training.runs import Run, load_run

DRAWS = (2, 4, 16)
PARTS: tuple[SplitPart, ...] = ("valid", "test")
CONSOLE = Console(width=110)


@dataclass(frozen=True)
class DrawnScore:
    """A run on a part of its data with some number of draws; 1 is its best nodes."""

    data: str
    policy: str
    run: str
    part: str
    draws: int
    metric: str
    higher_is_better: bool
    value: float


def scores_of(run: Run) -> Iterator[DrawnScore]:
    """A run with its best nodes and with every number of draws."""
    selection, task = run.config.selection, run.facts.task
    policy = selection.estimator if selection.name == "learned" else selection.name
    for part in PARTS:
        for draws in (1, *DRAWS):
            found = reevaluate(run, part=part, draws=draws)
            yield DrawnScore(
                run.folder.parent.name, policy + (", shared" if selection.shared else ""), run.folder.name, part, draws,
                found.metric, task.higher_is_better, found.value,
            )  # fmt: skip


def add_rows(table: Table, scores: Sequence[DrawnScore]) -> None:
    """A row per dataset, policy and part: the best nodes, and the paired gain of each number of draws."""
    for data, policy, part in dict.fromkeys((one.data, one.policy, one.part) for one in scores):
        own = [one for one in scores if (one.data, one.policy, one.part) == (data, policy, part)]
        base = {one.run: one.value for one in own if one.draws == 1}
        sign = 1 if own[0].higher_is_better else -1
        cells = []
        for draws in DRAWS:
            gains = np.array([sign * (one.value - base[one.run]) for one in own if one.draws == draws])
            cells.append(f"{gains.mean():+.4f} ± {standard_error(gains):.4f}")
        best = f"{np.mean(list(base.values())):.4f} {own[0].metric}"
        table.add_row(data, policy, part, str(len(base)), best, *cells)


def main() -> None:
    """Evaluate the runs that are finished, print and keep."""
    folders = [Path(word) for word in sys.argv[1:]]
    finished = [folder for folder in folders if (folder / "metrics.json").is_file()]
    scores = [one for folder in finished for one in scores_of(load_run(folder))]
    if not scores:
        raise SystemExit("usage: python -m benchmarks.drawn_bags RUN...   (finished runs of a policy that draws)")
    table = Table("data", "how picks learn", "part", "runs", "best nodes", *(f"{draws} draws" for draws in DRAWS))
    add_rows(table, scores)
    CONSOLE.print(table)
    CONSOLE.print(str(keep("drawn_bags", {"scores": [asdict(one) for one in scores]})))


if __name__ == "__main__":
    main()
