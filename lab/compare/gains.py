"""The table of docs/picks.md: what picks recover of the gain of all marks, from the records of several comparisons."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple

import numpy as np

from lab.compare.runner import CompareRecord, load_records
from lab.errors import paired_difference
from policylearn.wording import markdown_table

BOLD = 4.0
"""A difference of more standard errors than this is printed bold."""


class GainsLine(NamedTuple):
    """One dataset at one T: where its records are, and what the variants' names end with at this T."""

    title: str
    folder: str
    data: str
    picks: int
    suffix: str = ""
    full_from: str | None = None


LINES = (
    GainsLine("EXP, accuracy", "exp", "exp-fold*", 2),
    GainsLine("EXP, accuracy", "exp", "exp-fold*", 5, "-5"),
    GainsLine("triangles, MAE", "counting", "triangle", 2, "-2"),
    GainsLine("triangles, MAE", "counting", "triangle", 5),
    GainsLine("tailed triangles, MAE", "counting", "tailed_triangle", 2, "-2"),
    GainsLine("tailed triangles, MAE", "counting", "tailed_triangle", 5),
    GainsLine("4-cycles, MAE", "counting", "cycle4", 2, "-2"),
    GainsLine("4-cycles, MAE", "counting", "cycle4", 5),
    GainsLine("ring sizes of molhiv, MAE", "rings", "molhiv-ring-size", 1, "-1"),
    GainsLine("ring sizes of molhiv, MAE", "rings", "molhiv-ring-size", 2, "-2"),
    GainsLine("ring sizes of molhiv, MAE", "rings", "molhiv-ring-size", 5, "-5"),
    GainsLine("ZINC, MAE", "zinc_plain", "zinc", 2, full_from="zinc_t5"),
)
HEADINGS = (
    "data", "T", "runs", "none", "random", "centrality", "learned", "full", "better than random",
    "better than centrality",
)  # fmt: skip


def gains_table(root: Path) -> str:
    """A row per line, from the records below a folder."""
    rows, last, read = [], "", functools.cache(load_records)
    for line in LINES:
        title, last = "" if line.title == last else line.title, line.title
        rows.append((title, str(line.picks), *_cells(line, root, read)))
    return markdown_table(HEADINGS, rows)


def _cells(line: GainsLine, root: Path, read: Callable[[Path], list[CompareRecord]]) -> list[str]:
    def runs(variant: str, folder: str = line.folder) -> list[CompareRecord]:
        return [one for one in read(root / folder) if one.variant == variant and fnmatchcase(one.data, line.data)]

    none, full = runs("none"), runs("full", line.full_from or line.folder)
    random, central, learned = (runs(f"{name}{line.suffix}") for name in ("random", "centrality", "learned"))
    kinds = [(one.data, one.seed) for one in learned]
    none, random, central = ([one for one in own if (one.data, one.seed) in kinds] for own in (none, random, central))
    low, high = (float(np.mean([one.test for one in own])) if own else np.nan for own in (none, full))

    def figure(found: Sequence[CompareRecord], *, share: bool = True) -> str:
        if not found:
            return "-"
        mean = float(np.mean([one.test for one in found]))
        text = f"{mean:.1%}" if found[0].metric == "accuracy" else f"{mean:.3f}"
        share = share and low != high and not np.isnan(low + high)
        return f"{text} ({(mean - low) / (high - low):.0%})" if share else text

    policies, leads = map(figure, (random, central, learned)), [_lead(learned, others) for others in (random, central)]
    return [str(len(learned)), figure(none, share=False), *policies, figure(full, share=False), *leads]


def _lead(ours: Sequence[CompareRecord], theirs: Sequence[CompareRecord]) -> str:
    """How much better, with the standard error over test graphs; on the seeds and folds that both have."""
    base = {(one.data, one.seed): one for one in theirs}
    pairs = [(one, base[one.data, one.seed]) for one in ours if (one.data, one.seed) in base]
    found = paired_difference(ours[0].metric, [(a.file, b.file) for a, b in pairs]) if pairs else None
    if found is None:
        return "-"
    scale, digits = (100, 1) if ours[0].metric == "accuracy" else (1, 3)
    text = f"{found.gain * scale:+.{digits}f} ± {found.graph_error * scale:.{digits}f}"
    return f"**{text}**" if abs(found.gain) > BOLD * found.graph_error else text
