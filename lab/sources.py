"""The data of a run, kept for the next one, which mostly has the same."""

from __future__ import annotations

from policylearn.settings import DataConfig
from policylearn.training import Source, load_source

_KEPT: dict[str, Source] = {}


def kept_source(config: DataConfig) -> Source:
    """The data before transforms, with all folds; one dataset is kept at a time."""
    data = config.replace(fold=None, transforms={})
    key = repr(data)
    if key not in _KEPT:
        _KEPT.clear()
        _KEPT[key] = load_source(data)
    return _KEPT[key]
