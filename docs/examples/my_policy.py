"""A policy of your own: marks the nodes that lie farthest from all others."""

import torch

from policylearn.bags import Graphs, Selection
from policylearn.policies import POLICIES, PickSettings, PolicyKind, RankedPolicy


def mean_distance(graphs: Graphs, steps: int) -> torch.Tensor:
    """How many nodes a node does not reach within some steps, ``(N,)``."""
    reached = torch.eye(graphs.num_nodes, dtype=torch.float64)
    for _ in range(steps):
        reached = reached.index_add(0, graphs.edge_index[1], reached[graphs.edge_index[0]]).clamp(max=1)
    return -reached.sum(1)


class RemoteSettings(PickSettings, frozen=True):
    """The most remote nodes are picked."""

    steps: int = 2
    """How far a node looks."""


class RemotePolicy:
    """Picks the T nodes that reach the fewest others."""

    def __init__(self, picks: int, steps: int) -> None:
        self.ranked = RankedPolicy(lambda graphs: mean_distance(graphs, steps), picks)

    def __call__(self, graphs: Graphs, *, generator: torch.Generator | None = None) -> Selection:
        """Pick for every graph of a batch."""
        return self.ranked(graphs)


POLICIES.register("remote", PolicyKind(RemoteSettings, lambda own, _inputs: RemotePolicy(own.picks, own.steps)))
