"""Comparisons: variants of a model over datasets and paired seeds, at equal passes or equal processor time."""

from lab.compare.plan import CompareJob, Comparison, read_comparison
from lab.compare.runner import CompareRecord, load_records, run_comparison
from lab.compare.summary import VariantRow, summarise, to_markdown

__all__ = [
    "CompareJob",
    "CompareRecord",
    "Comparison",
    "VariantRow",
    "load_records",
    "read_comparison",
    "run_comparison",
    "summarise",
    "to_markdown",
]
