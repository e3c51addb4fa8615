"""Every number that can be set has a range, declared beside it."""

from __future__ import annotations

import math
from typing import Any, get_args, get_origin

import pytest

from policylearn.bags import RULES
from policylearn.models import SYSTEMS, chosen_system
from policylearn.policies import ESTIMATORS, POLICIES
from policylearn.settings import ConfigError, RunConfig, Settings, changed
from policylearn.settings.schema import group_of, hints_of, read_value
from tests.errors import raises_naming


def groups_of(kind: type[Settings]) -> list[type[Settings]]:
    inner = [found for hint in hints_of(kind).values() if (found := group_of(hint)) is not None]
    return [kind, *(deeper for one in inner for deeper in groups_of(one))]


def numbers_in(kind: Any) -> set[type]:
    """The kinds of numbers that a type is, may be, or holds; an open mapping's names are declared elsewhere."""
    if get_origin(kind) is dict:
        return set()
    return {kind} & {int, float} | {one for part in get_args(kind) for one in numbers_in(part)}


DECLARED = [RunConfig, *(one.settings for one in (*SYSTEMS.values(), *POLICIES.values()))]
DECLARED += [kind for kind in (*ESTIMATORS.values(), *RULES.values()) if issubclass(kind, Settings)]
KINDS = sorted({group for kind in DECLARED for group in groups_of(kind)}, key=lambda kind: kind.__qualname__)
ANY_NUMBER = {"keep"}
"""OSAN's number of kept nodes: one below zero is how many are lost."""


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__qualname__)
def test_every_number_has_a_range(kind: type[Settings]) -> None:
    kind()  # its defaults lie within
    for name, hint in hints_of(kind).items():
        for number in numbers_in(hint) if name not in ANY_NUMBER else ():
            outside = [-(10**12)] if number is int else [math.nan, math.inf, -math.inf]
            for value in outside:
                with raises_naming(ConfigError, f"'{name}'"):
                    read_value(hint, value if get_origin(hint) is not tuple else [value], name)


@pytest.mark.parametrize(
    ("content", "name", "value"),
    [
        ({"fit": {"epochs": 0}}, "fit.epochs", "0"),
        ({"prediction": {"channels": 0}}, "prediction.channels", "0"),
        ({"selection": {"network": {"layers": 0}}}, "selection.network.layers", "0"),
        ({"selection": {"picks": -1}}, "selection.picks", "-1"),
        ({"optim": {"learning_rate": -0.1}}, "optim.learning_rate", "-0.1"),
        ({"optim": {"selection_learning_rate": math.inf}}, "optim.selection_learning_rate", "inf"),
        ({"prediction": {"dropout": 1}}, "prediction.dropout", "1"),
        ({"fit": {"seed": 2**32}}, "fit.seed", "4294967296"),
        ({"data": {"fold": -1}}, "data.fold", "-1"),
        ({"model": "sun", "channels": 0}, "channels", "0"),
        ({"model": "ds-gnn", "set_channels": [32, 0]}, "set_channels", "0]"),
    ],
)
def test_what_lies_outside_is_named(content: dict[str, Any], name: str, value: str) -> None:
    with raises_naming(ConfigError, f"'{name}'") as error:
        chosen_system(changed(RunConfig(), content))
    assert value in str(error.value)
