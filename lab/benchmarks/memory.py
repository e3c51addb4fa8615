"""Peak memory: of a training step against T, and of the full bag at inference against `max_rows`.

Run with ``python -m lab.benchmarks.memory``. Each setting has a process of its own, whose peak resident memory the
system tells; what is resident right before the step (program, data and model) is taken off. The C library is told to
give freed tensors back at once: by default it keeps those below 32 MiB, which hides small differences.
"""

from __future__ import annotations

import json
import sys
import time
from dataclasses import asdict, replace
from typing import Any

import numpy as np
import torch
from rich.console import Console
from rich.table import Table

from lab.bench.memory import peak, resident, run_alone
from lab.benchmarks.machine import PROJECT, keep
from policylearn.data import Dataset, load_dataset, make_batch
from policylearn.fast import accelerate
from policylearn.models import ModelConfig, NetworkConfig, PolicyConfig, build_model

DATASET = "reddit-binary"
PICKS = (1, 2, 4, 8)
POLICIES = {
    "random": PolicyConfig(name="random"),
    "learned, straight_through": PolicyConfig(estimator="straight_through"),
    "learned, rloo with K = 2": PolicyConfig(estimator="rloo", samples=2),
}
TRAINING_GRAPHS = 32
MAX_ROWS = (1 << 14, 1 << 16, 1 << 18, 1 << 20)
FULL_CASES = [(1, rows) for rows in MAX_ROWS] + [(2, 1 << 18)]
TRAINED = NetworkConfig(channels=32, layers=4)
STREAMED = NetworkConfig(channels=16, layers=3)
TOLERANCE = 1e-3
MIB = 2**20
CONSOLE = Console(width=110)


def training_step(dataset: Dataset, policy: str, picks: int) -> dict[str, Any]:
    """One step, optimiser included, on the first graphs of the dataset."""
    batch = make_batch(dataset.graphs, np.arange(TRAINING_GRAPHS))
    settings = replace(POLICIES[policy], picks=picks)
    config = ModelConfig(outputs=dataset.task.outputs, prediction=TRAINED, policy=settings)
    model = accelerate(build_model(config)).train()
    optimiser = torch.optim.Adam(model.parameters(), lr=1e-3)
    before, start = resident(), time.process_time()
    model.objective(batch, batch.y, dataset.task.loss_terms).loss.backward()  # type: ignore[no-untyped-call]
    optimiser.step()
    return {"nodes": batch.num_nodes, "before": before, "step": peak() - before, "seconds": time.process_time() - start}


def full_bag(dataset: Dataset, max_rows: int, count: int) -> dict[str, Any]:
    """The full bag of the largest graphs, one batch."""
    largest = np.argsort(-dataset.graphs.num_nodes, kind="stable")[:count]
    batch = make_batch(dataset.graphs, largest)
    config = ModelConfig(
        outputs=dataset.task.outputs, prediction=STREAMED, policy=PolicyConfig(name="full"), max_rows=max_rows
    )
    torch.manual_seed(0)
    model = accelerate(build_model(config)).eval()
    sizes = dataset.graphs.num_nodes[largest].astype(np.int64)
    before, start = resident(), time.process_time()
    with torch.no_grad():
        output = model(batch)
    return {
        "sizes": sizes.tolist(),
        "rows": int((sizes * (sizes + 1)).sum()),
        "before": before,
        "step": peak() - before,
        "seconds": time.process_time() - start,
        "output": output.flatten().tolist(),
    }


def measure(case: dict[str, Any]) -> dict[str, Any]:
    """Run one case in a process of its own and return the case with what it found."""
    return case | run_alone("lab.benchmarks.memory", case, PROJECT)


def run_case(case: dict[str, Any]) -> None:
    """What the process of one case does."""
    torch.set_num_threads(1)
    dataset = load_dataset(DATASET)
    run = training_step if "picks" in case else full_bag
    print(json.dumps(run(dataset, **case)))


