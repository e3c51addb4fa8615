"""The two ends: every node, and none."""

from __future__ import annotations

import torch

from policylearn.bags import NO_PICK, Graphs, Selection
from policylearn.policies.registry import POLICIES, PolicyKind, PolicySettings


class NoPolicy:
    """Picks nothing: the model is an ordinary message passing network on the unmarked graph."""

    def __call__(self, graphs: Graphs, *, generator: torch.Generator | None = None) -> Selection:
        """An empty selection, T = 0."""
        return Selection.nothing(graphs.ptr)


class FullPolicy:
    """Picks every node of every graph: the full bag of n + 1 copies."""

    def __call__(self, graphs: Graphs, *, generator: torch.Generator | None = None) -> Selection:
        """All nodes, in the order of the batch; T is the size of the largest graph."""
        steps = torch.arange(int(graphs.sizes.max()), device=graphs.ptr.device).unsqueeze(1)  # (T, 1)
        return Selection(torch.where(steps < graphs.sizes, graphs.ptr[:-1] + steps, NO_PICK))


class FullSettings(PolicySettings, frozen=True):
    """Every node is picked."""

    def copies(self, nodes: int) -> int:
        """See `PolicySettings`."""
        return nodes


POLICIES.register("none", PolicyKind(PolicySettings, lambda _settings, _inputs: NoPolicy()))
POLICIES.register("full", PolicyKind(FullSettings, lambda _settings, _inputs: FullPolicy()))
