"""What learned picks cost over random ones: training steps and inference, T = 2, 128 ZINC graphs, turn by turn.

Run with ``python -m benchmarks.shared_cost [ROUNDS [THREADS]]``. All contenders see the same batches in one run. Times
are processor seconds, so that other processes of the machine weigh little; ratios are taken within each round and the
median of these is told, with the middle half of them.
"""

from __future__ import annotations

import sys
import time
from dataclasses import replace

import numpy as np
import torch
from rich.console import Console
from rich.table import Table

from benchmarks.machine import keep
from policylearn.models import PolicyConfig
from policylearn.studies.bench.cases import CASES, PHASES, Phase, Settings
from policylearn.studies.bench.contenders import Batches, make_ours, model_config
from policylearn.studies.bench.interleave import TimedStep, interleave
from policylearn.training import DataConfig, Source, load_source

PICKS, GRAPHS = 2, 128
BASE, LAYER_NORMS = "random", "random, layer norms"
POLICIES = {
    BASE: PolicyConfig(name="random", picks=PICKS),
    LAYER_NORMS: PolicyConfig(name="random", picks=PICKS),
    "learned, shared encoder": PolicyConfig(picks=PICKS, shared=True),
    "learned, shared encoder, batch norms": PolicyConfig(picks=PICKS, shared=True, norm="batch"),
    "learned, separate networks": PolicyConfig(picks=PICKS),
    "learned, separate, straight_through": PolicyConfig(picks=PICKS, estimator="straight_through"),
}
"""Prediction networks have batch norms and selection networks layer norms, as by default, unless said otherwise."""
CONSOLE = Console(width=110)


def measure(source: Source, phase: Phase, rounds: int) -> dict[str, list[float]]:
    """Processor seconds of every policy in every round."""
    batches = Batches(source, GRAPHS, rounds)
    entries = []
    for title, policy in POLICIES.items():
        if phase == "infer" and policy.estimator == "straight_through":
            continue  # how picks learn plays no part
        torch.manual_seed(0)
        network = replace(Settings().network, norm="layer" if title == LAYER_NORMS else "batch")
        config = replace(model_config(source, CASES["learned-t2"], network, None), policy=policy)
        step = make_ours(config, source, phase, batches.small(), torch.Generator().manual_seed(0))
        entries.append(TimedStep(title, batches.on(step), rounds, warm=True))
    return interleave(entries, clock=time.process_time)


def main() -> None:
    """Measure both phases, print the ratios, keep them."""
    rounds, threads = (int(word) for word in (sys.argv[1:] + ["31", "1"][len(sys.argv) - 1 :])[:2])
    torch.set_num_threads(threads)
    source = load_source(DataConfig(name="zinc"))
    table = Table("phase", "policy", "ms of a step", f"over {BASE}", "middle half of the rounds")
    kept = []
    for phase in PHASES:
        spent = {title: np.array(values) for title, values in measure(source, phase, rounds).items()}
        for title, seconds in spent.items():
            low, ratio, high = np.quantile(seconds / spent[BASE], (0.25, 0.5, 0.75)).tolist()
            ms = 1000 * float(np.median(seconds))
            table.add_row(phase, title, f"{ms:.1f}", f"{ratio:.3f}", f"{low:.3f} to {high:.3f}")
            kept.append({"phase": phase, "policy": title, "ms": ms, "ratio": ratio, "quartiles": [low, high]})
    CONSOLE.print(table)
    settings = {"data": "zinc", "graphs": GRAPHS, "picks": PICKS, "rounds": rounds, "threads": threads}
    CONSOLE.print(str(keep("shared_cost", {"settings": settings, "ratios": kept})))


if __name__ == "__main__":
    main()