def straight_line(rows: list[dict[str, Any]]) -> dict[str, float]:
    """Fit step = constant + slope * T; R squared says how straight it is."""
    picks, step = np.array([row["picks"] for row in rows]), np.array([row["step"] for row in rows]) / MIB
    slope, constant = np.polyfit(picks, step, 1)
    left = step - (constant + slope * picks)
    r2 = 1 - (left @ left) / ((step - step.mean()) @ (step - step.mean()))
    return {"constant_mib": float(constant), "slope_mib": float(slope), "r2": float(r2)}


def difference(rows: list[dict[str, Any]]) -> float:
    """How far the outputs of the largest graph differ between the settings, against the largest output."""
    outputs = np.array([row["output"] for row in rows if row["count"] == 1])
    return float(np.ptp(outputs, axis=0).max() / np.abs(outputs).max())


def main() -> None:
    """Measure everything, print two tables, keep the result."""
    torch.set_num_threads(1)  # as in the processes of the cases: the record says so
    training = [measure({"policy": policy, "picks": picks}) for policy in POLICIES for picks in PICKS]
    lines = {policy: straight_line([row for row in training if row["policy"] == policy]) for policy in POLICIES}
    show_training(training, lines)
    full = [measure({"max_rows": rows, "count": count}) for count, rows in FULL_CASES]
    show_full(full)
    settings = {"dataset": DATASET, "trained": asdict(TRAINED), "streamed": asdict(STREAMED)}
    result: dict[str, Any] = settings | {
        "training": training,
        "lines": lines,
        "full_bag": full,
        "difference": difference(full),
    }
    CONSOLE.print(f"kept in {keep('memory', result).relative_to(PROJECT)}")
    if result["difference"] > TOLERANCE:
        raise SystemExit("the pieces change the output by more than rounding")


def show_training(rows: list[dict[str, Any]], lines: dict[str, dict[str, float]]) -> None:
    """Print the peaks of a training step and the lines through them."""
    what = f"{TRAINING_GRAPHS} graphs of {DATASET} ({rows[0]['nodes']:,} nodes), {describe(TRAINED)}"
    table = Table(title=f"a training step on {what}")
    for heading in ("policy", "T", "peak of the step MiB", "CPU seconds"):
        table.add_column(heading, justify="left" if heading == "policy" else "right")
    for row in rows:
        table.add_row(row["policy"], str(row["picks"]), f"{row['step'] / MIB:,.0f}", f"{row['seconds']:.2f}")
    CONSOLE.print(table)
    for policy, line in lines.items():
        fitted = f"{line['constant_mib']:.0f} MiB + {line['slope_mib']:.0f} MiB x T, R² = {line['r2']:.4f}"
        CONSOLE.print(f"{policy}: {fitted}")


def show_full(rows: list[dict[str, Any]]) -> None:
    """Print the peaks of the full bag."""
    table = Table(title=f"the full bag of the largest graphs of {DATASET} at inference, {describe(STREAMED)}")
    for heading in ("nodes", "rows of the bag", "max_rows", "peak of the pass MiB", "CPU seconds"):
        table.add_column(heading, justify="right")
    for row in rows:
        sizes = " + ".join(f"{size:,}" for size in row["sizes"])
        numbers = (f"{row['rows']:,}", f"{row['max_rows']:,}", f"{row['step'] / MIB:,.0f}", f"{row['seconds']:.1f}")
        table.add_row(sizes, *numbers)
    CONSOLE.print(table)
    CONSOLE.print(f"outputs differ by {difference(rows):.1e} of the largest between the settings: rounding")


def describe(network: NetworkConfig) -> str:
    """The size of a network in words."""
    return f"{network.layers} layers, {network.channels} channels"


if __name__ == "__main__":
    if len(sys.argv) > 1:
        run_case(json.loads(sys.argv[1]))
    else:
        main()
