"""From a table and a wish to the runs that are needed, in the order in which they are worth most."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from lab.reproduce.declaration import ABSENT, Cell, Experiment, Repeat, Table
from policylearn.settings import RunConfig, with_setting
from policylearn.settings.choices import LEARNING
from policylearn.settings.flat import OF_LEARNED, OF_POLICIES, flat, plain, short_hash
from policylearn.settings.run_config import POLICY
from policylearn.wording import hint, write_value

"""Settings of the selection that only the learned policy has; other rows of the same command go without them."""


@dataclass(frozen=True)
class Wish:
    """Which part of a table to run, and how.

    Args:
        rows: slugs or patterns such as ``learned*``; empty takes all that the paper has a figure for.
        columns: likewise.
        seeds: how many seeds, folds or rounds; None takes the protocol's number.
        only: these alone.
        epochs: None takes the paper's.
        settings: what to change, by dotted name.
        estimators: of the learned policy; empty takes the settings' own.
    """

    rows: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    seeds: int | None = None
    only: tuple[int, ...] = ()
    epochs: int | None = None
    settings: dict[str, Any] = field(default_factory=dict)
    estimators: tuple[str, ...] = ()


@dataclass(frozen=True)
class Job:
    """One run.

    Args:
        cell: for which figure.
        experiment: what is run.
        repeat: which seed, fold or round.
        config: the whole run.
        paper: the paper's own settings, to compare with.
        schedule: how the learning rate's steps were fitted to fewer epochs; None where they were not.
    """

    cell: Cell
    experiment: Experiment
    repeat: int
    config: RunConfig
    paper: RunConfig
    schedule: str | None = None

    @property
    def name(self) -> str:
        """Of its record and run folder; another configuration has another name."""
        return f"{self.cell.column.protocol.repeat}{self.repeat}-{short_hash(self.config)}"

    @property
    def record(self) -> str:
        """Where its record goes; of a dataset that is a path, the last part is taken."""
        return f"{Path(self.experiment.dataset).stem}/{self.experiment.slug}/{self.name}"

    @property
    def settings(self) -> dict[str, Any]:
        """What makes it what it is."""
        return plain(self.config)

    @property
    def title(self) -> str:
        """For people."""
        return f"{self.cell.column.slug} {self.cell.row.title} {self.cell.column.protocol.repeat} {self.repeat}"


def plan(table: Table, wish: Wish) -> list[Job]:
    """All runs of the wish: the first repeat of every cell, then the second of every cell, and so on."""
    cells = choose(table, wish)
    jobs = [
        job
        for cell in cells
        for estimator in (wish.estimators if cell.row.method.policy in LEARNING and wish.estimators else (None,))
        for job in jobs_of(cell, wish, estimator)
    ]
    return sorted(jobs, key=lambda job: job.repeat)  # a stable sort keeps the cells' order


def choose(table: Table, wish: Wish) -> list[Cell]:
    """The cells that the wish names; those that the paper could not run, only where their row is named."""
    for words, known, kind in (
        (wish.rows, [row.slug for row in table.all_rows], "row"),
        (wish.columns, [column.slug for column in table.columns], "column"),
    ):
        for word in words:
            if not matching(word, known):
                way_out = hint(word, known, f"there are {', '.join(known)}")
                raise ValueError(f"table '{table.name}' has no {kind} '{word}'; {way_out}")
    chosen = []
    for cell in table.cells():
        named = any(fnmatchcase(cell.row.slug, word) for word in wish.rows)
        if wish.columns and not any(fnmatchcase(cell.column.slug, word) for word in wish.columns):
            continue
        if wish.rows and not named:
            continue
        if cell.printed.text not in ABSENT or cell.row.slug in wish.rows:
            chosen.append(cell)
    return chosen


def matching(word: str, known: Iterable[str]) -> list[str]:
    """The names that a word or pattern stands for."""
    return [name for name in known if fnmatchcase(name, word)]


def jobs_of(cell: Cell, wish: Wish, estimator: str | None) -> list[Job]:
    """The runs of one cell."""
    experiment, protocol = cell.experiment, cell.column.protocol
    paper = experiment.config()
    config, schedule = shortened(paper, wish)
    for key, value in wish.settings.items():
        if is_read(key, experiment):
            config = with_setting(config, key, value)
    if estimator is not None:
        config = with_setting(config, "selection.estimator", estimator)
    return [
        Job(cell, experiment, repeat, repeated(config, protocol.repeat, repeat), paper, schedule)
        for repeat in repeats(protocol.count, wish, protocol.repeat)
    ]


def is_read(key: str, experiment: Experiment) -> bool:
    """Whether an experiment's model reads a setting: one command may change those of several rows."""
    group, *inner = key.split(".")
    if experiment.model != POLICY:
        return group not in OF_POLICIES
    if group == "system":
        return False
    return experiment.learns or not (group == "selection" and inner[0] in OF_LEARNED)


def repeated(config: RunConfig, kind: Repeat, number: int) -> RunConfig:
    """The configuration of one seed, fold or round."""
    if kind == "fold":
        return replace(config, data=replace(config.data, fold=number))
    return replace(config, fit=replace(config.fit, seed=number))


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
    config = with_setting(paper, "fit.epochs", wish.epochs)
    every, full = paper.optim.decay_every, paper.fit.epochs
    if paper.optim.schedule == "milestones":
        return shortened_milestones(paper, config, wish)
    if not every or wish.epochs >= full or "optim.decay_every" in wish.settings:
        return config, None
    scaled = max(1, round(every * wish.epochs / full))
    schedule = f"learning rate decayed every {scaled} epochs instead of {every}, in proportion to the epochs"
    return with_setting(config, "optim.decay_every", scaled), schedule


def shortened_milestones(paper: RunConfig, config: RunConfig, wish: Wish) -> tuple[RunConfig, str | None]:
    """The same for rates that fall at given epochs."""
    given, full = paper.optim.milestones, paper.fit.epochs
    if config.fit.epochs >= full or "optim.milestones" in wish.settings:
        return config, None
    scaled = [max(1, round(epoch * config.fit.epochs / full)) for epoch in given]
    schedule = f"learning rate decayed at epochs {scaled} instead of {list(given)}, in proportion to the epochs"
    return with_setting(config, "optim.milestones", scaled), schedule


def command_of(table: str, cell: Cell, config: RunConfig, paper: RunConfig, numbers: Sequence[int]) -> str:
    """The command that repeats the runs of these seeds or folds.

    Args:
        table: the cell's.
        cell: the figure.
        config: of the run.
        paper: the paper's own settings.
        numbers: which seeds, folds or rounds.
    """
    words = ["python", "-m", "lab", "reproduce", table, "--columns", cell.column.slug, "--rows", cell.row.slug]
    words += ["--only", *map(str, numbers)]
    ours, theirs = flat(config), flat(paper)
    if config.fit.epochs != paper.fit.epochs:
        words += ["--epochs", str(config.fit.epochs)]
    given = {key: value for key, value in ours.items() if value != theirs.get(key)}
    for key in ("fit.seed", "data.fold", "fit.epochs"):
        given.pop(key, None)
    scaled, _ = shortened(paper, Wish(epochs=config.fit.epochs))
    for key in ("optim.decay_every", "optim.milestones"):
        if key in given and given[key] == flat(scaled)[key]:
            given.pop(key)
    if "selection.estimator" in given:
        words += ["--estimator", str(given.pop("selection.estimator"))]
    if given:
        words += ["--set", *(shlex.quote(f"{key}={write_value(value)}") for key, value in sorted(given.items()))]
    return " ".join(words)
