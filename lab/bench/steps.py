"""What is timed: a training step or inference of one contender, built and warmed up in this process."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Literal

import msgspec
import numpy as np
import psutil
import torch
from torch import Tensor
from torch.optim import Adam
from torch_geometric.data import Batch

from lab.bench.replicated import ReplicatedGNN
from lab.provenance import forget_peak, peak
from lab.settings import policy_model
from policylearn.data import make_batch
from policylearn.data.packed import Array
from policylearn.fast import accelerate, keep_freed_memory
from policylearn.models import Inputs, calibrate
from policylearn.nn import NetworkConfig
from policylearn.settings import DataConfig, OptimConfig
from policylearn.training import Source, load_source
from policylearn.training.evaluation import scored

Phase = Literal["train", "infer"]
PHASES: tuple[Phase, ...] = ("train", "infer")
CONTENDERS = ("ours", "plain", "replicated")
"""Our model, the same in plain PyTorch, and the method as it is usually written with PyG."""
CASES: dict[str, dict[str, Any]] = {
    "none": {"name": "none"},
    "random-t2": {"name": "random", "picks": 2},
    "random-t5": {"name": "random", "picks": 5},
    "learned-t2": {"name": "learned", "picks": 2},
    "straight-t2": {"name": "learned", "picks": 2, "estimator": "straight_through"},
    "learned-t5": {"name": "learned", "picks": 5},
    "straight-t5": {"name": "learned", "picks": 5, "estimator": "straight_through"},
    "full": {"name": "full"},
}
"""Settings of the policies; an estimator that is not the default is timed in training alone."""
TRIAL_GRAPHS = 8
"""Graphs of the batch on which everything is compiled and the norms' statistics are taken."""
SHORT = 4.0
"""Seconds; what takes longer is not run a second time ahead of each time that is taken."""
QUIET = 0.03
"""Seconds of rest ahead of each turn: threads of the one before keep asking for work for some milliseconds."""


class StepSpec(msgspec.Struct, frozen=True):
    """A step to build.

    Args:
        case: a name of `CASES`.
        contender: one of `CONTENDERS`.
        layers: of all networks.
    """

    dataset: str
    case: str
    contender: str
    phase: Phase
    batch_size: int
    rounds: int
    threads: int = 1
    layers: int = 6
    channels: int = 64


def title_of(case: str) -> str:
    """A case for people."""
    selection = CASES[case]
    picks = f" T={selection['picks']}" if "picks" in selection else ""
    return ", ".join([selection["name"] + picks, *([selection["estimator"]] if "estimator" in selection else [])])


class Steps:
    """A model with a batch ready for every round; structures that it reads are no part of a step."""

    def __init__(self, spec: StepSpec) -> None:
        torch.set_num_threads(spec.threads)
        torch.manual_seed(0)
        source = load_source(DataConfig(name=spec.dataset))
        self.model, self.step = build(spec, source)
        graphs, rows = source.dataset.graphs, batch_rows(source, spec.batch_size, spec.rounds)
        self.batches = [make_batch(graphs, chosen) for chosen in rows]
        smallest = rows[0][np.argsort(graphs.num_nodes[rows[0]], kind="stable")[:TRIAL_GRAPHS]]
        trial = make_batch(graphs, smallest)
        calibrate(self.model, [trial])
        self.model.train(spec.phase == "train")
        self.step(trial)  # compiles what is compiled
        self.keeps_memory = spec.phase == "train" and spec.contender == "ours"
        self.is_short = True

    def peak_bytes(self) -> int:
        """The most that a step holds beyond program, data and model; Linux alone can tell."""
        before = int(psutil.Process().memory_info().rss)
        forget_peak()
        self.step(self.batches[0])
        return peak() - before

    def milliseconds(self, turn: int) -> tuple[float, float]:
        """Of the clock and of the processor, for the batch of a round."""
        if self.keeps_memory:
            keep_freed_memory()
        batch, began = self.batches[turn], time.perf_counter()
        if self.is_short:
            self.step(batch)  # as in training, where a step follows its like
            self.is_short = time.perf_counter() - began < SHORT
        time.sleep(QUIET)
        start, busy = time.perf_counter(), time.process_time()
        self.step(batch)
        return 1000 * (time.perf_counter() - start), 1000 * (time.process_time() - busy)


def batch_rows(source: Source, size: int, count: int) -> list[Array]:
    """Positions of the training graphs of each round's batch, the same for everybody."""
    name, train = source.dataset.name, source.dataset.splits[0].train
    if source.dataset.task.level != "graph":
        raise ValueError(f"'{name}' has predictions per node; the benchmark takes datasets of graphs")
    if len(train) < size:
        raise ValueError(f"'{name}' has {len(train)} training graphs and no batch of {size}; use --batch-size")
    return [np.random.default_rng(turn).permutation(train)[:size] for turn in range(count)]


def build(spec: StepSpec, source: Source) -> tuple[torch.nn.Module, Callable[[Batch], None]]:
    """A contender's model and its step."""
    task = source.dataset.task
    model: torch.nn.Module
    network = NetworkConfig(layers=spec.layers, channels=spec.channels)
    inputs = Inputs(source.node_features, source.edge_features, outputs=task.outputs)
    selection = CASES[spec.case]
    if spec.contender == "replicated":
        model = ReplicatedGNN(inputs, network, selection["name"], selection.get("picks", 0))
    else:
        model = policy_model(selection, network, inputs)
        model = accelerate(model) if spec.contender == "ours" else model
    optim = OptimConfig()
    adam = Adam(model.parameters(), lr=optim.learning_rate, eps=optim.eps, fused=spec.contender == "ours")

    def loss(batch: Batch) -> Tensor:
        if isinstance(model, ReplicatedGNN):
            return task.compute_loss(model(batch), batch.y)
        objective: Any = model.objective
        found: Tensor = objective(batch, batch.y, task.loss_terms).loss
        return found

    def step(batch: Batch) -> None:
        adam.zero_grad()
        torch.autograd.backward(loss(batch))
        adam.step()

    def infer(batch: Batch) -> None:
        with torch.inference_mode():  # as `predict`
            scored(model, batch)

    return model, step if spec.phase == "train" else infer
