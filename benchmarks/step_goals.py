"""Our steps against the replicated model and against their products, by the processor's clock and one thread.

Run with ``python -m benchmarks.step_goals [ROUNDS [CASE ...]]``. ``policylearn bench`` measures the same by the clock
on the wall, which needs an idle machine. Ratios are medians of each round's own.
"""

from __future__ import annotations

import sys
import time
from typing import Any

import numpy as np
import torch
from rich.console import Console
from rich.table import Table

from benchmarks.machine import keep
from policylearn.studies.bench.cases import CASES, PHASES, CaseGroup, Settings
from policylearn.studies.bench.groups import measure_group
from policylearn.training import DataConfig, load_source

MEASURED = ("learned-t2", "learned-t5", "random-t2", "none")
CONSOLE = Console(width=110)


def main() -> None:
    """Measure training and inference on ZINC, print the ratios, keep them."""
    rounds, cases = int((sys.argv[1:] or ["5"])[0]), tuple(sys.argv[2:]) or MEASURED
    torch.set_num_threads(1)
    source, settings = load_source(DataConfig(name="zinc")), Settings(rounds=rounds, threads=1)
    table = Table("phase", "case", "estimator", "ms of a step", "replicated over it", "over its products")
    kept: list[dict[str, Any]] = []
    for phase in PHASES:
        group = CaseGroup("zinc", phase, False, tuple(CASES[name] for name in cases))
        timings = measure_group(group, source, settings, lambda _text, _steps: None, time.process_time)
        ms = {(one.case, one.contender, one.estimator): np.array(one.ms) for one in timings}
        for (case, contender, estimator), own in ms.items():
            if contender != "ours":
                continue
            by_replicated = float(np.median(ms[case, "replicated", None] / own))
            by_products = float(np.median(own / ms[case, "limit", estimator]))
            told = f"{np.median(own):.1f}", f"{by_replicated:.2f}", f"{by_products:.2f}"
            table.add_row(phase, case, estimator or "", *told)
            ratios = {"replicated": by_replicated, "products": by_products}
            kept.append({"phase": phase, "case": case, "estimator": estimator, "ms": own.tolist(), **ratios})
    CONSOLE.print(table)
    CONSOLE.print(str(keep("step_goals", {"rounds": rounds, "threads": 1, "steps": kept})))


if __name__ == "__main__":
    main()
