"""The combinations of values that a sweep tries."""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass

from lab.settings import selection_of, settings_of
from policylearn.models import complete
from policylearn.policies import ESTIMATORS
from policylearn.settings import ConfigError, RunConfig, changed
from policylearn.settings.schema import nested
from policylearn.wording import write_value

Value = bool | int | float | str | None
Combination = dict[str, Value]
UNSAFE = re.compile(r"[^\w.+-]")
ESTIMATOR = "selection.estimator"


@dataclass(frozen=True)
class Grid:
    """What a sweep tries.

    Args:
        combinations: by their label, such as ``selection.tau=0.33,selection.node_dropout=0.5``.
        without_effect: settings of the configuration's grid that none of its estimators has.
    """

    combinations: dict[str, Combination]
    without_effect: tuple[str, ...]


def read_grid(config: RunConfig) -> Grid:
    """The grid of a configuration, each combination tried on the configuration first."""
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
    usual = selection_of(settings_of(config)).get("estimator")
    of_estimators = {f"selection.{name}" for kind in ESTIMATORS.values() for name in kind.__struct_fields__}
    combinations: dict[str, Combination] = {}
    for product in itertools.product(*config.grid.values()):
        whole: Combination = dict(zip(config.grid, product, strict=True))
        estimator = whole.get(ESTIMATOR, usual)
        own = ESTIMATORS[str(estimator)].__struct_fields__ if estimator else ()
        others = of_estimators - {f"selection.{name}" for name in own} if estimator else set()
        combination = {key: value for key, value in whole.items() if key not in others}
        combinations[label(combination)] = combination
        apply(config, combination)
    used = {key for combination in combinations.values() for key in combination}
    return Grid(combinations, tuple(key for key in config.grid if key not in used))


def apply(config: RunConfig, combination: Combination) -> RunConfig:
    """The configuration of one trial, which has no grid any more."""
    return complete(changed(config.replace(grid={}), nested(combination), "the grid"))


def label(combination: Combination) -> str:
    """A combination in one word that can name a folder."""
    return ",".join(f"{key}={UNSAFE.sub('_', write_value(value))}" for key, value in combination.items())
