"""Benchmarks: our model against plain PyTorch and against the authors' way of writing it, in one run."""

from lab.bench.cases import BATCH_SIZES, CASES, QUICK_CASES, BenchSettings
from lab.bench.guard import ALLOWED, Fall, find_falls, speed_ratios
from lab.bench.record import BenchReport, Growth, Timing
from lab.bench.replicated import ReplicatedGNN
from lab.bench.run import run_bench, run_systems
from lab.bench.systems import SystemSettings
from lab.bench.tables import make_tables, report_markdown

__all__ = [
    "ALLOWED",
    "BATCH_SIZES",
    "CASES",
    "QUICK_CASES",
    "BenchReport",
    "BenchSettings",
    "Fall",
    "Growth",
    "ReplicatedGNN",
    "SystemSettings",
    "Timing",
    "find_falls",
    "make_tables",
    "report_markdown",
    "run_bench",
    "run_systems",
    "speed_ratios",
]
