"""What a policy is, what it is shown when it learns, and the rule on repeated picks that all policies share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import torch
from torch import Tensor

from policylearn.bags import Graphs, Members, Selection
from policylearn.bags.selection import places


class Policy(Protocol):
    """Picks the nodes to mark. A function will do; one with weights or with a training mode is an ``nn.Module``."""

    def __call__(self, graphs: Graphs, *, generator: torch.Generator | None = None) -> Selection:
        """Pick for every graph of a batch.

        Args:
            graphs: the batch, with the names of a PyG ``Batch``.
            generator: where randomness is drawn from; None is torch's own.
        """


@dataclass(frozen=True)
class Evidence:
    """What a training step saw of its bags: what a policy can learn from.

    Args:
        costs: the loss of each graph, without gradient.
        prefix_costs: computes the loss with the unmarked copy and the first t marked ones alone, for t = 0 to T;
            None where copies see each other, since their first ones would need passes of their own.
        past_costs: running mean of each graph's costs in earlier steps, NaN where it has none; None if nobody keeps it.

    Shapes:
        costs and past_costs ``(G,)``, prefix costs ``(T + 1, G)``.
    """

    costs: Tensor
    prefix_costs: Callable[[], Tensor | None]
    past_costs: Tensor | None = None


@runtime_checkable
class LearningPolicy(Policy, Protocol):
    """A policy that learns from the losses of the bags that it drew.

    A policy whose marks carry gradient (see `Selection.marks`) learns without this.
    """

    def surrogate(self, selection: Selection, evidence: Evidence) -> Tensor | None:
        """What is added to the loss so that its gradient moves the picks; None if there is nothing to add."""


def check_picks(picks: int) -> None:
    """Raise a `ValueError` where a policy cannot make so many picks."""
    if picks < 0:
        raise ValueError(f"'picks' must be >= 0 (got {picks}); use FullPolicy for every node")


def unpicked(picked: Sequence[Tensor], members: Members) -> Tensor:
    """Which nodes have not been picked yet, ``(N,)``; all of a graph's nodes once each of them has been.

    Args:
        picked: nodes picked so far, `NO_PICK` where a graph had none, ``(G,)`` each.
        members: the nodes of each graph.
    """
    count, device = members.num_nodes, members.batch.device
    if not picked:
        return torch.ones(count, dtype=torch.bool, device=device)
    nodes = torch.cat(list(picked))
    free = torch.ones(count + 1, dtype=torch.bool, device=device).index_fill(0, places(nodes, count), False)[:count]
    left = torch.zeros(members.num_graphs, dtype=torch.long, device=device).index_add(0, members.batch, free.long())
    return free | (left == 0).index_select(0, members.batch)
