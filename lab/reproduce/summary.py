"""From records to figures: runs of one configuration together, and what they say beside the paper."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from lab.reproduce.declaration import Cell, Experiment
from lab.reproduce.records import REPEATED, Record
from policylearn.settings.flat import flat
from policylearn.settings.run_config import RunConfig
from policylearn.training.folds import combine_folds

SELECTION_RATE = "optim.selection_learning_rate"
"""A setting that only the learned policy reads, though a command may give it to other rows too."""


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
        curves = [{part: exact(curve) for part, curve in record.curve.items()} for record in self.records]
        figure = combine_folds(
            [curve["valid"] for curve in curves],
            [curve[record.reported] for curve, record in zip(curves, self.records, strict=True)],
            higher_is_better=self.first.higher_is_better,
        )
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
        """Settings that differ from the paper's and that the policy reads, by dotted name."""
        unread = () if self.first.experiment.learns else (SELECTION_RATE,)
        return {key: value for key, value in sorted(self.first.changed.items()) if key not in unread}

    @property
    def departures(self) -> tuple[tuple[str, Any], ...]:
        """Changed settings that do not lie in the paper's own grid."""
        grid: dict[str, list[Any]] = self.first.config.get("grid", {})
        return tuple((key, value) for key, value in self.changed.items() if value not in grid.get(key, []))

    @property
    def seconds(self) -> float:
        return sum(record.seconds for record in self.records)


Groups = dict[Experiment, list[RunGroup]]
"""The groups of each experiment."""


def exact(curve: list[float]) -> list[float]:
    """The single precision numbers whose shortest forms a record holds."""
    return [float(np.float32(value)) for value in curve]


def group_records(records: Iterable[Record]) -> dict[Experiment, list[RunGroup]]:
    """Records by experiment, and below by configuration and data, in an order that does not depend on time."""
    found: dict[tuple[Experiment, str], list[Record]] = {}
    usual = flat(RunConfig())
    for record in records:
        # Settings that came after a record was written are as by default.
        known = usual | flat(record.config)
        settings = {key: value for key, value in known.items() if key not in REPEATED}
        kind = repr([sorted(settings.items()), record.dataset["fingerprint"]])
        found.setdefault((record.experiment, kind), []).append(record)
    groups: dict[Experiment, list[RunGroup]] = {}
    for (experiment, _), members in sorted(found.items(), key=lambda item: (item[0][0].slug, item[0][1])):
        ordered = sorted(members, key=lambda record: (record.number, record.finished))
        groups.setdefault(experiment, []).append(RunGroup(tuple(ordered)))
    return groups


def choose_groups(groups: Iterable[RunGroup]) -> tuple[list[RunGroup], list[RunGroup]]:
    """The groups that stand for a cell, and those that were tried beside them.

    There is one per mode, estimator and departure from the paper's grid. Among settings of the grid that with most
    repeats stands, then most epochs, then the best validation metric; test metrics are not looked at.
    """
    kinds: dict[tuple[str, ...], list[RunGroup]] = {}
    for group in groups:
        first = group.first
        kinds.setdefault((str(first.mode), str(first.estimator), repr(group.departures)), []).append(group)
    chosen, tried = [], []
    for kind in sorted(kinds):
        best, *others = sorted(kinds[kind], key=rank, reverse=True)
        chosen.append(best)
        tried += others
    return chosen, tried


def rank(group: RunGroup) -> tuple[int, int, float]:
    """What makes one group stand for a cell rather than another; larger is better."""
    valid = group.valid
    sign = 1.0 if group.first.higher_is_better else -1.0
    return len(group.records), group.first.epochs, -math.inf if valid is None else sign * valid


def verdict(cell: Cell, group: RunGroup | None) -> str:
    """What came of a cell, in a few words: *within one deviation*, *better*, *worse* and so on.

    Fewer epochs or repeats than the paper's make it a *reduced budget*, with what it looks like so far in brackets.
    """
    if group is None:
        return "needs data" if cell.column.needs else "not run"
    if cell.column.measure != "metric":
        return "another machine"
    compared = compare(cell, group)
    first = group.first
    short = first.epochs < first.paper_epochs or len(group.records) < cell.column.protocol.count
    return f"reduced budget ({compared})" if short else compared


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
        return "within one deviation"
    return "better" if (ours > mean) == cell.column.higher_is_better else "worse"


@dataclass(frozen=True)
class Difference:
    """Learned against random picks: how much better, and the standard error of that."""

    better_by: float
    error: float

    @property
    def clear(self) -> bool:
        """Better by more than one standard error."""
        return self.better_by > self.error


def difference(learned: RunGroup, random: RunGroup) -> Difference | None:
    """None where the two were not trained alike, or where one has no two repeats and so no standard error."""
    shared = [
        {key: v for key, v in group.departures if not key.startswith("selection.") and key != SELECTION_RATE}
        for group in (learned, random)
    ]
    alike = learned.first.epochs == random.first.epochs and shared[0] == shared[1]
    if not alike or min(len(learned.values), len(random.values)) < 2:
        return None
    sign = 1.0 if learned.first.higher_is_better else -1.0
    variances = [float(np.var(group.values, ddof=1)) / len(group.values) for group in (learned, random)]
    return Difference(sign * (learned.mean - random.mean), math.sqrt(sum(variances)))
