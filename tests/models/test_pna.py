"""The aggregates of PNA, node by node."""

from __future__ import annotations

import torch

from policylearn.bags import Adjacency
from policylearn.models.systems.pna import VARIANCE_FLOOR, aggregates


def test_aggregates_are_those_of_each_nodes_messages() -> None:
    generator = torch.Generator().manual_seed(0)
    edges = torch.randint(9, (2, 30), generator=generator)
    edges[1][edges[1] == 4] = 5  # nobody sends to node 4
    adjacency = Adjacency.of(edges, 9)
    messages = torch.randn(30, 3, generator=generator, dtype=torch.float64)
    found = aggregates(messages, adjacency)
    assert not found[4].any()
    for node in set(range(9)) - {4}:
        own = messages[adjacency.target == node]
        deviation = torch.sqrt(own.var(0, correction=0) + VARIANCE_FLOOR)
        wanted = torch.stack([own.mean(0), own.amax(0), own.amin(0), deviation])
        assert torch.allclose(found[node], wanted, atol=1e-12)
