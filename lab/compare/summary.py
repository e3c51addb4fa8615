"""What a comparison says: means, paired differences with their standard errors, and shares of the full bag's gain."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import t as student

from lab.compare.runner import CompareRecord
from lab.errors import paired_error, standard_error
from policylearn.data.packed import Array
from policylearn.wording import markdown_table

CLEAR = 2.0
"""A difference of more standard errors than this is called clear."""
NONE, FULL = "none", "full"
"""The variants without marks and with all of them."""


@dataclass(frozen=True)
class VariantRow:
    """One variant on one dataset.

    Args:
        records: one per seed.
        pairs: each of them whose seed the reference has too, and the reference's; empty for the reference itself.
        recovered: its share of what all marks gain over none, on the seeds that all three have; None where one of
            these was not run.
    """

    records: Sequence[CompareRecord]
    pairs: Sequence[tuple[CompareRecord, CompareRecord]]
    recovered: float | None = None

    @property
    def gains(self) -> Array:
        """How much better than the reference it is on the test part, positive for the better, ``(pairs,)``."""
        sign = 1 if self.records[0].higher_is_better else -1
        return np.array([sign * (ours.test - theirs.test) for ours, theirs in self.pairs])

    @property
    def difference(self) -> float | None:
        """The mean gain; None for the reference itself."""
        return float(self.gains.mean()) if self.pairs else None

    @property
    def difference_error(self) -> float:
        """Its standard error over seeds; NaN with fewer than two pairs."""
        return standard_error(self.gains)

    @property
    def graph_error(self) -> float | None:
        """Its standard error over the test graphs; None where runs have no errors of graphs."""
        return paired_error(self.records[0].metric, [(ours.file, theirs.file) for ours, theirs in self.pairs])

    @property
    def clear(self) -> bool:
        """Whether the difference is more than `CLEAR` standard errors, or as many more as few pairs need.

        The standard error of two or three pairs is itself a guess: Student's t says how far off it may be.
        """
        if self.difference is None or len(self.pairs) < 2:
            return False
        errors = max(CLEAR, float(student.ppf(0.975, len(self.pairs) - 1)))
        return abs(self.difference) > errors * self.difference_error


def summarise(records: Sequence[CompareRecord], reference: str) -> list[VariantRow]:
    """A row per dataset and variant, in the order in which they first occur."""
    rows = []
    for data in dict.fromkeys(record.data for record in records):
        own = [record for record in records if record.data == data]
        base = {record.seed: record for record in own if record.variant == reference}
        for variant in dict.fromkeys(record.variant for record in own):
            runs = [record for record in own if record.variant == variant]
            others = {} if variant == reference else base
            pairs = [(run, others[run.seed]) for run in runs if run.seed in others]
            rows.append(VariantRow(runs, pairs, None if variant in (NONE, FULL) else _recovered(own, variant)))
    return rows


def _recovered(records: Sequence[CompareRecord], variant: str) -> float | None:
    tests = [{one.seed: one.test for one in records if one.variant == name} for name in (NONE, variant, FULL)]
    seeds = set.intersection(*map(set, tests))
    if not seeds:
        return None
    none, own, full = (sum(one[seed] for seed in seeds) for one in tests)
    return (own - none) / (full - none)


def to_markdown(rows: Sequence[VariantRow], reference: str) -> str:
    """The table that goes into a page."""
    headings = [
        "data", "variant", "seeds", "test", "valid", f"better than {reference} by", "clear",
        "share of the gain of full", "processor s",
    ]  # fmt: skip
    cells = [_cells(row) for row in rows]
    errors = [row.graph_error for row in rows]
    if any(error is not None for error in errors):
        headings.append("over graphs")
        for own, error in zip(cells, errors, strict=True):
            own.append("" if error is None else f"± {error:.4f}")
    return markdown_table(headings, cells)


def _cells(row: VariantRow) -> list[str]:
    first, tests = row.records[0], np.array([record.test for record in row.records])
    gain = "" if row.difference is None else f"{row.difference:+.4f}{_error(row.difference_error)} ({len(row.pairs)})"
    return [
        first.data,
        first.variant,
        str(len(tests)),
        f"{tests.mean():.4f}{_error(standard_error(tests))} {first.metric}",
        f"{np.mean([record.valid for record in row.records]):.4f}",
        gain,
        "" if row.difference is None else ("yes" if row.clear else "no"),
        "" if row.recovered is None else f"{row.recovered:.0%}",
        f"{np.mean([record.cpu_seconds for record in row.records]):.0f}",
    ]


def _error(error: float) -> str:
    """A standard error as it follows its mean; nothing where one value alone has none."""
    return "" if math.isnan(error) else f" ± {error:.4f}"
