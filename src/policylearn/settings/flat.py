"""Configurations as flat settings, to compare runs and to name them by."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from policylearn.settings.schema import plain

MACHINE_SETTINGS = (
    "data.workers",
    "fit.accelerator",
    "fit.devices",
    "fit.threads",
    "fit.logger",
    "fit.checkpoint_seconds",
    "fit.check_memory",  # of 0.2
)
"""Where and how a run is made; two runs that differ in nothing else are the same."""


def flat(config: Any) -> dict[str, Any]:
    """The settings that make a run what it is, by dotted name; those of the model stand without ``system.``.

    The configuration has the settings of the model written out (`models.complete`), or is a nested mapping.
    """
    found: dict[str, Any] = {}

    def walk(prefix: str, value: Any) -> None:
        if isinstance(value, Mapping) and value:  # one that is empty says something too: a transform as it comes
            for key, inner in value.items():
                walk(f"{prefix}.{key}" if prefix else key, inner)
        elif prefix not in MACHINE_SETTINGS:
            found[prefix.removeprefix("system.")] = value

    content = config if isinstance(config, Mapping) else plain(config)
    walk("", {key: value for key, value in content.items() if key != "grid"})
    return found


def differences(ours: Any, theirs: Any) -> dict[str, tuple[Any, Any]]:
    """The settings in which two configurations differ, with the value of each; the arguments are those of `flat`."""
    one, other = flat(ours), flat(theirs)
    both = {key: (one.get(key), other.get(key)) for key in sorted(one.keys() | other.keys())}
    return {key: pair for key, pair in both.items() if pair[0] != pair[1]}
