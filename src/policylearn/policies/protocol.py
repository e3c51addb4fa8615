"""What a policy is, what it is shown when it learns, and the rule on repeated picks that all policies share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import torch
from torch import Tensor

from policylearn.bags import NO_PICK, Graphs, Members, Selection
from policylearn.nn import segment_argmax, segment_sum


class Policy(Protocol):
    """Picks the nodes to mark. A function will do; one with weights or with a training mode is an ``nn.Module``.

    Where picks in evaluation may depend on the other graphs of the batch, the policy says ``depends_on_batch = True``.
    One that says nothing is taken to depend on them only where a module in it declares the scope ``batch``, or is a
    batch norm without running statistics.
    """

    def __call__(self, graphs: Graphs, *, generator: torch.Generator | None = None) -> Selection:
        """Pick for every graph of a batch, and draw from the generator; None is torch's own."""


@dataclass(frozen=True)
class Evidence:
    """What a training step saw of its bags: what a policy can learn from.

    Args:
        costs: the loss of each graph, without gradient.
        prefix_costs: computes the loss with the unmarked copy and the first t marked ones alone, for t = 0 to T;
            None where copies see each other, since their first ones would need passes of their own.
        past_costs: running mean of each graph's costs in earlier steps, NaN where it has none (in the
            first epoch all are NaN); None if nobody keeps it. Replace NaN before you compute with it.

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


def best_in_turn(
    scores: Iterable[Tensor], members: Members, *, tolerance: float = 0.0, again: bool = False
) -> Selection:
    """The best node of each graph by the scores of each step, ``(N,)``; see `segment_argmax` for the tolerance.

    Unless a node may be picked ``again``, nodes repeat only once all are used.
    """
    picked: list[Tensor] = []
    for one in scores:
        free = one.where(unpicked([] if again else picked, members), -torch.inf)
        picked.append(segment_argmax(free, members.batch, members.num_graphs, tolerance))
    return Selection(torch.stack(picked)) if picked else Selection.nothing(members.ptr)


def unpicked(picked: Sequence[Tensor], members: Members) -> Tensor:
    """Which nodes have not been picked yet, ``(N,)``; all of a graph's nodes once each of them has been.

    The nodes picked so far are ``(G,)`` each, `NO_PICK` where a graph had none.
    """
    count = members.num_nodes
    free = torch.ones(count + 1, dtype=torch.bool, device=members.batch.device)
    if not picked:
        return free[:count]
    # What is no pick is written behind the last node and cut off: to leave it out, a GPU must be waited for.
    nodes = torch.cat(list(picked))
    free = free.index_fill(0, nodes.where(nodes != NO_PICK, count), False)[:count]
    left = segment_sum(free.long(), members.batch, members.num_graphs)
    return free | (left == 0).index_select(0, members.batch)
