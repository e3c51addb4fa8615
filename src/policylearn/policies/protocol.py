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
        costs: the loss of each graph with each of its K bags, without gradient.
        prefix_costs: works out the loss with the unmarked copy and the first t marked ones alone, for t = 0 to T;
            gives None where copies see each other, since their first ones would need passes of their own.
        past_costs: running mean of each graph's own costs in earlier steps, NaN where it has none; None if nobody keeps
            it.

    Shapes:
        costs ``(K, G)``, prefix costs ``(T + 1, K, G)``, past_costs ``(G,)``.
    """

    costs: Tensor
    prefix_costs: Callable[[], Tensor | None]
    past_costs: Tensor | None = None


class LearningPolicy(Policy, Protocol):
    """A policy that learns from the losses of the bags that it drew.

    A policy whose marks carry gradient (see `Selection.marks`) learns without any of this.
    """

    @property
    def bags_per_graph(self) -> int:
        """K, bags drawn per graph in a training step.

        With more than one, the policy is called with ``samples=K`` and picks for the batch repeated K times.
        """

    def surrogate(self, selection: Selection, evidence: Evidence) -> Tensor | None:
        """What is added to the loss so that its gradient moves the picks; None if there is nothing to add."""


@runtime_checkable
class DrawingPolicy(Protocol):
    """A policy that can draw several bags of a graph in evaluation, so that outputs may be averaged over them."""

    def drawn(self, graphs: Graphs, number: int, *, seed: int = 0) -> Selection:
        """One of the draws, the same for a graph whatever batch it is in.

        Args:
            graphs: the batch.
            number: which draw, from 0 on.
            seed: of all draws.
        """


def bags_per_graph(policy: Policy) -> int:
    """K of a learning policy; one for those that say nothing."""
    return int(getattr(policy, "bags_per_graph", 1))


def surrogate_loss(policy: Policy, selection: Selection, evidence: Evidence) -> Tensor | None:
    """What a learning policy adds to the loss; None for those that say nothing."""
    surrogate = getattr(policy, "surrogate", None)
    loss: Tensor | None = None if surrogate is None else surrogate(selection, evidence)
    return loss


def check_picks(picks: int, marks_per_copy: int = 1) -> None:
    """Raise a `ValueError` where a policy cannot make so many picks."""
    if picks < 0:
        raise ValueError(f"'picks' must be >= 0 (got {picks}); use FullPolicy for every node")
    if marks_per_copy < 1:
        raise ValueError(f"'marks_per_copy' must be >= 1 (got {marks_per_copy})")


def unpicked(picked: Sequence[Tensor], members: Members) -> Tensor:
    """Which nodes have not been picked yet, ``(N,)``; all of a graph's nodes once each of them has been.

    Args:
        picked: nodes picked so far, `NO_PICK` where a graph had none, ``(..., G)`` each.
        members: the nodes of each graph.
    """
    count, device = members.num_nodes, members.batch.device
    if not picked:
        return torch.ones(count, dtype=torch.bool, device=device)
    nodes = torch.cat([one.reshape(-1) for one in picked])
    free = torch.ones(count + 1, dtype=torch.bool, device=device).index_fill(0, places(nodes, count), False)[:count]
    left = torch.zeros(members.num_graphs, dtype=torch.long, device=device).index_add(0, members.batch, free.long())
    return free | (left == 0).index_select(0, members.batch)
