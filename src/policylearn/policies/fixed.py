"""Policies without a choice: every node, or none."""

from __future__ import annotations

import torch

from policylearn.bags import Graphs, Selection
from policylearn.policies.registry import POLICIES, PolicyKind, PolicySettings


class NoPolicy:
    """Picks nothing: the model is an ordinary message passing network on the unmarked graph."""

    def __call__(self, graphs: Graphs, *, generator: torch.Generator | None = None) -> Selection:
        return Selection.nothing(graphs.ptr)


class FullPolicy:
    """Picks every node of every graph: the full bag of n + 1 copies."""

    def __call__(self, graphs: Graphs, *, generator: torch.Generator | None = None) -> Selection:
        return Selection.full(graphs.ptr)


class NoSettings(PolicySettings, frozen=True):
    """No node is picked."""

    def copies(self, nodes: int) -> int:
        return 0


class FullSettings(PolicySettings, frozen=True):
    """Every node is picked."""

    def copies(self, nodes: int) -> int:
        return nodes


POLICIES.register("none", PolicyKind(NoSettings, lambda _settings, _inputs: NoPolicy()))
POLICIES.register("full", PolicyKind(FullSettings, lambda _settings, _inputs: FullPolicy()))
