"""Benchmarks: our model against one with replicated edges and against the limit of the machine, in one run."""

from lab.bench.ablation import ABLATION_CASES, ablation_markdown
from lab.bench.cases import BATCH_SIZES, CASES, QUICK_CASES, Settings
from lab.bench.guard import ALLOWED, Fall, find_falls, speed_ratios
from lab.bench.picture import draw_report
from lab.bench.record import BenchReport, Growth, OverOnce, Timing
from lab.bench.replicated import ReplicatedGNN
from lab.bench.run import run_ablation, run_bench, run_systems
from lab.bench.system_tables import systems_markdown
from lab.bench.systems import SystemSettings
from lab.bench.tables import make_tables

__all__ = [
    "ABLATION_CASES",
    "ALLOWED",
    "BATCH_SIZES",
    "CASES",
    "QUICK_CASES",
    "BenchReport",
    "Fall",
    "Growth",
    "OverOnce",
    "ReplicatedGNN",
    "Settings",
    "SystemSettings",
    "Timing",
    "ablation_markdown",
    "draw_report",
    "find_falls",
    "make_tables",
    "run_ablation",
    "run_bench",
    "run_systems",
    "speed_ratios",
    "systems_markdown",
]
