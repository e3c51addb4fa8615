"""The full bag of every graph of Reddit-Binary at inference: time and peak memory.

Run with ``python -m lab.benchmarks.full_bag [threads]``. The network is the paper's for this dataset (4 layers of 32
channels), with fresh weights, on which neither depends. The paper's full bag ran out of memory here.
"""

from __future__ import annotations

import sys
import time

import torch
from rich.progress import track

from lab.bench.memory import peak, resident
from lab.benchmarks.machine import keep
from policylearn.data import BatchLoader, load_dataset
from policylearn.fast import accelerate
from policylearn.models import ModelConfig, NetworkConfig, PolicyConfig, build_model

DATASET = "reddit-binary"
BATCH = 32
NETWORK = NetworkConfig(channels=32, layers=4, residual=False)
MIB = 2**20


def main(threads: int = 2) -> None:
    """Predict the whole dataset and keep what it took."""
    torch.set_num_threads(threads)
    torch.manual_seed(0)
    dataset = load_dataset(DATASET)
    config = ModelConfig(outputs=dataset.task.outputs, prediction=NETWORK, policy=PolicyConfig(name="full"))
    model = accelerate(build_model(config)).eval()
    sizes = dataset.graphs.num_nodes.astype("int64")
    loader = BatchLoader(dataset.graphs, range(len(sizes)), batch_size=BATCH)
    before, processor, clock = resident(), time.process_time(), time.perf_counter()
    finite = True
    with torch.no_grad():
        for batch in track(loader, description=f"full bags of {DATASET}", total=len(loader)):
            finite = finite and bool(model(batch).isfinite().all())
    result = {
        "dataset": DATASET,
        "graphs": len(sizes),
        "rows": int((sizes * (sizes + 1)).sum()),
        "channels": NETWORK.channels,
        "layers": NETWORK.layers,
        "max_rows": config.max_rows,
        "threads": threads,
        "seconds": round(time.perf_counter() - clock, 1),
        "processor_seconds": round(time.process_time() - processor, 1),
        "before_mib": round(before / MIB),
        "peak_mib": round(peak() / MIB),
        "finite": finite,
    }
    print(result)
    print(keep("full_bag", result))


if __name__ == "__main__":
    main(*(int(word) for word in sys.argv[1:]))
