"""The combinations of values that a sweep tries."""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass, replace

from policylearn.settings import ConfigError, with_setting
from policylearn.settings.run_config import RunConfig

Value = bool | int | float | str | None
Combination = dict[str, Value]
UNSAFE = re.compile(r"[^\w.+-]")


@dataclass(frozen=True)
class Grid:
    """What a sweep tries.

    Args:
        values: the values of each setting.
        without_effect: settings that the configuration's grid names too, but that cannot change a result.
    """

    values: dict[str, list[Value]]
    without_effect: tuple[str, ...] = ()

    def combinations(self) -> dict[str, Combination]:
        """Every combination by its label, such as ``selection.tau=0.33,selection.node_dropout=0.5``."""
        products = itertools.product(*self.values.values())
        found = [dict(zip(self.values, product, strict=True)) for product in products]
        return {label(combination): combination for combination in found}


def read_grid(config: RunConfig) -> Grid:
    """The grid of a configuration, each of its values tried on the configuration first."""
    if not config.grid:
        raise ConfigError(
            "there is nothing to sweep over: the configuration has no grid; add one,"
            " such as --grid '{selection.node_dropout: [0.0, 0.5]}'"
        )
    for key, values in config.grid.items():
        if not values:
            raise ConfigError(f"the grid's '{key}' has no values; give some or leave it out")
        for value in values:
            if not isinstance(value, Value):
                raise ConfigError(f"the grid's '{key}' must hold plain values (got {value!r})")
            with_setting(config, key, value)
    idle = _without_effect(config)
    return Grid({key: list(values) for key, values in config.grid.items() if key not in idle}, idle)


def _without_effect(config: RunConfig) -> tuple[str, ...]:
    """Score functions have no temperature: with them alone all taus would give the same run."""
    straight = {config.selection.estimator, *config.grid.get("selection.estimator", ())} - {"rloo", "reinforce"}
    others = set(config.grid) - {"selection.tau"}
    return ("selection.tau",) if "selection.tau" in config.grid and not straight and others else ()


def apply(config: RunConfig, combination: Combination) -> RunConfig:
    """The configuration of one trial, which has no grid any more."""
    config = replace(config, grid={})
    for key, value in combination.items():
        config = with_setting(config, key, value)
    return config


def label(combination: Combination) -> str:
    """A combination in one word that can name a folder."""
    return ",".join(f"{key}={UNSAFE.sub('_', text(value))}" for key, value in combination.items())


def text(value: Value) -> str:
    """A value as YAML writes it."""
    return "null" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
