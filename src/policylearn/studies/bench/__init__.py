"""Benchmarks: our model against one with replicated edges and against the limit of the machine, in one run."""

from policylearn.studies.bench.ablation import ABLATION_CASES, ablation_markdown
from policylearn.studies.bench.cases import BATCH_SIZES, CASES, QUICK_CASES, Settings
from policylearn.studies.bench.picture import draw_report
from policylearn.studies.bench.record import BenchReport, Growth, OverOnce, Timing
from policylearn.studies.bench.replicated import ReplicatedGNN
from policylearn.studies.bench.run import run_ablation, run_bench
from policylearn.studies.bench.tables import make_tables

__all__ = [
    "ABLATION_CASES",
    "BATCH_SIZES",
    "CASES",
    "QUICK_CASES",
    "BenchReport",
    "Growth",
    "OverOnce",
    "ReplicatedGNN",
    "Settings",
    "Timing",
    "ablation_markdown",
    "draw_report",
    "make_tables",
    "run_ablation",
    "run_bench",
]
