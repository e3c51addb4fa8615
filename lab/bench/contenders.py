"""Who is timed: our own model and the replicated one, each as a function of a batch."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
import torch
from torch import Tensor, nn
from torch.optim import Adam
from torch_geometric.data import Batch

from lab.bench.cases import Case, Form, Phase
from lab.bench.replicated import ReplicatedGNN
from policylearn.data import BatchLoader, make_batch
from policylearn.data.packed import Array
from policylearn.fast import accelerate, model_threads, while_training
from policylearn.models import EstimatorName, ModelConfig, NetworkConfig, PolicyConfig, build_model, calibrate
from policylearn.settings import OptimConfig
from policylearn.training import Source

Step = Callable[[Batch], None]
SAMPLES = PolicyConfig().samples
"""K, the bags that `rloo` draws per graph."""
CALIBRATION_ROWS = 1 << 12


class Batches:
    """Training batches of a dataset, a new one each round, the same for everybody.

    Args:
        source: the data.
        size: graphs of a batch.
        count: how many batches.
    """

    def __init__(self, source: Source, size: int, count: int) -> None:
        graphs, train = source.dataset.graphs, source.dataset.splits[0].train
        if source.dataset.task.level != "graph":
            raise ValueError(
                f"'{source.dataset.name}' has predictions per node; the benchmark takes datasets of graphs"
            )
        if len(train) < size:
            raise ValueError(
                f"'{source.dataset.name}' has {len(train)} training graphs and no batch of {size}; use --batch-size"
            )
        loader = BatchLoader(graphs, train, batch_size=size, shuffle=True, drop_last=True)
        self.source, self.size = source, size
        self.indices: list[Array] = []
        while len(self.indices) < count:
            loader.set_epoch(len(self.indices))
            self.indices += loader.index_batches()[: count - len(self.indices)]

    def get(self, turn: int, estimator: EstimatorName | None = None) -> Batch:
        """The batch of a round; for `rloo` a K-th of its graphs, since each graph has K bags."""
        return make_batch(self.source.dataset.graphs, self.indices[turn][: self.graphs(estimator)])

    def graphs(self, estimator: EstimatorName | None) -> int:
        """How many graphs a step takes, as `training.GraphDataModule` counts them."""
        if estimator != "rloo":
            return self.size
        if self.size % SAMPLES:
            raise ValueError(
                f"a batch of {self.size} cannot hold {SAMPLES} bags of each graph; make it a multiple of {SAMPLES}"
            )
        return self.size // SAMPLES

    def on(self, step: Step, estimator: EstimatorName | None = None) -> Callable[[int], None]:
        """A step on the batch of a round; batches are cut before anything is timed."""
        ready = [self.get(turn, estimator) for turn in range(len(self.indices))]
        return lambda turn: step(ready[turn])

    def small(self) -> Batch:
        """The smallest graphs of the first batch, at least one, whose full bags have few rows together."""
        sizes = self.source.dataset.graphs.num_nodes[self.indices[0]].astype(np.int64)
        order = np.argsort(sizes, kind="stable")
        fitting = int((np.cumsum((sizes * (sizes + 1))[order]) <= CALIBRATION_ROWS).sum())
        return make_batch(self.source.dataset.graphs, self.indices[0][order[: max(1, fitting)]])


def model_config(source: Source, case: Case, network: NetworkConfig, estimator: EstimatorName | None) -> ModelConfig:
    """The model of a case for a dataset."""
    return ModelConfig(
        node_features=source.node_features,
        edge_features=source.edge_features,
        outputs=source.dataset.task.outputs,
        prediction=network,
        policy=case.config(estimator),
    )


def make_ours(
    config: ModelConfig,
    source: Source,
    phase: Phase,
    small: Batch,
    generator: torch.Generator,
    form: Form = "cones",
) -> Step:
    """Our model's training step or inference, run once on a small batch so that everything is compiled.

    Args:
        config: the model.
        source: task and data.
        phase: which of the two.
        small: a batch to compile on and to take the norms' statistics from.
        generator: where the policy draws from.
        form: how much of the model is accelerated.
    """
    model, task = build_model(config), source.dataset.task
    if form != "plain":
        model = accelerate(model, cones=form == "cones")
    calibrate(model, [small], generator=generator)

    def loss(batch: Batch) -> Tensor:
        return model.objective(batch, batch.y, task.loss_terms, generator=generator).loss

    step = warm_step(model, phase, model, loss, small, fused=True)

    def threaded(batch: Batch) -> None:
        with while_training(model) if phase == "train" else model_threads(model):
            step(batch)

    return threaded


def make_replicated(
    config: ModelConfig, source: Source, phase: Phase, small: Batch, generator: torch.Generator
) -> Step:
    """The same of the replicated model; the arguments are those of `make_ours`."""
    model, task = ReplicatedGNN(config), source.dataset.task
    norms = [module for module in model.modules() if isinstance(module, nn.BatchNorm1d)]
    for norm in norms:
        norm.momentum = 1.0
    with torch.no_grad():
        model(small, generator=generator)  # leaves the batch's statistics in the norms, as `calibrate` does
    for norm in norms:
        norm.momentum = 0.1

    def output(batch: Batch) -> Tensor:
        drawn: Tensor = model(batch, generator=generator)
        return drawn

    def loss(batch: Batch) -> Tensor:
        return task.compute_loss(output(batch), batch.y)

    return warm_step(model, phase, output, loss, small)


def warm_step(
    model: nn.Module,
    phase: Phase,
    output: Callable[[Batch], Tensor],
    loss: Callable[[Batch], Tensor],
    small: Batch,
    *,
    fused: bool = False,
) -> Step:
    """A model's training step or inference, after one on a small batch; ``fused`` as of Adam."""

    def infer(batch: Batch) -> None:
        with torch.no_grad():
            output(batch)

    model.train(phase == "train")
    step = training_step(model.parameters(), loss, fused=fused) if phase == "train" else infer
    step(small)
    return step


def training_step(weights: Iterable[Tensor], loss: Callable[[Batch], Tensor], *, fused: bool) -> Step:
    """Forward, loss, backward and Adam."""
    settings = OptimConfig()
    adam = Adam(weights, lr=settings.learning_rate, eps=settings.eps, fused=fused)

    def step(batch: Batch) -> None:
        adam.zero_grad()
        torch.autograd.backward(loss(batch))
        adam.step()

    return step
