"""Two checkouts against each other, turn by turn in one run.

``python -m lab.benchmarks.against OLD NEW`` starts a process per checkout, which holds a model per case and does a step
when it is asked to. The processes take turns, so that a busy machine slows both alike; the time for which a step keeps
processors busy stands beside the time that passes, since others that run do not add to it. Each of the paths is a
checkout with ``src/policylearn`` in it; what is installed besides must serve both.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

CASES = ("learned-t2", "learned-t5", "random-t2", "full")
PHASES = ("train", "infer")
REST = 0.03
"""Seconds ahead of each step: threads of the one before go on asking for work for some milliseconds."""


class Worker:
    """A process that holds the models of a checkout."""

    def __init__(self, checkout: Path, words: dict[str, Any]) -> None:
        source = (checkout / "src").resolve()
        if not (source / "policylearn").is_dir():
            raise SystemExit(f"{checkout}: there is no src/policylearn; name a checkout")
        self.process = subprocess.Popen(
            [sys.executable, str(Path(__file__).resolve()), "--worker", json.dumps(words)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | {"PYTHONPATH": str(source)},
        )

    def seconds(self, case: str, phase: str, turn: int) -> tuple[float, float]:
        """How long one step on the batch of that turn takes, and how long it keeps processors busy."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        print(json.dumps([case, phase, turn]), file=self.process.stdin, flush=True)
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(f"the process of a checkout ended with {self.process.wait()}; its error stands above")
        elapsed, busy = map(float, line.split())
        return elapsed, busy

    def close(self) -> None:
        """End the process."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()


def work(words: dict[str, Any]) -> None:
    """Answer requests from standard input: the seconds of one step each."""
    import torch

    torch.set_num_threads(words["threads"])
    bench = _bench_room()
    cases = importlib.import_module(f"{bench}.cases")
    contenders = importlib.import_module(f"{bench}.contenders")
    training = importlib.import_module("policylearn.training")
    models = importlib.import_module("policylearn.models")
    source = training.load_source(training.DataConfig(name=words["dataset"]))
    batches = contenders.Batches(source, words["batch_size"], words["rounds"])
    network = models.NetworkConfig(layers=words["layers"], channels=words["channels"])
    steps: dict[tuple[str, str], tuple[Callable[[Any], None], str | None]] = {}
    for line in sys.stdin:
        name, phase, turn = json.loads(line)
        case = cases.CASES[name]
        estimator = "rloo" if case.policy == "learned" and phase == "train" else None
        if (name, phase) not in steps:
            torch.manual_seed(0)
            config = contenders.model_config(source, case, network, estimator)
            generator = torch.Generator().manual_seed(0)
            step = contenders.make_ours(config, source, phase, batches.small(), generator)
            steps[name, phase] = step, estimator
        step, estimator = steps[name, phase]
        batch = batches.get(turn, estimator)
        step(batch)  # as in training, where a step follows its like
        time.sleep(REST)
        start, busy = time.perf_counter(), time.process_time()
        step(batch)
        print(time.perf_counter() - start, time.process_time() - busy, flush=True)


def _bench_room() -> str:
    """Where a checkout has its benchmark."""
    for name in ("lab.bench", "policylearn.bench"):
        try:
            importlib.import_module(name)
        except ModuleNotFoundError:
            continue
        return name
    raise SystemExit("the checkout has no benchmark, neither lab.bench nor policylearn.bench")


def compare(old: Path, new: Path, words: dict[str, Any], cases: tuple[str, ...]) -> list[dict[str, Any]]:
    """The milliseconds of both checkouts in every case and phase, and their ratios."""
    workers = {"old": Worker(old, words), "new": Worker(new, words)}
    found = []
    for phase in PHASES:
        for case in cases:
            ms: dict[str, list[float]] = {name: [] for name in workers}
            busy_ms: dict[str, list[float]] = {name: [] for name in workers}
            for turn in range(-1, words["rounds"]):  # one round that does not count: it compiles what is compiled
                for name in list(workers) if turn % 2 else list(reversed(workers)):
                    elapsed, busy = workers[name].seconds(case, phase, max(turn, 0))
                    if turn >= 0:
                        ms[name].append(1000 * elapsed)
                        busy_ms[name].append(1000 * busy)
            ratios = {"medians": ratio(ms), "rounds": by_round(ms), "processor": ratio(busy_ms)}
            found.append({"case": case, "phase": phase, "old_over_new": ratios, "ms": ms, "busy_ms": busy_ms})
            medians = "  ".join(f"{name} {statistics.median(values):8.1f} ms" for name, values in ms.items())
            told = ", ".join(f"{value:.3f} ({name})" for name, value in ratios.items())
            print(f"{phase:5} {case:10}  {medians}  old over new: {told}", flush=True)
    for worker in workers.values():
        worker.close()
    return found


def ratio(ms: dict[str, list[float]]) -> float:
    """How many times as long the old one takes."""
    return statistics.median(ms["old"]) / statistics.median(ms["new"])


def by_round(ms: dict[str, list[float]]) -> float:
    """The same, as the median of the rounds' own ratios."""
    return statistics.median(a / b for a, b in zip(ms["old"], ms["new"], strict=True))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("old", type=Path, nargs="?", help="checkout to compare with")
    parser.add_argument("new", type=Path, nargs="?", help="checkout to look at")
    parser.add_argument("--dataset", default="zinc")
    parser.add_argument("--cases", nargs="+", default=list(CASES))
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--batch-size", type=int, default=128)
    parser.add_argument("--layers", type=int, default=6)
    parser.add_argument("--channels", type=int, default=64)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--json", type=Path, help="keep the raw times there")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        work(json.loads(options.worker))
        return
    if options.old is None or options.new is None:
        parser.error("name two checkouts: OLD NEW")
    words = {
        name: getattr(options, name) for name in ("dataset", "rounds", "batch_size", "layers", "channels", "threads")
    }
    load = [os.getloadavg()[0]]
    found = compare(options.old, options.new, words, tuple(options.cases))
    load.append(os.getloadavg()[0])
    print(f"load {load[0]:.1f} before, {load[1]:.1f} after")
    if options.json:
        record = {"old": str(options.old), "new": str(options.new), "settings": words, "load": load, "cases": found}
        options.json.write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
