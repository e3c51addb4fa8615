"""Benchmarks: our model against one with replicated edges and against the limit of the machine, in one run."""

from policylearn.bench.cases import BATCH_SIZES, CASES, QUICK_CASES, Settings
from policylearn.bench.picture import draw_report
from policylearn.bench.record import Growth, OverOnce, Report, Timing
from policylearn.bench.replicated import ReplicatedGNN
from policylearn.bench.run import run_bench
from policylearn.bench.tables import make_tables

__all__ = [
    "BATCH_SIZES",
    "CASES",
    "QUICK_CASES",
    "Growth",
    "OverOnce",
    "ReplicatedGNN",
    "Report",
    "Settings",
    "Timing",
    "draw_report",
    "make_tables",
    "run_bench",
]
