"""From records to figures: runs of one configuration together, and what they say beside the paper."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from lab.compare.strata import PairedRun
from lab.errors import has_errors, paired_error, standard_error
from lab.reproduce.declaration import Cell, Experiment, Table
from lab.reproduce.plan import REPEATED, choose
from lab.reproduce.records import Record
from lab.reproduce.wish import Wish
from lab.settings import is_of_today
from policylearn.settings.flat import flat
from policylearn.training.folds import combine_folds

SELECTION_RATE = "optim.selection_learning_rate"
"""A setting that only the learned policy reads, though a command may give it to other rows too."""

AS_PAPER = {"selection.entropy": 0.0}
"""Settings that came later, with the value at which they do nothing."""
TELLING = 10
"""With less than one part in so many of the paper's epochs, figures are not compared with the paper's."""


@dataclass(frozen=True)
class RunGroup:
    """The repeats of one experiment with one configuration, in their order."""

    records: tuple[Record, ...]

    @property
    def first(self) -> Record:
        return self.records[0]

    @cached_property
    def values(self) -> tuple[float, ...]:
        """One per repeat: the test metric at its best epoch; folds share the best epoch of their mean curve."""
        return self._values_and_valid[0]

    @property
    def valid(self) -> float | None:
        """The mean validation metric at the same epochs; None for times."""
        return self._values_and_valid[1]

    @cached_property
    def _values_and_valid(self) -> tuple[tuple[float, ...], float | None]:
        if self.first.repeat != "fold":
            seen = [record.valid for record in self.records if record.valid is not None]
            return tuple(record.test for record in self.records), float(np.mean(seen)) if seen else None
        valid = [exact(record.curve["valid"]) for record in self.records]
        reported = [exact(record.curve[record.reported]) for record in self.records]
        figure = combine_folds(valid, reported, higher_is_better=self.first.higher_is_better)
        return figure.values, figure.valid

    @property
    def mean(self) -> float:
        return float(np.mean(self.values))

    @property
    def deviation(self) -> float:
        """Over the repeats, with n below the root, as in the k-fold protocol of the training."""
        return float(np.std(self.values))

    @property
    def changed(self) -> dict[str, Any]:
        """Settings that differ from the paper's and that the policy has and reads, by dotted name."""
        learns, own = self.first.experiment.learns, flat(self.first.config)
        found = {key: value for key, value in sorted(self.first.changed.items()) if value is not None or key in own}
        return {key: value for key, value in found.items() if learns or key != SELECTION_RATE}

    @property
    def departures(self) -> dict[str, Any]:
        """Changed settings that do not lie in the paper's own grid."""
        grid: dict[str, list[Any]] = self.first.config.get("grid", {})
        usual = {key: [value] for key, value in AS_PAPER.items()}
        return {key: value for key, value in self.changed.items() if value not in (usual | grid).get(key, [])}

    @property
    def training(self) -> str:
        """Epochs and departures that have nothing to do with the picks; what a fair comparison has in common."""
        epochs = "whole" if self.is_whole else self.first.epochs
        return repr([epochs, {key: value for key, value in self.departures.items() if not of_picks(key)}])

    @property
    def is_whole(self) -> bool:
        """Whether it has at least the paper's epochs."""
        return self.first.epochs >= self.first.paper_epochs

    @cached_property
    def of_today(self) -> bool:
        """Whether it can be repeated with this version."""
        return is_of_today(self.first.config)

    @property
    def rank(self) -> tuple[bool, bool, int, int, float]:
        """What makes it stand for its experiment: funding, then nearness to the paper's settings, then validation.

        Test metrics are not looked at.
        """
        sign = 1.0 if self.first.higher_is_better else -1.0
        valid = -math.inf if self.valid is None else sign * self.valid
        funding = len(self.records) * self.first.epochs
        return self.of_today, self.is_whole, funding, -len(self.departures), valid


Groups = dict[Experiment, list[RunGroup]]
"""The groups of each experiment."""


def of_picks(key: str) -> bool:
    """Whether a setting is about picks alone."""
    return key.startswith("selection.") or key == SELECTION_RATE


def exact(curve: list[float]) -> list[float]:
    """The single precision numbers whose shortest forms a record holds."""
    return [float(np.float32(value)) for value in curve]


