"""The system that a run trains: its settings checked, its transforms, and what it holds in memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

import numpy as np

from policylearn.data import PackedGraphs
from policylearn.data.transforms import Transform
from policylearn.models import Inputs, System, find_system
from policylearn.settings.parsing import ConfigError, read_settings
from policylearn.settings.run_config import POLICY, RunConfig

BYTES = 4
"""Of a number in single precision."""


def chosen_system(config: RunConfig) -> tuple[System, Any] | None:
    """The system and its settings; None where a run trains the family of policies.

    Args:
        config: the run; a `ConfigError` says what is wrong with its ``model`` or ``system``.
    """
    if config.model == POLICY:
        if config.system:
            raise ConfigError(
                f"'system' holds settings of a system ({', '.join(config.system)}), and none was chosen;"
                " choose one with 'model', or leave them out"
            )
        return None
    try:
        system = find_system(config.model)
    except ValueError as error:
        raise ConfigError(f"{error}; '{POLICY}' is the family of policies") from None
    return system, read_settings(system.settings, config.system, "system")


def complete(config: RunConfig) -> RunConfig:
    """The configuration with every setting of its system written out, as a run keeps it: defaults may change."""
    chosen = chosen_system(config)
    if chosen is None:
        return config
    values = {key: list(value) if isinstance(value, tuple) else value for key, value in asdict(chosen[1]).items()}
    return replace(config, system=values)


def system_transforms(config: RunConfig, inputs: Inputs) -> tuple[Transform, ...]:
    """The transforms whose structures the system reads."""
    chosen = chosen_system(config)
    if chosen is None:
        return ()
    system, settings = chosen
    specs = system.transforms(settings, inputs)
    return tuple(Transform.from_json({"name": name, **dict(given)}) for name, given in specs)


def memory_note(config: RunConfig, graphs: PackedGraphs) -> str:
    """What a step of a full bag holds, in words; empty for models that hold no row per pair of nodes.

    Args:
        config: the run.
        graphs: its data.
    """
    chosen = chosen_system(config)
    if chosen is None:
        return ""
    system, settings = chosen
    most = getattr(settings, "max_rows", None)
    if most is None or getattr(settings, "picks", None) is not None:
        return system.note
    squares = np.sort(graphs.num_nodes.astype(np.int64) ** 2)[::-1]
    size = min(config.fit.batch_size, len(squares))
    usual, worst = round(float(squares.mean()) * size), int(squares[:size].sum())
    width = getattr(settings, "channels", None)
    megabytes = f", about {usual * width * BYTES / 1e6:,.0f} MB per layer" if isinstance(width, int) else ""
    text = (
        f"a batch of {size} graphs has about {usual:,} pairs of nodes{megabytes}, at worst {worst:,}"
        f" (max_rows is {most:,}); for less, lower --fit.batch_size, or take a policy with few picks"
    )
    return f"{system.note}; {text}" if system.note else text


def model_settings(config: RunConfig) -> Mapping[str, Any]:
    """What the metrics of a run say of its model."""
    selection = config.selection
    if config.model != POLICY:
        return {"model": config.model, "policy": None, "picks": None, "mode": None, "estimator": None}
    return {
        "model": config.model,
        "policy": selection.name,
        "picks": selection.picks,
        "mode": selection.mode if selection.learns else None,
        "estimator": selection.estimator if selection.learns else None,
    }
