"""Two checkouts against each other, turn by turn in one run.

``python -m lab.bench.against OLD NEW`` starts a process per checkout, which holds a model per case and does a step when
it is asked to. The processes take turns, so that a busy machine slows both alike; the time for which a step keeps
processors busy stands beside the time that passes, since others that run do not add to it. Each of the paths is a
checkout with ``src/policylearn`` in it, of version 0.2 or later; what is installed besides must serve both.

Beside steps there are the first step of a fresh installation, with all that is compiled for it, and ``--help``. With
``--keep`` the record goes to results/bench.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

CASES: dict[str, dict[str, Any]] = {
    "learned-t2": {"name": "learned", "picks": 2, "estimator": "reinforce"},
    "learned-t5": {"name": "learned", "picks": 5, "estimator": "reinforce"},
    "random-t2": {"name": "random", "picks": 2},
    "full": {"name": "full"},
}
PHASES = ("train", "infer")
RECORD = Path(__file__).parents[2] / "results" / "bench" / "against.json"
REST = 0.03
"""Seconds ahead of each step: threads of the one before go on asking for work for some milliseconds."""


class CheckoutWorker:
    """A process that holds the models of a checkout."""

    def __init__(self, checkout: Path, words: dict[str, Any], **variables: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, str(Path(__file__).resolve()), "--worker", json.dumps(words)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment(checkout) | variables,
        )

    def seconds(self, case: str, phase: str, turn: int) -> tuple[float, float, float]:
        """How long one step on the batch of that turn takes, and how long it, and all before it, keeps processors busy.

        The first time a step is asked for, the last is what building its model and compiling take.
        """
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        print(json.dumps([case, phase, turn]), file=self.process.stdin, flush=True)
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(f"the process of a checkout ended with {self.process.wait()}; its error stands above")
        elapsed, busy, ahead = map(float, line.split())
        return elapsed, busy, ahead

    def close(self) -> None:
        """End the process."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()


def environment(checkout: Path) -> dict[str, str]:
    """That of a process which imports the checkout's package."""
    source = (checkout / "src").resolve()
    if not (source / "policylearn").is_dir():
        raise SystemExit(f"{checkout}: there is no src/policylearn; name a checkout")
    return os.environ | {"PYTHONPATH": str(source)}


def work(words: dict[str, Any]) -> None:
    """Answer requests from standard input: the seconds of one step each.

    The checkout's own modules are imported by name, since its version is not that of this file.
    """
    import numpy as np
    import torch

    data, fast, models, settings, training = (
        importlib.import_module(f"policylearn.{name}") for name in ("data", "fast", "models", "settings", "training")
    )
    torch.set_num_threads(words["threads"])
    source = training.load_source(settings.DataConfig(name=words["dataset"]))
    order = np.random.default_rng(0).permutation(source.dataset.splits[0].train)
    size, count = words["batch_size"], words["rounds"]
    batches = [data.make_batch(source.dataset.graphs, order[size * turn : size * (turn + 1)]) for turn in range(count)]
    steps: dict[tuple[str, str], Callable[[Any], None]] = {}
    for line in sys.stdin:
        name, phase, turn = json.loads(line)
        asked = time.process_time()
        if (name, phase) not in steps:
            torch.manual_seed(0)
            model = fast.accelerate(build(models, source, CASES[name], words))
            models.calibrate(model, [data.make_batch(source.dataset.graphs, order[:8])])
            steps[name, phase] = make_step(fast, model, source.dataset.task, phase)
        step, batch = steps[name, phase], batches[turn]
        step(batch)  # as in training, where a step follows its like
        ahead = time.process_time() - asked
        time.sleep(REST)
        start, busy = time.perf_counter(), time.process_time()
        step(batch)
        print(time.perf_counter() - start, time.process_time() - busy, ahead, flush=True)


def build(models: Any, source: Any, selection: dict[str, Any], words: dict[str, Any]) -> Any:
    """A model of a checkout."""
    network = {"layers": words["layers"], "channels": words["channels"]}
    features = {
        "node_features": source.node_features,
        "edge_features": source.edge_features,
        "outputs": source.dataset.task.outputs,
    }
    if hasattr(models, "ModelConfig"):  # version 0.2
        policy = models.PolicyConfig(**selection)
        config = models.ModelConfig(**features, prediction=models.NetworkConfig(**network), policy=policy)
        return models.build_model(config)
    return models.build_model(
        settings={"prediction": network, "selection": selection}, inputs=models.Inputs(**features)
    )


def make_step(fast: Any, model: Any, task: Any, phase: str) -> Callable[[Any], None]:
    """A training step or inference."""
    import torch

    adam = torch.optim.Adam(model.parameters(), lr=1e-3, fused=True)
    model.train(phase == "train")
    fast.keep_freed_memory()

    def train(batch: Any) -> None:
        with fast.while_training(model) if hasattr(fast, "while_training") else nullcontext():  # version 0.2
            adam.zero_grad()
            model.objective(batch, batch.y, task.loss_terms).loss.backward()
            adam.step()

    def infer(batch: Any) -> None:
        with torch.no_grad():
            model(batch)

    return train if phase == "train" else infer


