"""From settings to runs: models and data, the settings that a record keeps, and those of older records."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

from lab.ledger import Ledger
from policylearn.models import Inputs, SubgraphGNN, build_model, complete
from policylearn.nn import NetworkConfig
from policylearn.settings import ConfigError, DataConfig, RunConfig, changed
from policylearn.settings.old_versions import upgraded
from policylearn.settings.schema import plain
from policylearn.training import Source, load_source
from policylearn.wording import hint

Thing = TypeVar("Thing")


def settings_of(config: RunConfig) -> dict[str, Any]:
    """All settings of a run, those of its model written out."""
    return plain(complete(config))


def read_settings(stored: Mapping[str, Any]) -> dict[str, Any]:
    """The settings that a record holds, in today's form; with an option that is gone they stay as they were."""
    content = upgraded(stored)
    try:
        return settings_of(changed(RunConfig(), content))
    except ConfigError:
        of_model = {key: value for key, value in content.items() if key not in RunConfig.__struct_fields__}
        rest = {key: value for key, value in content.items() if key not in of_model}
        return plain(changed(RunConfig(), rest)) | {"system": of_model}


def is_of_today(settings: Mapping[str, Any]) -> bool:
    """Whether a run with these settings could be made now: no option of theirs is gone."""
    try:
        settings_of(changed(RunConfig(), settings))
    except ConfigError:
        return False
    return True


def selection_of(settings: Mapping[str, Any]) -> Mapping[str, Any]:
    """The policy's settings; none where the model has no policy."""
    found: Mapping[str, Any] = settings["system"].get("selection", {})
    return found


def open_ledger(root: str | Path) -> Ledger:
    """A ledger of runs: records of older versions count where they mean the same."""
    return Ledger(Path(root), read=read_settings)


def look_up(kind: str, name: str, known: Mapping[str, Thing]) -> Thing:
    """What a name stands for, or a `ConfigError` with the nearest known name."""
    if name not in known:
        way_out = hint(name, known, f"known are {', '.join(known)}")
        raise ConfigError(f"there is no {kind} '{name}'; {way_out}")
    return known[name]


_KEPT: dict[str, Source] = {}


def kept_source(config: DataConfig) -> Source:
    """The data before transforms, with all folds; one dataset is kept at a time."""
    data = config.replace(fold=None, transforms={})
    key = repr(data)
    if key not in _KEPT:
        _KEPT.clear()
        _KEPT[key] = load_source(data)
    return _KEPT[key]


def policy_model(
    selection: Mapping[str, Any], network: NetworkConfig | None = None, inputs: Inputs | None = None
) -> SubgraphGNN:
    """A model whose prediction network, and selection network if nothing else is said, is this one."""
    settings = {"selection": selection} | ({} if network is None else {"prediction": plain(network)})
    model = build_model(settings=settings, inputs=inputs)
    assert isinstance(model, SubgraphGNN)
    return model
