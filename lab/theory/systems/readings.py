"""What is compared of a system: its output, or, where it draws, all outputs that a draw may lead to and their mean."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch_geometric.data import Batch

from policylearn.bags import Graphs, Selection
from policylearn.data import PackedGraphs, make_batch
from policylearn.models import SubgraphGNN
from policylearn.models.systems.hymn import TIES, centrality

TOGETHER = 8
"""Graphs that go through a network together."""


@dataclass(frozen=True)
class Draws:
    """What a model gives for one graph.

    Args:
        outputs: of every possible draw; one row where nothing is drawn.
        chances: of these draws.

    Shapes:
        outputs ``(D, K)``, chances ``(D,)``.
    """

    outputs: Tensor
    chances: Tensor

    @staticmethod
    def evenly(outputs: Tensor) -> Draws:
        """Every draw with the same chance."""
        return Draws(outputs, outputs.new_full((len(outputs),), 1 / len(outputs)))

    @property
    def mean(self) -> Tensor:
        """The expected output, ``(K,)``."""
        return self.chances @ self.outputs


Reading = Callable[[Any, PackedGraphs], list[Draws]]
"""From a model and graphs to what it gives for each."""


def output(model: Any, graphs: PackedGraphs) -> list[Draws]:
    """The output itself: systems that draw nothing have one."""
    return [Draws.evenly(row.unsqueeze(0)) for batch in parts_of(graphs) for row in model(batch)]


def picks_of_policy(model: SubgraphGNN, graphs: PackedGraphs) -> list[Draws]:
    """Every node as the one pick, with the chance that the learned policy draws it."""

    def chances(alone: Graphs) -> Tensor:
        logits = model.select(alone).logits
        assert logits is not None, "a learned policy has scores"
        return logits[0].softmax(0)

    return each_pick(model, graphs, chances)


def uniform_picks(model: SubgraphGNN, graphs: PackedGraphs) -> list[Draws]:
    """Every node as the one pick, all with the same chance."""
    return each_pick(model, graphs, lambda alone: torch.full((alone.num_nodes,), 1 / alone.num_nodes).double())


def central_picks(model: SubgraphGNN, graphs: PackedGraphs) -> list[Draws]:
    """The most central nodes as the one pick; the order of nodes, which decides between equals, is left out."""

    def chances(alone: Graphs) -> Tensor:
        score = centrality(alone)
        best = score >= score.max() * (1 - TIES)
        return best.double() / best.sum()

    return each_pick(model, graphs, chances)


def each_pick(model: SubgraphGNN, graphs: PackedGraphs, chances: Callable[[Graphs], Tensor]) -> list[Draws]:
    """The outputs of all bags of one mark."""
    found = []
    for graph in range(len(graphs)):
        chance = chances(Graphs.of(make_batch(graphs, [graph])))
        nodes = chance.nonzero().squeeze(1)
        batch = make_batch(graphs, [graph] * len(nodes))
        roots = batch.ptr[:-1] + nodes
        found.append(Draws(model.predict(batch, Selection(roots.unsqueeze(0))), chance[nodes]))
    return found


def each_deletion(model: Any, graphs: PackedGraphs) -> list[Draws]:
    """The outputs of all masks that leave one node out, all with the same chance."""
    found = []
    for graph, size in enumerate(graphs.num_nodes.tolist()):
        batch = make_batch(graphs, [graph] * size)
        mask = 1 - torch.eye(size, dtype=torch.float64).reshape(-1, 1)  # copy v of the graph lacks node v
        found.append(Draws.evenly(model.predict(batch, mask)))
    return found


def without_eigenvectors(model: Any, graphs: PackedGraphs) -> list[Draws]:
    """The output with a Laplacian encoding of zeros: that of repeated eigenvalues is no function of the graph."""
    found = []
    for batch in parts_of(graphs):
        batch.laplacian_encoding = torch.zeros_like(batch.laplacian_encoding)
        found += [Draws.evenly(row.unsqueeze(0)) for row in model(batch)]
    return found


def parts_of(graphs: PackedGraphs) -> Iterator[Batch]:
    """The graphs, so many at a time as go through a network together."""
    for first in range(0, len(graphs), TOGETHER):
        yield make_batch(graphs, range(first, min(first + TOGETHER, len(graphs))))
