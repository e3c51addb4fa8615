"""What the paper reports, as typed records: a table has rows and columns, and each cell what was printed."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

from lab.settings import selection_of, settings_of
from policylearn.settings import RunConfig
from policylearn.settings.run_config import POLICY_LEARN
from policylearn.training.presets import run_config

Measure = Literal["metric", "train_ms", "test_ms", "test_ms_deterministic"]
"""What a run gives: the task's metric, or the milliseconds of a training epoch or of a pass over the test graphs."""
Repeat = Literal["seed", "fold", "round"]
FIGURE = re.compile(r"(?P<mean>\d+\.\d+)(?:±(?P<deviation>\d+\.\d+))?")
ABSENT = ("N/A", "-", "OOM")


@dataclass(frozen=True)
class Printed:
    """A cell's text, digit by digit: ``0.120±0.003``, ``0.3569``, or one of `ABSENT`."""

    text: str

    def __post_init__(self) -> None:
        if self.text not in ABSENT and not FIGURE.fullmatch(self.text):
            raise ValueError(f"'{self.text}' is neither a figure nor one of {', '.join(ABSENT)}; write 0.120±0.003")

    @property
    def mean(self) -> float | None:
        return None if self.text in ABSENT else float(self.text.split("±")[0])

    @property
    def deviation(self) -> float | None:
        return float(self.text.split("±")[1]) if "±" in self.text else None

    @property
    def digits(self) -> int:
        """Decimals of the mean; 0 where there is none."""
        return 0 if self.text in ABSENT else len(self.text.split("±")[0].split(".")[1])


@dataclass(frozen=True)
class Protocol:
    """How often an experiment is repeated, over what."""

    repeat: Repeat
    count: int

    def __str__(self) -> str:
        return f"{self.count} {self.repeat}s"


@dataclass(frozen=True)
class Method:
    """One way to look at a graph.

    Args:
        policy: which policy of Policy-learn it is; empty for another system.
        settings: what differs from the settings of that policy or system, by dotted name.
        model: which system it is, by its name.
        note: what a reader must know of the published figure, such as a budget that it breaks; empty for nothing.
    """

    name: str
    slug: str
    policy: str = ""
    settings: tuple[tuple[str, Any], ...] = ()
    model: str = POLICY_LEARN
    note: str = ""


@dataclass(frozen=True)
class Column:
    """What a table's column reports.

    Args:
        target: of datasets with a task per target.
        factor: what our figure is multiplied by to be in the paper's units.
        needs: data that do not come with the others, in words; None where they do.
    """

    title: str
    slug: str
    dataset: str
    metric: str
    higher_is_better: bool
    protocol: Protocol
    target: str | None = None
    factor: float = 1.0
    measure: Measure = "metric"
    needs: str | None = None


@dataclass(frozen=True)
class PaperRow:
    """A method with its number of picks (None where it has none) and what was printed, a text per column."""

    method: Method
    picks: int | None
    cells: tuple[Printed, ...]

    @property
    def slug(self) -> str:
        return self.method.slug if self.picks is None else f"{self.method.slug}-t{self.picks}"

    @property
    def title(self) -> str:
        return self.method.name if self.picks is None else f"{self.method.name} T={self.picks}"


@dataclass(frozen=True)
class Experiment:
    """What is run for a cell; cells of several tables may share one.

    Args:
        policy: of Policy-learn; empty for another system.
        settings: what differs from the paper's settings of that policy.
    """

    dataset: str
    policy: str
    picks: int = 0
    target: str | None = None
    settings: tuple[tuple[str, Any], ...] = ()
    measure: Measure = "metric"
    model: str = POLICY_LEARN

    @property
    def learns(self) -> bool:
        """Whether picks are learned."""
        return "estimator" in selection_of(settings_of(self.config()))

    @property
    def slug(self) -> str:
        """A folder's name."""
        parts = [self.target, self.policy or self.model, f"t{self.picks}" if self.picks else None]
        parts += [str(value) for _, value in self.settings]
        parts += [None if self.measure == "metric" else self.measure]
        return "-".join(filter(None, parts))

    @functools.cache  # noqa: B019 - a report asks for the same few ones over and over, and reads a YAML for each
    def config(self) -> RunConfig:
        """The paper's settings."""
        given: dict[str, Any] = {"model": self.model}
        given |= {"selection.name": self.policy} if self.policy else {}
        given |= {"selection.picks" if self.policy else "picks": self.picks} if self.picks else {}
        given |= {"data.target": [self.target]} if self.target else {}
        return run_config(self.dataset, given | dict(self.settings))


@dataclass(frozen=True)
class Cell:
    """One figure of the paper."""

    table: str
    row: PaperRow
    column: Column
    printed: Printed

    @property
    def experiment(self) -> Experiment:
        """How to get it."""
        method, column, picks = self.row.method, self.column, self.row.picks or 0
        of_cell = column.target, method.settings, column.measure, method.model
        return Experiment(column.dataset, method.policy, picks, *of_cell)


@dataclass(frozen=True)
class Table:
    """A result table.

    Args:
        note: what a reader of our figures must know besides; empty where there is nothing.
        variants: rows of ours that the paper does not have, such as a system inside the table's budget
            or one that it does not compare with.
    """

    name: str
    title: str
    label: str
    columns: tuple[Column, ...]
    rows: tuple[PaperRow, ...] = field(repr=False)
    note: str = ""
    variants: tuple[PaperRow, ...] = field(default=(), repr=False)

    def __post_init__(self) -> None:
        for row in self.all_rows:
            if len(row.cells) != len(self.columns):
                raise ValueError(
                    f"table '{self.name}', row '{row.title}': needs {len(self.columns)} cells (got {len(row.cells)})"
                )

    @property
    def all_rows(self) -> tuple[PaperRow, ...]:
        """The paper's rows, then our variants."""
        return self.rows + self.variants

    def cell(self, column: str, row: str) -> Cell:
        """The cell of a column and a row, by their slugs."""
        return next(cell for cell in self.cells() if (cell.column.slug, cell.row.slug) == (column, row))

    def cells(self) -> Iterator[Cell]:
        """All cells, column by column."""
        for at, column in enumerate(self.columns):
            for row in self.all_rows:
                yield Cell(self.name, row, column, row.cells[at])


def row(method: Method, picks: int | None, *cells: str) -> PaperRow:
    """A row from its texts."""
    return PaperRow(method, picks, tuple(map(Printed, cells)))
