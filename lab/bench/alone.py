"""What is measured in a process of its own: ``python -m lab.bench.alone '{"dataset": ...}'`` prints it as JSON."""

from __future__ import annotations

import json
import sys
from typing import Any

import torch

from lab.bench.cases import CASES
from lab.bench.contenders import Batches, make_step
from lab.bench.memory import forget_peak, peak, resident
from lab.bench.systems import system_costs
from policylearn.nn import NetworkConfig
from policylearn.settings import DataConfig
from policylearn.training import load_source


def measure(words: dict[str, Any]) -> dict[str, Any]:
    """The most memory that one step of a contender takes, or times and peaks of a system.

    Args:
        words: dataset, case, phase, contender, batch_size, layers, channels and threads; or those of `system_costs`.
    """
    torch.set_num_threads(words["threads"])
    torch.manual_seed(0)
    source = load_source(DataConfig(name=words["dataset"]))
    if "system" in words:
        return system_costs(words, source)
    batches = Batches(source, words["batch_size"], 1)
    network = NetworkConfig(layers=words["layers"], channels=words["channels"])
    case = CASES[words["case"]]
    step = make_step(words["contender"], case, network, source, words["phase"], batches.small())
    batch = batches.get(0)
    before = resident()
    forget_peak()
    step(batch)
    return {"peak_bytes": peak() - before}


if __name__ == "__main__":
    sys.stdout.write(json.dumps(measure(json.loads(sys.argv[1]))) + "\n")
