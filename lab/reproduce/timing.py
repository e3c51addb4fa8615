"""Milliseconds of a training epoch, or of a pass over the test graphs."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice

import torch
from torch.nn.utils import clip_grad_norm_
from torch.optim import Optimizer
from torch_geometric.data import Batch

from lab.reproduce.declaration import Measure
from policylearn.data import BatchLoader, Task
from policylearn.fast import keep_freed_memory
from policylearn.settings import RunConfig
from policylearn.training import Source, evaluate, make_model
from policylearn.training.module import RunModule
from policylearn.training.prepared_data import prepare_data


def measure_ms(config: RunConfig, source: Source, measure: Measure) -> float:
    """Time one round, after one that is not counted; times do not depend on the weights, so they are fresh ones."""
    if config.fit.threads:
        torch.set_num_threads(config.fit.threads)
    torch.manual_seed(config.fit.seed)
    prepared = prepare_data(config, source)
    dataset, split = prepared.dataset, source.dataset.splits[0]
    model = make_model(config, prepared.inputs)
    if measure == "train_ms":
        steps = TrainingSteps(model, dataset.task, config)
        size, seed = config.fit.batch_size, config.fit.seed
        loader = BatchLoader(dataset.graphs, split.train, batch_size=size, shuffle=True, seed=seed)
        keep_freed_memory()
        steps.epoch(loader, most=3)
        started = time.perf_counter()
        steps.epoch(loader)
        return (time.perf_counter() - started) * 1000
    batch_size = config.fit.evaluation_batch_size or config.fit.batch_size
    test = BatchLoader(dataset.graphs, split.test, batch_size=batch_size)
    with deterministic(measure == "test_ms_deterministic"):
        evaluate(model, test, dataset.task)
        started = time.perf_counter()
        evaluate(model, test, dataset.task)
        return (time.perf_counter() - started) * 1000


class TrainingSteps:
    """Steps as a training makes them, without its loop: loss, gradients, their limit, optimiser."""

    def __init__(self, model: torch.nn.Module, task: Task, config: RunConfig) -> None:
        # A rate's schedule may ask how many steps there will be, and takes no time worth counting.
        optim = config.optim.replace(schedule="step", milestones=())
        self.module = RunModule(model, task, optim, seed=config.fit.seed)
        self.optimizer: Optimizer = self.module.configure_optimizers()["optimizer"]
        self.clip = config.optim.gradient_clip

    def step(self, batch: Batch, number: int = 0) -> None:
        """One step; ASAM works out the gradients twice, so the optimiser is told how."""

        def closure() -> torch.Tensor:
            self.optimizer.zero_grad()
            loss = self.module.training_step(batch, number)
            torch.autograd.backward(loss)
            if self.clip:
                clip_grad_norm_(self.module.parameters(), self.clip)
            return loss

        self.module.train()
        self.module.on_train_batch_start(batch, number)
        self.optimizer.step(closure)  # type: ignore[arg-type]  # declared to give a float, which nobody reads

    def epoch(self, loader: BatchLoader, most: int | None = None) -> None:
        """Steps over one epoch's batches, or over the first few of them."""
        for number, batch in enumerate(islice(loader, most)):
            self.step(batch, number)


@contextmanager
def deterministic(wanted: bool) -> Iterator[None]:
    """Torch's deterministic algorithms for the length of a block."""
    before = torch.are_deterministic_algorithms_enabled()
    torch.use_deterministic_algorithms(wanted)
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(before)
