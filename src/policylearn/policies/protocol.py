"""What a policy is, and the rule on repeated picks that all policies share."""

from __future__ import annotations

from typing import Protocol

import torch
from torch import Tensor

from policylearn.bags import Selection
from policylearn.nn import Graphs, Members


class Policy(Protocol):
    """Picks the nodes to mark. A function will do; one with weights or with a training mode is an ``nn.Module``."""

    def __call__(self, graphs: Graphs, *, generator: torch.Generator | None = None) -> Selection:
        """Pick for every graph of a batch.

        Args:
            graphs: the batch, with the names of a PyG ``Batch``.
            generator: where randomness is drawn from; None is torch's own.
        """


def unpicked(roots: list[Tensor], members: Members) -> Tensor:
    """Which nodes have not been picked yet, ``(N,)``; all of a graph's nodes once each of them has been.

    Args:
        roots: the picks of each step so far, ``(G,)`` each.
        members: the nodes of each graph.
    """
    free = torch.ones(members.num_nodes, dtype=torch.bool, device=members.batch.device)
    if roots:
        free[torch.cat(roots)] = False
        free |= (members.sizes <= len(roots)).index_select(0, members.batch)
    return free
