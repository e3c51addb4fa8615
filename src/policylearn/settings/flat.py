"""Configurations as flat settings, to compare jobs and to name them by."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Mapping
from typing import Any

from policylearn.settings.choices import LEARNING
from policylearn.settings.model_config import PolicyConfig
from policylearn.settings.run_config import POLICY

MACHINE_SETTINGS = (
    "data.workers",
    "fit.accelerator",
    "fit.devices",
    "fit.threads",
    "fit.logger",
    "fit.checkpoint_seconds",
    "fit.check_memory",
)
"""Where and how a job runs; two jobs that differ in nothing else are the same."""


OF_LEARNED = (
    "mode", "norm", "estimator", "samples", "standardise", "baseline", "tau", "imle_strength", "node_dropout",
    "add_graph_mean", "pooling", "shared", "prior", "stop_below", "network",
)  # fmt: skip
"""Settings of the selection that only a learned policy reads."""
OF_POLICIES = (
    "prediction", "selection", "pooling", "readout", "order", "bag", "descriptor_dropout", "regression_heads",
)  # fmt: skip
"""Settings of the policies and their networks, which no system reads."""


def plain(config: Any) -> dict[str, Any]:
    """A configuration as nested dictionaries of plain values, without those that are None."""

    def without_none(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        return {key: list(value) if isinstance(value, tuple) else value for key, value in pairs if value is not None}

    return dataclasses.asdict(config, dict_factory=without_none)


def flat(config: Any) -> dict[str, Any]:
    """The settings that make a job what it is, by dotted name.

    Args:
        config: a dataclass, or nested mappings as a record holds them.
    """
    found: dict[str, Any] = {}

    def walk(prefix: str, value: Any) -> None:
        if isinstance(value, Mapping) and value:  # one that is empty says something too: a transform as it comes
            for key, inner in value.items():
                walk(f"{prefix}.{key}" if prefix else key, inner)
        elif prefix not in MACHINE_SETTINGS:
            found[prefix] = value

    content = config if isinstance(config, Mapping) else plain(config)
    walk("", {key: value for key, value in content.items() if key != "grid"})
    if found.get("model", POLICY) != POLICY:
        return {key: value for key, value in found.items() if key.split(".")[0] not in OF_POLICIES}
    if found.get("selection.name", PolicyConfig.name) not in LEARNING:
        found = {key: value for key, value in found.items() if not _of_learned(key)}
    return found


def _of_learned(key: str) -> bool:
    return key.startswith("selection.") and key.split(".")[1] in OF_LEARNED


def differences(config: Any, base: Any, default: Any) -> dict[str, Any]:
    """The settings in which a configuration differs from another, with its own values.

    Args:
        config: the one.
        base: the other.
        default: gives the settings that one of them does not know, since it was written before there was one.
    """
    ours, theirs, usual = flat(config), flat(base), flat(default)
    found = {}
    for key in sorted(ours.keys() | theirs.keys()):
        value = ours.get(key, usual.get(key))
        if value != theirs.get(key, usual.get(key)):
            found[key] = value
    return found


def short_hash(config: Any) -> str:
    """Eight letters that differ where the configuration does."""
    return hashlib.sha256(json.dumps(flat(config), sort_keys=True).encode()).hexdigest()[:8]
