"""Policy-learn, built from a policy's settings and a network."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from policylearn.models import Inputs, SubgraphGNN, build_model
from policylearn.nn import NetworkConfig
from policylearn.settings.schema import plain


def policy_model(
    selection: Mapping[str, Any], network: NetworkConfig | None = None, inputs: Inputs | None = None
) -> SubgraphGNN:
    """A model whose prediction network, and selection network if nothing else is said, is this one."""
    settings = {"selection": selection} | ({} if network is None else {"prediction": plain(network)})
    model = build_model(settings=settings, inputs=inputs)
    assert isinstance(model, SubgraphGNN)
    return model
