"""Milliseconds of a training epoch, or of a pass over the test graphs."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

import torch

from policylearn.data import BatchLoader
from policylearn.fast import while_training
from policylearn.studies.experiments.declaration import Measure
from policylearn.training import RunConfig, Source, evaluate, make_model
from policylearn.training.module import RunModule
from policylearn.training.prepared_data import prepare_data


def measure_ms(config: RunConfig, source: Source, measure: Measure) -> float:
    """Time one round, after one that is not counted; times do not depend on the weights, so they are fresh ones.

    Args:
        config: the run.
        source: its data; of several folds, the first.
        measure: what to time.
    """
    if config.fit.threads:
        torch.set_num_threads(config.fit.threads)
    torch.manual_seed(config.fit.seed)
    prepared = prepare_data(config, source)
    dataset, split = prepared.dataset, source.dataset.splits[0]
    model = make_model(config, prepared.inputs)
    if measure == "train_ms":
        module = RunModule(model, dataset.task, config.optim, seed=config.fit.seed)
        samples = int(getattr(model, "bags_per_graph", 1))
        loader = BatchLoader(
            dataset.graphs,
            split.train,
            batch_size=config.fit.batch_size // samples,
            shuffle=True,
            seed=config.fit.seed,
            parts=samples,
        )
        with while_training(model):
            train_steps(module, loader, most=3)
            started = time.perf_counter()
            train_steps(module, loader)
            return (time.perf_counter() - started) * 1000
    batch_size = config.fit.evaluation_batch_size or config.fit.batch_size
    test = BatchLoader(dataset.graphs, split.test, batch_size=batch_size)
    with deterministic(measure == "test_ms_deterministic"):
        evaluate(model, test, dataset.task)
        started = time.perf_counter()
        evaluate(model, test, dataset.task)
        return (time.perf_counter() - started) * 1000


def train_steps(module: RunModule, loader: BatchLoader, most: int | None = None) -> None:
    """Steps over one epoch's batches, or over the first few of them."""
    module.train()
    optimizer = module.configure_optimizers()["optimizer"]
    for step, batch in enumerate(loader):
        if step == most:
            break
        optimizer.zero_grad()
        torch.autograd.backward(module.training_step(batch, step))
        optimizer.step()


@contextmanager
def deterministic(wanted: bool) -> Iterator[None]:
    """Torch's deterministic algorithms for the length of a block."""
    before = torch.are_deterministic_algorithms_enabled()
    torch.use_deterministic_algorithms(wanted)
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(before)
