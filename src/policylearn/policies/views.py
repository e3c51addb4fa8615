"""What the copies so far show a policy that picks one node after the other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from torch import Tensor

from policylearn.bags import Bag, Graphs, Selection
from policylearn.nn import Pooled, copies_are_apart, dtype_of
from policylearn.policies.draws import Pick, selection_of

if TYPE_CHECKING:
    from policylearn.policies.learned import LearnedPolicy


class View(Protocol):
    """What the copies so far show of each node."""

    def add(self, pick: Pick) -> None:
        """Look at the copies of one more step."""

    def nodes(self) -> Tensor:
        """Each node, pooled over slot 0 and the copies so far, ``(N, K, C)``; before the first pick ``(N, 1, C)``."""

    def scores(self) -> Tensor:
        """The score of each node in each of K bags, ``(N, K)``; before the first pick ``(N, 1)``."""


class BagView:
    """The states of nodes pooled over slot 0 and the copies so far.

    Copies are computed once and kept where they do not see each other; else the whole bag is recomputed at each step,
    and the K bags of a graph one at a time.
    """

    def __init__(self, policy: LearnedPolicy, graphs: Graphs, samples: int) -> None:
        self.policy, self.graphs, self.samples = policy, graphs, samples
        self.apart = copies_are_apart(policy.encoder)
        self.keeps = self.apart and policy.mode == "incremental"
        self.together = self.apart and getattr(policy.rule, "shares_edges", False)
        self.chosen: list[Pick] = []
        self.seen = self._whole([Selection.nothing(graphs.ptr)])

    def add(self, pick: Pick) -> None:
        """See `View`."""
        self.chosen.append(pick)
        members = self.graphs.members.repeat(self.samples)
        if self.keeps:
            newest = selection_of([pick], members).split(self.samples, self.graphs.num_nodes)
            self.seen = self.policy.pool.join(self.seen, self._newest(newest))
        else:
            self.seen = self._whole(selection_of(self.chosen, members).split(self.samples, self.graphs.num_nodes))

    def nodes(self) -> Tensor:
        """See `View`."""
        return self.policy.pool.finish(self.seen)

    def scores(self) -> Tensor:
        """See `View`."""
        return self.policy.score(self.nodes(), self.graphs)

    def _newest(self, selections: list[Selection]) -> Pooled:
        """The copies of one step alone, ``(N, K, C)``."""
        if self.together and all(one.complete for one in selections):
            # One copy per sample: those of a node, side by side, are its K samples.
            states = self._states(Selection.side_by_side(selections), unmarked=False)[0]
            return Pooled(states.view(self.graphs.num_nodes, self.samples, -1), 1)
        pool = self.policy.pool
        return pool.stack([pool.part(*self._states(one, unmarked=False)) for one in selections])

    def _whole(self, selections: list[Selection]) -> Pooled:
        """Slot 0 and all copies so far, ``(N, K, C)``."""
        pool = self.policy.pool
        if self.together and len(selections) > 1:
            return pool.part_of_samples(*self._states(Selection.side_by_side(selections)), len(selections))
        return pool.stack([pool.part(*self._states(one)) for one in selections])

    def _states(self, selection: Selection, *, unmarked: bool = True) -> tuple[Tensor, Bag]:
        bag = self.bag_of(selection, unmarked=unmarked)
        return self.policy.encoder(self.graphs, bag), bag

    def bag_of(self, selection: Selection, *, unmarked: bool) -> Bag:
        """The copies of some picks."""
        policy = self.policy
        dtype = dtype_of(policy.encoder, policy.selector)
        return policy.rule(self.graphs, selection, dtype=dtype, unmarked=unmarked)
