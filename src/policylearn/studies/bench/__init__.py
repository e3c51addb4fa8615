"""Benchmarks: our model against one with replicated edges and against the limit of the machine, in one run."""

from policylearn.studies.bench.ablation import ABLATION_CASES, ablation_markdown
from policylearn.studies.bench.cases import BATCH_SIZES, CASES, QUICK_CASES, Settings
from policylearn.studies.bench.guard import ALLOWED, Fall, find_falls, speed_ratios
from policylearn.studies.bench.picture import draw_report
from policylearn.studies.bench.record import BenchReport, Growth, OverOnce, Timing
from policylearn.studies.bench.replicated import ReplicatedGNN
from policylearn.studies.bench.run import run_ablation, run_bench, run_systems
from policylearn.studies.bench.system_tables import systems_markdown
from policylearn.studies.bench.systems import SystemSettings
from policylearn.studies.bench.tables import make_tables

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