def compare(old: Path, new: Path, words: dict[str, Any], cases: list[str]) -> list[dict[str, Any]]:
    """The milliseconds of both checkouts in every case and phase, and their ratios."""
    workers = {"old": CheckoutWorker(old, words), "new": CheckoutWorker(new, words)}
    found = []
    for phase in PHASES:
        for case in cases:
            ms: dict[str, list[float]] = {name: [] for name in workers}
            busy_ms: dict[str, list[float]] = {name: [] for name in workers}
            for turn in range(-1, words["rounds"]):  # one round that does not count: it compiles what is compiled
                for name in list(workers) if turn % 2 else list(reversed(workers)):
                    elapsed, busy, _ = workers[name].seconds(case, phase, max(turn, 0))
                    if turn >= 0:
                        ms[name].append(1000 * elapsed)
                        busy_ms[name].append(1000 * busy)
            ratios = {"clock": ratio(ms), "processor": ratio(busy_ms)}
            found.append({"case": case, "phase": phase, "old_over_new": ratios, "ms": ms, "busy_ms": busy_ms})
            medians = "  ".join(f"{name} {statistics.median(values):8.1f} ms" for name, values in ms.items())
            told = ", ".join(f"{value:.3f} ({name})" for name, value in ratios.items())
            print(f"{phase:5} {case:10}  {medians}  old over new: {told}", flush=True)
    for worker in workers.values():
        worker.close()
    return found


def first_use(checkout: Path, words: dict[str, Any]) -> float:
    """Processor seconds until the first training step is done where nothing has been compiled yet."""
    with tempfile.TemporaryDirectory() as folder:
        worker = CheckoutWorker(checkout, words, NUMBA_CACHE_DIR=folder)
        ahead = worker.seconds("learned-t2", "train", 0)[2]
        worker.close()
        return ahead


def startup(checkout: Path) -> float:
    """Processor seconds of ``policylearn --help``, the least of three."""
    words = [sys.executable, "-c", "from policylearn.cli import main; main(['--help'])"]
    spent = []
    for _ in range(3):
        before = os.times()
        subprocess.run(words, env=environment(checkout), stdout=subprocess.DEVNULL, check=False)
        after = os.times()
        spent.append(after.children_user + after.children_system - before.children_user - before.children_system)
    return min(spent)


def table(record: dict[str, Any]) -> str:
    """The record as the page holds it."""
    rows = []
    for case in record["cases"]:
        old, new = (f"{statistics.median(case['busy_ms'][name]):.0f} ms" for name in ("old", "new"))
        what = {"train": "training step", "infer": "inference"}[case["phase"]]
        rows.append((f"{what}, {case['case']}", old, new, f"{case['old_over_new']['processor']:.2f}"))
    for name, (before, now) in record["seconds"].items():
        rows.append((name, f"{before:.2f} s", f"{now:.2f} s", f"{before / now:.2f}"))
    lines = [("what", "old", "new", "old over new"), ("---", "---:", "---:", "---:"), *rows]
    told = ", ".join(f"{name} {value}" for name, value in record["settings"].items())
    where = f"Processor time, median of the rounds; old is {record['old']}, new is {record['new']}; {told}."
    return "\n".join(f"| {' | '.join(row)} |" for row in lines) + f"\n\n{where}"


def ratio(ms: dict[str, list[float]]) -> float:
    """How many times as long the old one takes: the median of the rounds' own ratios."""
    return statistics.median(a / b for a, b in zip(ms["old"], ms["new"], strict=True))


def main() -> None:
    """Read the options and compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old", type=Path, nargs="?", help="checkout to compare with")
    parser.add_argument("new", type=Path, nargs="?", help="checkout to look at")
    parser.add_argument("--dataset", default="zinc")
    parser.add_argument("--cases", nargs="+", choices=list(CASES), default=list(CASES))
    for name, default in (("rounds", 15), ("batch-size", 128), ("layers", 6), ("channels", 64), ("threads", 2)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--keep", action="store_true", help="keep the record as results/bench/against.json")
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
    both = options.old, options.new
    found = compare(*both, words, options.cases)
    seconds = {
        "first step of a fresh installation": [first_use(one, words) for one in both],
        "`policylearn --help`": [startup(one) for one in both],
    }
    for name, (before, now) in seconds.items():
        print(f"{name}: old {before:.2f} s, new {now:.2f} s of a processor")
    load.append(os.getloadavg()[0])
    print(f"load {load[0]:.1f} before, {load[1]:.1f} after")
    if options.keep:
        names = {name: revision(path) for name, path in (("old", both[0]), ("new", both[1]))}
        record = names | {"settings": words, "load": load, "seconds": seconds, "cases": found}
        RECORD.write_text(json.dumps(record, indent=1) + "\n")


def revision(checkout: Path) -> str:
    """The commit of a checkout."""
    words = ["git", "-C", str(checkout), "rev-parse", "--short", "HEAD"]
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout.strip()


if __name__ == "__main__":
    main()
