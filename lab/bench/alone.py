"""Peak memory of one contender: ``python -m lab.bench.alone '{"dataset": ...}'`` prints it as JSON."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from typing import Any

import torch

from lab.bench.cases import CASES
from lab.bench.contenders import Batches, make_ours, make_replicated, model_config
from lab.bench.memory import forget_peak, peak, resident
from lab.bench.systems import system_peaks
from policylearn.models import NetworkConfig
from policylearn.settings import DataConfig
from policylearn.training import load_source


def measure_peak(words: dict[str, Any]) -> Mapping[str, int | str]:
    """Run one step on the first batch and tell the memory before it and the most that it took beyond that.

    Args:
        words: dataset, case, phase, contender, estimator, batch_size, layers, channels and threads; or system, dataset,
            batch_size, threads and phases, for the peaks of a system.
    """
    torch.set_num_threads(words["threads"])
    torch.manual_seed(0)
    source = load_source(DataConfig(name=words["dataset"]))
    if "system" in words:
        return system_peaks(words, source)
    batches = Batches(source, words["batch_size"], 1)
    network = NetworkConfig(layers=words["layers"], channels=words["channels"])
    config = model_config(source, CASES[words["case"]], network, words["estimator"])
    make = make_ours if words["contender"] == "ours" else make_replicated
    step = make(config, source, words["phase"], batches.small(), torch.Generator().manual_seed(0))
    batch = batches.get(0, words["estimator"])
    before = resident()
    forget_peak()
    step(batch)
    return {"before_bytes": before, "peak_bytes": peak() - before}


if __name__ == "__main__":
    sys.stdout.write(json.dumps(measure_peak(json.loads(sys.argv[1]))) + "\n")
