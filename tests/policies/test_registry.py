"""Policies by name."""

from __future__ import annotations

import pytest
import torch

from policylearn.bags import Graphs, Selection
from policylearn.models import SubgraphGNN, build_model
from policylearn.policies import POLICIES, PolicyKind, PolicySettings
from tests.graphs import batch_of, molecules


class At:
    """Picks the node of each graph with a given number."""

    def __init__(self, node: int) -> None:
        self.node = node

    def __call__(self, graphs: Graphs, *, generator: torch.Generator | None = None) -> Selection:
        return Selection((graphs.ptr[:-1] + self.node).unsqueeze(0))


class SomePicks(PolicySettings, frozen=True):
    """A field of the name that ``--picks`` sets."""

    picks: int = 4


def test_a_model_reads_the_marks_of_a_policy_with_the_base_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(POLICIES._things, "at", PolicyKind(PolicySettings, lambda _settings, _inputs: At(0)))
    model = build_model("policy-learn", {"selection": {"name": "at"}}).eval()
    assert isinstance(model, SubgraphGNN)
    batch = batch_of(*molecules(4))
    first = model(batch)
    model.policy = At(1)
    assert not torch.allclose(first, model(batch))


def test_copies_are_the_picks_or_one() -> None:
    assert (PolicySettings().copies(9), PolicySettings().copies(0)) == (1, 0)
    assert (SomePicks().copies(9), SomePicks().copies(3)) == (4, 3)
    assert [POLICIES[name].settings().copies(9) for name in ("none", "full", "random")] == [0, 9, 2]
