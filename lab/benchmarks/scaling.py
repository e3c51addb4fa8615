"""What each stage costs on one core, for docs/scaling.md: ``python -m lab.benchmarks.scaling WORK [MOLECULES]``.

A table goes through the stages of ``policylearn predict`` one after the other in this process: reading rows, molecules
to graphs, the model, writing rows, joining parts. Times are processor seconds, so that other processes of the machine
weigh little. A training step is an epoch's processor time over its steps, validation included, at the least of the
epochs after the first. The all-reduce is gloo's between two processes on loopback, by the clock.
"""

from __future__ import annotations

import io
import json
import shutil
import statistics
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch import distributed
from torch.multiprocessing.spawn import start_processes

from lab.benchmarks.machine import keep
from lab.benchmarks.table_to_table import write_tables
from policylearn.cli import main
from policylearn.data.convert import open_rows
from policylearn.data.preparation import prepare_molecules
from policylearn.data.transforms import Transform
from policylearn.prediction import load
from policylearn.prediction.table_reader import CHUNK, read_chunks
from policylearn.prediction.table_writer import (
    Wanted,
    answer_block,
    columns_of,
    in_large_batches,
    table_writer,
    write_block,
)
from policylearn.settings.run_files import read_run_files
from policylearn.training.folds import read_history

MODELS = {"without descriptors": ["--data.transforms.descriptors", "null"], "with descriptors": []}
TRAINED_ON, EPOCHS, ROUNDS, PORT = 1000, 3, 50, 29511


@contextmanager
def timed(times: dict[str, float], name: str) -> Iterator[None]:
    """Add the processor time of a block to those of its stage."""
    begin = time.process_time()
    yield
    times[name] = times.get(name, 0.0) + time.process_time() - begin


def stages(run: Path, table: Path, work: Path) -> dict[str, float]:
    """Processor microseconds per molecule of each stage, and bytes per row of input and output."""
    predictor = load(run)
    wanted, output = in_large_batches(predictor, Wanted()), work / "out.csv"
    transforms = [Transform.from_json(stored) for stored in predictor.run.facts.transforms]
    times: dict[str, float] = {}
    with open_rows(table, smiles="smiles") as rows:
        with timed(times, "read"):
            chunks = list(read_chunks(rows, CHUNK))
        columns = columns_of(predictor, "picked_atoms", wanted)
        added = len(columns.names(rows.header))
    predictor.predict(chunks[0].smiles)  # compiles what is compiled
    text = io.StringIO()
    for chunk in chunks:
        with timed(times, "prepare"):
            block = chunk.block(prepare_molecules(chunk.smiles, transforms))
        with timed(times, "model"):
            answer = answer_block(predictor, block, wanted)
        with timed(times, "write"):
            write_block(table_writer(text, output), columns, block, answer, added)
    part = work / "part.rows"
    part.write_text(text.getvalue())
    with part.open(newline="") as source, output.open("w", newline="") as file, timed(times, "join"):
        shutil.copyfileobj(source, file)
    count = sum(len(chunk.cells) for chunk in chunks)
    sizes = {"input_bytes": table.stat().st_size / count, "output_bytes": part.stat().st_size / count}
    return {f"{name}_us": 1e6 * seconds / count for name, seconds in times.items()} | sizes


def training(run: Path) -> dict[str, float]:
    """A step's processor seconds and the bytes of its gradient."""
    files, history = read_run_files(run), read_history(run / "history.csv")
    weights, batch = sum(files.metrics["parameters"].values()), files.config.fit.batch_size
    steps = -(-int(TRAINED_ON * 0.8) // batch)
    return {
        "batch": batch,
        "parameters": weights,
        "gradient_bytes": 4 * weights,
        "steps": steps,
        "step_seconds": min(history["cpu_seconds"][1:]) / steps,
    }


def reduce_in_process(rank: int, sizes: list[int], path: str) -> None:
    """One of two processes that add their gradients."""
    distributed.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{PORT}", rank=rank, world_size=2)
    found = {}
    for size in sizes:
        gradient, seconds = torch.zeros(size), []
        for _ in range(ROUNDS):
            distributed.barrier()
            begin = time.perf_counter()
            distributed.all_reduce(gradient)
            seconds.append(time.perf_counter() - begin)
        found[size] = {"least": min(seconds), "median": statistics.median(seconds)}
    if rank == 0:
        Path(path).write_text(json.dumps(found))


def all_reduce(sizes: list[int], work: Path) -> dict[str, Any]:
    """Seconds of adding up so many numbers over two processes."""
    path = work / "all_reduce.json"
    start_processes(reduce_in_process, args=(sizes, str(path)), nprocs=2, start_method="spawn")  # type: ignore[no-untyped-call]
    found: dict[str, Any] = json.loads(path.read_text())
    return found


def measure(work: Path, molecules: int) -> dict[str, Any]:
    """All figures."""
    train, table = work / "train.csv", work / f"molecules-{molecules}.csv"
    if not table.exists():
        write_tables(work, molecules)
    record: dict[str, Any] = {"molecules": molecules, "models": {}}
    for name, words in MODELS.items():
        run = work / name.replace(" ", "-")
        if not (run / "metrics.json").exists():
            options = ["--target", "y", "--epochs", str(EPOCHS), "--no-baseline", "-o", str(run)]
            main(["train", str(train), *options, *words])
        record["models"][name] = {"predict": stages(run, table, work), "train": training(run)}
    sizes = {1, *(found["train"]["parameters"] for found in record["models"].values())}
    return record | {"all_reduce": all_reduce(sorted(sizes), work)}


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    result = measure(folder, int(sys.argv[2]) if len(sys.argv) > 2 else 10_000)
    print(json.dumps(result, indent=2))
    print(keep("scaling", result))
