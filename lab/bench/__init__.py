"""Benchmarks: our model against plain PyTorch and against the authors' way of writing it, in one run."""

from lab.bench.cases import QUICK_CASES, BenchSettings
from lab.bench.guard import ALLOWED, find_falls, speed_ratios
from lab.bench.record import BenchReport
from lab.bench.run import run_bench, run_systems
from lab.bench.systems import SystemSettings
from lab.bench.tables import make_tables

__all__ = [
    "ALLOWED",
    "QUICK_CASES",
    "BenchReport",
    "BenchSettings",
    "SystemSettings",
    "find_falls",
    "make_tables",
    "run_bench",
    "run_systems",
    "speed_ratios",
]
