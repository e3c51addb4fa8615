"""Who is timed: our own model and the replicated one, each as a function of a batch."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor
from torch.optim import Adam
from torch_geometric.data import Batch

from lab.bench.cases import Case, Contender, Phase
from lab.bench.replicated import ReplicatedGNN
from lab.policy_model import policy_model
from policylearn.data import BatchLoader, make_batch
from policylearn.data.packed import Array
from policylearn.fast import accelerate, keep_freed_memory
from policylearn.models import Inputs, SubgraphGNN, calibrate
from policylearn.nn import NetworkConfig
from policylearn.settings import OptimConfig
from policylearn.training import Source

Step = Callable[[Batch], None]
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
        name = source.dataset.name
        if source.dataset.task.level != "graph":
            raise ValueError(f"'{name}' has predictions per node; the benchmark takes datasets of graphs")
        if len(train) < size:
            raise ValueError(f"'{name}' has {len(train)} training graphs and no batch of {size}; use --batch-size")
        loader = BatchLoader(graphs, train, batch_size=size, shuffle=True, drop_last=True)
        self.source, self.size = source, size
        self.indices: list[Array] = []
        while len(self.indices) < count:
            loader.set_epoch(len(self.indices))
            self.indices += loader.index_batches()[: count - len(self.indices)]

    def get(self, turn: int) -> Batch:
        """The batch of a round."""
        return make_batch(self.source.dataset.graphs, self.indices[turn])

    def on(self, step: Step) -> Callable[[int], None]:
        """A step on the batch of a round; batches are cut before anything is timed."""
        ready = [self.get(turn) for turn in range(len(self.indices))]
        return lambda turn: step(ready[turn])

    def small(self) -> Batch:
        """The smallest graphs of the first batch, at least one, whose full bags have few rows together."""
        sizes = self.source.dataset.graphs.num_nodes[self.indices[0]].astype(np.int64)
        order = np.argsort(sizes, kind="stable")
        fitting = int((np.cumsum((sizes * (sizes + 1))[order]) <= CALIBRATION_ROWS).sum())
        return make_batch(self.source.dataset.graphs, self.indices[0][order[: max(1, fitting)]])


def inputs_of(source: Source) -> Inputs:
    """What a model is built for."""
    return Inputs(source.node_features, source.edge_features, outputs=source.dataset.task.outputs)


def make_step(
    contender: Contender, case: Case, network: NetworkConfig, source: Source, phase: Phase, small: Batch
) -> Step:
    """A contender's training step or inference, run once on a small batch so that everything is compiled.

    Args:
        contender: who.
        case: the policy.
        network: of prediction and selection.
        source: task and data.
        phase: which of the two.
        small: a batch to compile on and to take the norms' statistics from.
    """
    task, ours = source.dataset.task, contender == "ours"
    model: SubgraphGNN | ReplicatedGNN
    if contender == "replicated":
        model = ReplicatedGNN(inputs_of(source), network, case.policy, case.picks)
    else:
        model = policy_model(case.selection, network, inputs_of(source))
        model = accelerate(model) if ours else model
    calibrate(model, [small])
    settings = OptimConfig()
    adam = Adam(model.parameters(), lr=settings.learning_rate, eps=settings.eps, fused=ours)

    def loss(batch: Batch) -> Tensor:
        if isinstance(model, ReplicatedGNN):
            return task.compute_loss(model(batch), batch.y)
        return model.objective(batch, batch.y, task.loss_terms).loss

    def once(batch: Batch) -> None:
        with torch.set_grad_enabled(phase == "train"):
            if phase == "infer":
                model(batch)
                return
            adam.zero_grad()
            torch.autograd.backward(loss(batch))
            adam.step()

    def step(batch: Batch) -> None:
        if ours and phase == "train":
            keep_freed_memory()
        once(batch)

    model.train(phase == "train")
    once(small)  # without keeping freed memory, in which a measured step would hide
    return step
