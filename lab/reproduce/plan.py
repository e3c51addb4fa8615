"""From a table and a wish to the runs that are needed, in the order in which they are worth most."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from lab.ledger import short_hash
from lab.reproduce.declaration import ABSENT, Cell, Table
from lab.reproduce.wish import Wish
from lab.settings import settings_of
from policylearn.models import complete
from policylearn.settings import ConfigError, RunConfig, changed, with_setting
from policylearn.settings.flat import differences
from policylearn.settings.schema import nested
from policylearn.wording import hint, write_value

REPEATED = ("fit.seed", "data.fold")
"""What differs between the repeats of an experiment."""
ESTIMATOR = "selection.estimator"


@dataclass(frozen=True)
class Job:
    """One run.

    Args:
        schedule: how the learning rate's steps were fitted to fewer epochs; None where they were not.
    """

    cell: Cell
    repeat: int
    config: RunConfig
    schedule: str | None = None

    @property
    def name(self) -> str:
        """Of its record and run folder; another configuration has another name."""
        return f"{self.cell.column.protocol.repeat}{self.repeat}-{short_hash(self.settings)}"

    @property
    def record(self) -> str:
        """Where its record goes; of a dataset that is a path, the last part is taken."""
        return f"{Path(self.cell.experiment.dataset).stem}/{self.cell.experiment.slug}/{self.name}"

    @property
    def settings(self) -> dict[str, Any]:
        """What makes it what it is."""
        return settings_of(self.config)

    @property
    def title(self) -> str:
        """For people."""
        return f"{self.cell.column.slug} {self.cell.row.title} {self.cell.column.protocol.repeat} {self.repeat}"


def plan(table: Table, wish: Wish) -> list[Job]:
    """All runs of the wish: the first repeat of every cell, then the second of every cell, and so on."""
    taken: set[str] = set()
    jobs: list[Job] = []
    for cell in choose(table, wish):
        for estimator in (wish.estimators if cell.experiment.learns else ()) or (None,):
            jobs += jobs_of(cell, wish, estimator, taken)
    for key, value in wish.settings.items():
        if jobs and key not in taken:  # no row's model has it; the first one says what is wrong
            complete(with_setting(jobs[-1].cell.experiment.config(), key, value))
    return sorted(jobs, key=lambda job: job.repeat)  # a stable sort keeps the cells' order


def choose(table: Table, wish: Wish) -> list[Cell]:
    """The cells that the wish names; those that the paper could not run, only where their row is named."""
    for words, known, kind in (
        (wish.rows, [row.slug for row in table.all_rows], "row"),
        (wish.columns, [column.slug for column in table.columns], "column"),
    ):
        for word in words:
            if not any(fnmatchcase(name, word) for name in known):
                way_out = hint(word, known, f"there are {', '.join(known)}")
                raise ValueError(f"table '{table.name}' has no {kind} '{word}'; {way_out}")

    def named(slug: str, words: Iterable[str]) -> bool:
        return not words or any(fnmatchcase(slug, word) for word in words)

    return [
        cell
        for cell in table.cells()
        if named(cell.row.slug, wish.rows)
        and named(cell.column.slug, wish.columns)
        and (cell.printed.text not in ABSENT or cell.row.slug in wish.rows)
    ]


def jobs_of(cell: Cell, wish: Wish, estimator: str | None, taken: set[str]) -> Iterator[Job]:
    """The runs of one cell; settings that it has are added to ``taken``."""
    paper = cell.experiment.config()
    config, schedule = shortened(paper, wish)
    of_run = {key: value for key, value in wish.settings.items() if is_of_run(key)}
    config = changed(config, nested(of_run), "--set")
    if estimator is not None:
        config = with_setting(config, ESTIMATOR, estimator)
    complete(config)  # says what is wrong before hours are spent
    for key, value in wish.settings.items():
        try:
            candidate = config if key in of_run else with_setting(config, key, value)
            complete(candidate)
        except ConfigError:  # this row's model does not have it; another's may
            continue
        config = candidate
        taken.add(key)
    protocol = cell.column.protocol
    varied = "data.fold" if protocol.repeat == "fold" else "fit.seed"
    for number in repeats(protocol.count, wish, protocol.repeat):
        yield Job(cell, number, with_setting(config, varied, number), schedule)


def is_of_run(key: str) -> bool:
    """Whether every run has a setting, whatever its model."""
    group = key.split(".")[0]
    return group in RunConfig.__struct_fields__ and group != "system"


def repeats(count: int, wish: Wish, kind: str) -> Sequence[int]:
    """Which seeds, folds or rounds."""
    if wish.seeds is not None and wish.seeds < 1:
        raise ValueError(f"--seeds must be >= 1 (got {wish.seeds}); leave it out for the protocol's number")
    most = count if kind == "fold" else None
    chosen = wish.only or range(count if wish.seeds is None else wish.seeds if most is None else min(wish.seeds, most))
    bad = [number for number in chosen if number < 0 or (most is not None and number >= most)]
    if bad:
        raise ValueError(f"--only: there is no {kind} {bad[0]}; choose from 0 to {count - 1}")
    return chosen


def shortened(paper: RunConfig, wish: Wish) -> tuple[RunConfig, str | None]:
    """The paper's settings for the number of epochs that is wished for, and what was done to the schedule."""
    if wish.epochs is None:
        return paper, None
    if wish.epochs < 1:
        raise ValueError(f"--epochs must be >= 1 (got {wish.epochs})")
    config, share = with_setting(paper, "fit.epochs", wish.epochs), wish.epochs / paper.fit.epochs
    by_milestones = paper.optim.schedule == "milestones"
    key = "optim.milestones" if by_milestones else "optim.decay_every"
    before = paper.optim.milestones if by_milestones else (paper.optim.decay_every,)
    if share >= 1 or key in wish.settings or not any(before):
        return config, None
    after = [max(1, round(epochs * share)) for epochs in before]
    told = f"at epochs {after} instead of {list(before)}"
    if not by_milestones:
        told = f"every {after[0]} epochs instead of {before[0]}"
    shorter = with_setting(config, key, after if by_milestones else after[0])
    return shorter, f"learning rate decayed {told}, in proportion to the epochs"


def command_of(cell: Cell, settings: Mapping[str, Any], numbers: Sequence[int]) -> str:
    """The command that repeats the runs of these seeds, folds or rounds."""
    paper, epochs = cell.experiment.config(), int(settings["fit"]["epochs"])
    words = ["python -m lab reproduce", cell.table, "--columns", cell.column.slug, "--rows", cell.row.slug]
    words += ["--only", *map(str, numbers)]
    words += [] if epochs == paper.fit.epochs else ["--epochs", str(epochs)]
    base, _ = shortened(paper, Wish(epochs=epochs))
    changes = {key: ours for key, (ours, _) in differences(settings, settings_of(base)).items() if ours is not None}
    given = {key: value for key, value in changes.items() if key not in REPEATED}
    words += ["--estimator", given.pop(ESTIMATOR)] if ESTIMATOR in given else []
    told = [shlex.quote(f"{key}={write_value(value)}") for key, value in given.items()]
    return " ".join([*words, *(["--set", *told] if told else [])])
