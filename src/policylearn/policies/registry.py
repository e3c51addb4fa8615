"""Policies by name, each with its settings and how it is built."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Self

from policylearn.bags import BagRule
from policylearn.nn import Features, NetworkConfig
from policylearn.policies.protocol import Policy
from policylearn.registry import Registry
from policylearn.settings.schema import ConfigError, NotNegative, Settings, plain, put


class PolicySettings(Settings, frozen=True):
    """Base of the settings of policies."""

    @classmethod
    def read(cls, content: Mapping[str, Any], prefix: str) -> Self:
        """The settings that a mapping holds; ``prefix`` stands before the names in messages."""
        return put(cls(), content, prefix)

    @classmethod
    def names(cls, content: Mapping[str, Any]) -> set[str]:
        """The settings that a mapping like this one may hold."""
        return set(cls.__struct_fields__)

    def written(self) -> dict[str, Any]:
        """The settings as a mapping that `read` takes."""
        return plain(self)

    def copies(self, nodes: int) -> int:
        """Marked copies of a graph of so many nodes: as many as the field ``picks`` says, or one without that field.

        A policy that marks nothing returns 0; its model is built without the layers that read marks.
        """
        return min(int(getattr(self, "picks", 1)), nodes)

    @property
    def label(self) -> str:
        """What a run's name says besides the policy's."""
        return ""


class PickSettings(PolicySettings, frozen=True):
    """Settings of a policy that picks T nodes."""

    picks: NotNegative = 2
    """T, how many copies there are besides the unmarked graph."""

    @property
    def label(self) -> str:
        return f"-t{self.picks}"


@dataclass(frozen=True)
class PolicyInputs:
    """What a policy is built for besides its own settings; the network is that of the prediction."""

    network: NetworkConfig
    node_features: Features
    edge_features: Features
    rule: BagRule


@dataclass(frozen=True)
class PolicyKind:
    """A policy that can be asked for by name."""

    settings: type[PolicySettings]
    build: Callable[[Any, PolicyInputs], Policy]
    presets: str = ""
    """The policy whose presets of the paper's datasets it takes; its own where it says nothing."""


POLICIES = Registry[PolicyKind]("policy", "policylearn.policies", ConfigError)


def without_replaced(selection: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """Stored settings of a policy, without those that only it or its estimator has, where ``given`` names another."""

    def known(content: Mapping[str, Any]) -> set[str]:
        return POLICIES[str(content.get("name", "learned"))].settings.names(content)

    gone = known(selection) - known({**selection, **given})
    return {key: value for key, value in selection.items() if key not in gone}
