"""What the copies so far show a policy that picks one node after the other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from torch import Tensor

from policylearn.bags import Bag, Graphs, Selection
from policylearn.nn import Pooled, copies_are_independent, dtype_of
from policylearn.policies.draws import Pick, selection_of

if TYPE_CHECKING:
    from policylearn.policies.learned import LearnedPolicy


class View(Protocol):
    """The nodes as the copies so far show them."""

    def add(self, pick: Pick) -> None:
        """Look at the copy of one more pick."""

    def scores(self) -> Tensor:
        """The score of each node, ``(N,)``."""


class BagView:
    """The states of nodes, pooled over the unmarked graph and the copies so far (eq. 2 and 3).

    In mode `incremental`, where copies do not see each other, a copy is computed once and its state is kept. Otherwise
    the whole bag is computed at each step.
    """

    def __init__(self, policy: LearnedPolicy, graphs: Graphs) -> None:
        self.policy, self.graphs = policy, graphs
        self.keeps = policy.mode == "incremental" and copies_are_independent(policy.encoder)
        self.picks: list[Pick] = []
        self.pooled = self._pooled(Selection.nothing(graphs.ptr), unmarked=True)

    def add(self, pick: Pick) -> None:
        """See `View`."""
        self.picks.append(pick)
        if self.keeps:
            newest = self._pooled(selection_of([pick], self.graphs.members), unmarked=False)
            self.pooled = self.policy.pool.join(self.pooled, newest)
        else:
            self.pooled = self._pooled(selection_of(self.picks, self.graphs.members), unmarked=True)

    def scores(self) -> Tensor:
        """See `View`."""
        return self.policy.score(self.policy.pool.finish(self.pooled), self.graphs)

    def encode(self, bag: Bag, *, unmarked: bool) -> Tensor:
        """States of all rows of a bag, ``(R, C)``; ``unmarked`` says whether slot 0 is in it."""
        return self.policy.encoder(self.graphs, bag)

    def _pooled(self, selection: Selection, *, unmarked: bool) -> Pooled:
        """Encode the copies of some picks, and pool each node over them."""
        policy = self.policy
        dtype = dtype_of(policy.encoder, policy.selector)
        bag = policy.rule(self.graphs, selection, dtype=dtype, unmarked=unmarked)
        return policy.pool.part(self.encode(bag, unmarked=unmarked), bag)
