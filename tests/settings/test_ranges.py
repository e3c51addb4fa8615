"""Every number that can be set has a range, declared beside it."""

from __future__ import annotations

from typing import Any, get_args, get_type_hints

import pytest

import policylearn.models.systems  # noqa: F401 - fills the registry
from policylearn.models import SYSTEMS
from policylearn.settings import ConfigError, RunConfig, changed, is_group, read_settings
from policylearn.settings.ranges import Range, ranges_of
from policylearn.wording import without_none


def numeric(kind: Any) -> bool:
    """Whether a type is a number, may be one, or holds some."""
    kind = without_none(kind)
    return kind in (int, float) or any(part in (int, float) for part in get_args(kind))


def groups_of(kind: type) -> list[type]:
    inner = [without_none(hint) for hint in get_type_hints(kind).values() if is_group(hint)]
    return [kind, *(deeper for one in inner for deeper in groups_of(one))]


@pytest.mark.parametrize("kind", [*groups_of(RunConfig), *(system.settings for system in SYSTEMS.values())])
def test_every_numeric_setting_has_a_range_that_holds_its_default(kind: type) -> None:
    ranges, settings = ranges_of(kind), kind()
    for name, hint in get_type_hints(kind).items():
        assert numeric(hint) == (name in ranges), name
        if name in ranges:
            assert ranges[name].holds(getattr(settings, name)), name


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"fit": {"epochs": -1}}, r"'fit.epochs' must be >= 1 \(got -1\)"),
        ({"fit": {"epochs": 0}}, r"'fit.epochs' must be >= 1 \(got 0\)"),
        ({"prediction": {"channels": 0}}, r"'prediction.channels' must be >= 2 \(got 0\)"),
        ({"selection": {"network": {"layers": 0}}}, r"'selection.network.layers' must be >= 1 \(got 0\)"),
        ({"optim": {"learning_rate": -0.1}}, r"'optim.learning_rate' must be >= 0 \(got -0.1\)"),
        ({"optim": {"learning_rate": float("nan")}}, r"'optim.learning_rate' must be >= 0 \(got nan\)"),
        ({"optim": {"selection_learning_rate": float("inf")}}, r"must be >= 0 \(got inf\)"),
        ({"prediction": {"dropout": 1}}, r"'prediction.dropout' must be >= 0 and < 1 \(got 1.0\)"),
        ({"fit": {"seed": 2**32}}, r"'fit.seed' must be >= 0 and <= 4294967295 \(got 4294967296\)"),
        ({"data": {"fold": -1}}, r"'data.fold' must be >= 0 \(got -1\)"),
    ],
)
def test_what_lies_outside_is_named(content: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        changed(RunConfig(), content)


def test_settings_of_systems_are_checked_too() -> None:
    with pytest.raises(ConfigError, match=r"'system.channels' must be >= 1 \(got 0\)"):
        read_settings(SYSTEMS["sun"].settings, {"channels": 0}, "system")
    with pytest.raises(ConfigError, match=r"'system.set_channels' must be >= 1 \(got \(32, 0\)\)"):
        read_settings(SYSTEMS["ds-gnn"].settings, {"set_channels": [32, 0]}, "system")


def test_a_range_says_itself() -> None:
    assert str(Range(least=0, below=1)) == ">= 0 and < 1"
    assert str(Range(above=0)) == "> 0"
    assert str(Range()) == "a finite number"
    assert Range(least=1).holds(None)
    assert not Range().holds(float("nan"))
    assert not Range(least=1).holds("3")
