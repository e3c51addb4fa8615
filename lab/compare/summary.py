"""What a comparison says: means, paired differences with their standard errors, and how many seeds would tell."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from lab.compare.runner import CompareRecord
from lab.errors import paired_error, standard_error
from policylearn.wording import markdown_table

CLEAR = 2.0
"""A difference of more standard errors than this is called clear."""
RESOLVED = 0.01
"""The difference that `VariantRow.needed` is about."""


@dataclass(frozen=True)
class VariantRow:
    """One variant on one dataset.

    Args:
        data: the dataset.
        variant: its name.
        metric: what is measured, on the test part.
        seeds: how many.
        mean: of the test metric.
        error: its standard error.
        valid: mean of the validation metric.
        cpu_seconds: mean per training.
        difference: mean paired difference to the reference, in favour where positive; None for the reference itself.
        difference_error: its standard error; NaN with fewer than two pairs.
        pairs: seeds that both have.
        needed: seeds that would tell a difference of `RESOLVED`; None where that is not known.
        graph_error: standard error of the difference over the test graphs; None where runs have no errors of graphs.
    """

    data: str
    variant: str
    metric: str
    seeds: int
    mean: float
    error: float
    valid: float
    cpu_seconds: float
    difference: float | None
    difference_error: float
    pairs: int
    needed: int | None
    graph_error: float | None

    @property
    def clear(self) -> bool:
        """Whether the difference is more than `CLEAR` standard errors, or as many more as few pairs need.

        The standard error of two or three pairs is itself a guess: Student's t says how far off it may be.
        """
        from scipy.stats import t

        if self.difference is None or self.pairs < 2:
            return False
        return abs(self.difference) > max(CLEAR, float(t.ppf(0.975, self.pairs - 1))) * self.difference_error


def summarise(records: Sequence[CompareRecord], reference: str) -> list[VariantRow]:
    """A row per dataset and variant, in the order in which they first occur."""
    rows: list[VariantRow] = []
    for data in dict.fromkeys(record.data for record in records):
        own = [record for record in records if record.data == data]
        base = {record.seed: record for record in own if record.variant == reference}
        rows += [
            _row([record for record in own if record.variant == variant], {} if variant == reference else base)
            for variant in dict.fromkeys(record.variant for record in own)
        ]
    return rows


def _row(records: Sequence[CompareRecord], base: Mapping[int, CompareRecord]) -> VariantRow:
    first = records[0]
    values = np.array([record.test for record in records])
    pairs = [(record, base[record.seed]) for record in records if record.seed in base]
    sign = 1 if first.higher_is_better else -1
    gains = np.array([sign * (ours.test - theirs.test) for ours, theirs in pairs])
    error = standard_error(gains)
    spread = error * math.sqrt(len(gains))
    return VariantRow(
        first.data,
        first.variant,
        first.metric,
        seeds=len(values),
        mean=float(values.mean()),
        error=standard_error(values),
        valid=float(np.mean([record.valid for record in records])),
        cpu_seconds=float(np.mean([record.cpu_seconds for record in records])),
        difference=float(gains.mean()) if pairs else None,
        difference_error=error,
        pairs=len(pairs),
        needed=None if math.isnan(spread) else math.ceil((CLEAR * spread / RESOLVED) ** 2),
        graph_error=paired_error(first.metric, [(ours.file, theirs.file) for ours, theirs in pairs]),
    )


def to_markdown(rows: Sequence[VariantRow], reference: str) -> str:
    """The table that goes into a page."""
    headings = [
        "data", "variant", "seeds", "test", "valid", f"better than {reference} by", "clear",
        f"seeds to tell {RESOLVED:g}", "processor s",
    ]  # fmt: skip
    cells = [_cells(row) for row in rows]
    if any(row.graph_error is not None for row in rows):
        headings.append("over graphs")
        for row, own in zip(rows, cells, strict=True):
            own.append("" if row.graph_error is None else f"± {row.graph_error:.4f}")
    return markdown_table(headings, cells)


def _cells(row: VariantRow) -> list[str]:
    difference = "" if row.difference is None else f"{row.difference:+.4f}{_error(row.difference_error)} ({row.pairs})"
    clear = "" if row.difference is None else ("yes" if row.clear else "no")
    return [
        row.data,
        row.variant,
        str(row.seeds),
        f"{row.mean:.4f}{_error(row.error)} {row.metric}",
        f"{row.valid:.4f}",
        difference,
        clear,
        "" if row.needed is None else str(row.needed),
        f"{row.cpu_seconds:.0f}",
    ]


def _error(error: float) -> str:
    """A standard error as it follows its mean; nothing where one value alone has none."""
    return "" if math.isnan(error) else f" ± {error:.4f}"