def group_records(records: Iterable[Record]) -> Groups:
    """Records by experiment, and below by configuration and data, best funded first; of equal runs the first counts."""
    found: dict[tuple[Experiment, str], list[Record]] = {}
    for record in records:
        settings = {key: value for key, value in flat(record.config).items() if key not in REPEATED}
        kind = repr([sorted(settings.items()), record.dataset["fingerprint"]])
        found.setdefault((record.experiment, kind), []).append(record)
    groups: Groups = {}
    for (experiment, _), members in sorted(found.items(), key=lambda item: (item[0][0].slug, item[0][1])):
        first = {one.number: one for one in sorted(members, key=lambda one: one.finished, reverse=True)}
        groups.setdefault(experiment, []).append(RunGroup(tuple(first[number] for number in sorted(first))))
    return {experiment: sorted(own, key=lambda one: one.rank, reverse=True) for experiment, own in groups.items()}


def alike(candidates: Sequence[Sequence[RunGroup]]) -> list[RunGroup]:
    """One group of each experiment, all trained alike, of the best-funded training that all have; empty without one."""
    shared = set.intersection(*({group.training for group in own} for own in candidates)) if candidates else set()
    chosen = [[next(group for group in own if group.training == kind) for own in candidates] for kind in sorted(shared)]
    return max(chosen, key=lambda groups: min(group.rank[:4] for group in groups), default=[])


def paired_runs(table: Table, wish: Wish, groups: Groups) -> list[PairedRun]:
    """The runs that kept errors of graphs: in each column those trained alike of which there are most methods.

    A method's name has its estimator behind it; of equal names the best-funded group counts.
    """
    found: dict[tuple[str, str, str], RunGroup] = {}
    for cell in choose(table, wish):
        for group in groups.get(cell.experiment, []):
            if any(has_errors(record.file) for record in group.records):
                method = " ".join(filter(None, [cell.row.slug, group.first.estimator]))
                found.setdefault((cell.column.slug, group.training, method), group)
    runs = []
    for column in dict.fromkeys(column for column, _, _ in found):
        trainings = [training for own, training, _ in found if own == column]
        most = max(trainings, key=trainings.count)
        runs += [
            PairedRun(column, method, one.number, one)
            for (own, training, method), group in found.items()
            if (own, training) == (column, most)
            for one in group.records
        ]
    return runs


def verdict(cell: Cell, group: RunGroup) -> str:
    """What came of a cell, in a few words."""
    if cell.column.measure != "metric":
        return "another machine"
    compared, protocol = compare(cell, group), cell.column.protocol
    if not group.is_whole:
        short = group.first.epochs * TELLING < group.first.paper_epochs
        return "reduced budget" if short else f"reduced budget: {compared} so far"
    whole = len(group.records) >= protocol.count
    return compared if whole else f"{len(group.records)} of {protocol}: {compared}"


def compare(cell: Cell, group: RunGroup) -> str:
    """Ours against the paper's, at the digits that the paper prints."""
    mean, deviation = cell.printed.mean, cell.printed.deviation
    if mean is None:
        return "no figure in the paper"
    factor, digits = cell.column.factor, cell.printed.digits
    ours = round(group.mean * factor, digits)
    # Where the paper gives no deviation, ours is the only one there is.
    spread = group.deviation * factor if deviation is None else deviation
    if abs(ours - mean) <= spread + 1e-9:
        return "within one deviation of the paper"
    return "better" if (ours > mean) == cell.column.higher_is_better else "worse"


@dataclass(frozen=True)
class Difference:
    """One method against another.

    Args:
        better_by: how much better the first is, over the repeats that both have; of the means where they share none.
        error: standard error of that, paired over seeds or folds; NaN where they do not share two.
        graph_error: over the test graphs, for the repeats that both have; None where they have no errors of graphs.
    """

    better_by: float
    error: float
    graph_error: float | None


def difference(ours: RunGroup, theirs: RunGroup) -> Difference:
    """How much better ours is than theirs."""
    sign = 1.0 if ours.first.higher_is_better else -1.0
    both = (ours, theirs)
    values = [dict(zip([record.number for record in group.records], group.values, strict=True)) for group in both]
    gains = np.array([values[0][number] - values[1][number] for number in values[0].keys() & values[1].keys()])
    files = [{record.number: record.file for record in group.records} for group in both]
    pairs = [(files[0][number], files[1][number]) for number in files[0].keys() & files[1].keys()]
    better_by = float(np.mean(gains)) if len(gains) else ours.mean - theirs.mean
    return Difference(sign * better_by, standard_error(gains), paired_error(ours.first.metric, pairs))
