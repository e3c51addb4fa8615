"""Where the time of a step goes: learned policy, T = 2, 128 ZINC graphs, 6 layers of 64 channels, one thread.

Run with ``python -m lab.benchmarks.time_spent``. Python's profiler slows Python itself down, so what is not compiled
looks somewhat larger than it is; the table says how long a step takes without it.
"""

from __future__ import annotations

import cProfile
import time
from collections.abc import Callable
from functools import partial
from types import CodeType
from typing import Any

import torch
from rich.console import Console
from rich.table import Table

from lab.bench.cases import CASES, Phase, Settings
from lab.bench.contenders import Batches, make_ours, model_config
from lab.benchmarks.machine import keep
from policylearn.models import EstimatorName
from policylearn.settings import DataConfig
from policylearn.training import load_source

STEPS = 10
GROUPS = {
    "layers: sums along edges, maps, norms, relus and residual": ("layer_loops.py",),
    "cones, rows that are alike, and lists of both": ("message_loops.py", "cone_loops.py", "merge_loops.py"),
    "torch's own backward pass": ("run_backward",),
    "Adam": ("adam", "optimizer.py"),
}
PROFILED: dict[str, tuple[Phase, EstimatorName | None]] = {
    "training, straight_through": ("train", "straight_through"),
    "training, rloo": ("train", "rloo"),
    "inference": ("infer", None),
}
CONSOLE = Console(width=110)


def profile(step: Callable[[], None]) -> dict[str, Any]:
    """Milliseconds of a step by group, and what it takes without the profiler."""
    step()
    start = time.perf_counter()
    for _ in range(STEPS):
        step()
    alone = (time.perf_counter() - start) / STEPS
    profiler = cProfile.Profile()
    profiler.enable()
    for _ in range(STEPS):
        step()
    profiler.disable()
    spent = dict.fromkeys([*GROUPS, "everything else"], 0.0)
    for entry in profiler.getstats():
        place = place_of(entry.code)
        group = next((group for group, parts in GROUPS.items() if any(part in place for part in parts)), None)
        spent[group or "everything else"] += 1000 * entry.inlinetime / STEPS
    return {"without_profiler_ms": round(1000 * alone, 1), "ms": {name: round(ms, 1) for name, ms in spent.items()}}


def place_of(code: CodeType | str) -> str:
    """File and name of a function of Python's, or the name of one that is compiled."""
    return code if isinstance(code, str) else f"{code.co_filename} {code.co_name}"


def main() -> None:
    """Profile training with both estimators, and inference."""
    torch.set_num_threads(1)
    source, network = load_source(DataConfig(name="zinc")), Settings().network
    batches = Batches(source, 128, 1)
    results = {}
    table = Table("part of a step, ms", *PROFILED)
    for title, (phase, estimator) in PROFILED.items():
        torch.manual_seed(0)
        config = model_config(source, CASES["learned-t2"], network, estimator)
        run = make_ours(config, source, phase, batches.small(), torch.Generator().manual_seed(0))
        results[title] = profile(partial(run, batches.get(0, estimator)))
    for part in [*GROUPS, "everything else"]:
        table.add_row(part, *(f"{result['ms'][part]:.1f}" for result in results.values()))
    table.add_row("a step without the profiler", *(f"{r['without_profiler_ms']:.1f}" for r in results.values()))
    CONSOLE.print(table)
    CONSOLE.print(str(keep("time_spent", {"steps": STEPS, "threads": 1, "profiles": results})))


if __name__ == "__main__":
    main()
