"""Configurations as flat settings, to compare and to name runs by."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from policylearn.training import RunConfig
from policylearn.training.parsing import plain

INCIDENTAL = ("fit.threads", "fit.logger", "fit.checkpoint_seconds")
"""What may differ between runs that count as the same."""
REPEATED = ("fit.seed", "data.fold")
"""What differs between the repeats of an experiment."""


def flat(config: RunConfig | dict[str, Any]) -> dict[str, Any]:
    """The settings that make a run what it is, by dotted name."""
    content = plain(config) if isinstance(config, RunConfig) else config
    found: dict[str, Any] = {}

    def walk(prefix: str, value: Any) -> None:
        if isinstance(value, dict):
            for key, inner in value.items():
                walk(f"{prefix}.{key}" if prefix else key, inner)
        elif prefix not in INCIDENTAL:
            found[prefix] = value

    walk("", {key: value for key, value in content.items() if key != "grid"})
    return found


def differences(config: dict[str, Any] | RunConfig, base: dict[str, Any] | RunConfig) -> dict[str, Any]:
    """The settings in which a configuration differs from another, with its own values.

    A setting that one of them does not know, since it was written before there was one, has its default.
    """
    ours, theirs, default = flat(config), flat(base), flat(RunConfig())
    found = {}
    for key in sorted(ours.keys() | theirs.keys()):
        value = ours.get(key, default.get(key))
        if value != theirs.get(key, default.get(key)):
            found[key] = value
    return found


def short_hash(config: RunConfig) -> str:
    """Eight letters that differ where the configuration does."""
    return hashlib.sha256(json.dumps(flat(config), sort_keys=True).encode()).hexdigest()[:8]
