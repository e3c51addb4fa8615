"""The settings that a run starts from: those of its dataset, its recipe and its model."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from policylearn.data.convert import is_table
from policylearn.data.datasets import CATALOG, find_entry
from policylearn.data.datasets.entry import CONFIGS
from policylearn.data.synthetic import SYNTHETIC, is_synthetic
from policylearn.models import chosen_system
from policylearn.policies import without_replaced
from policylearn.settings.run_config import RecipeName, RunConfig, changed, read_yaml
from policylearn.settings.schema import merged, nested

KERNEL: dict[str, Any] = {"data": {"transforms": {"fingerprint": {}}}}
"""Every table of SMILES has fingerprints, from which a kernel model learns beside the network."""


@functools.cache
def recipe_file(name: str) -> Mapping[str, Any]:
    """The settings of ``configs/NAME.yaml``."""
    return read_yaml(CONFIGS / f"{name}.yaml")


def run_config(
    data: str | Path, settings: Mapping[str, Any] | None = None, *, source: str = "the settings"
) -> RunConfig:
    """What ``policylearn train DATA`` trains: the settings of the data and the model, and those given over them.

    Args:
        data: a name as in ``policylearn datasets``, a packed .npz or a table of SMILES.
        settings: by dotted name, such as ``{"data.target": "logS", "fit.epochs": 10}``, or nested.
        source: where they come from, for messages.
    """
    given = merged(nested(dict(settings or {})), {"data": {"name": str(data)}})
    start = given["fit"].get("start") if isinstance(given.get("fit"), Mapping) else None
    if isinstance(start, str | Path):  # anything else is refused below, by its name
        stored = settings_of_start(start)
        given = merged(stored | {"system": fitting(stored["system"], given)}, given)
    if isinstance(given["data"].get("target"), str):
        given["data"]["target"] = [given["data"]["target"]]
    wanted = changed(RunConfig(), given, source)
    return changed(preset(wanted, given.get("recipe")), given, source)


def settings_of_start(path: str | Path) -> dict[str, Any]:
    """The model of a run that another starts from, with the transforms that it reads."""
    from policylearn.training.pretrained import config_of  # brings Lightning, which most commands do not need

    found = config_of(path)
    unread = dict.fromkeys(recipe_file("tables")["data"]["transforms"])
    return {"model": found.model, "system": dict(found.system), "data": {"transforms": unread | found.data.transforms}}


def fitting(system: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """Stored settings of a model, without those of a policy or an estimator that ``given`` replaces."""
    stored, over = system.get("selection"), given.get("selection")
    if isinstance(stored, Mapping) and isinstance(over, Mapping):
        return {**system, "selection": without_replaced(stored, over)}
    return dict(system)


def preset(config: RunConfig, recipe: RecipeName | None = None) -> RunConfig:
    """The settings to start from for the data and the model that a configuration names.

    The ``recipe`` is `paper` or `modern`; None is `modern` for a table of SMILES and `paper` for everything else.
    """
    dataset, table = config.data.name, is_table(config.data.name)
    system, chosen = chosen_system(config)
    named = "modern" if table and recipe is None else recipe or "paper"
    find = _declared(dataset)
    found = find(system.name) if system.presets is None else system.presets(chosen, find)
    base = changed(RunConfig(), found or {}, dataset)
    training: Mapping[str, Any] = {} if named == "paper" else recipe_file("modern")
    if table:
        training = merged(training, recipe_file("tables") if named == "modern" and system.reads else {})
        training = merged(training, KERNEL)
    training = merged(training, system.recipe(config.system, named, table))
    return changed(base, {**training, "recipe": named, "model": config.model}, f"{dataset}/{system.name}")


def _declared(dataset: str) -> Callable[[str], Mapping[str, Any] | None]:
    """A look-up of the settings that the dataset's entry declares; data without an entry declares none."""
    own = not dataset or dataset.endswith(".npz") or is_table(dataset) or is_synthetic(dataset)
    presets = {} if own else find_entry(dataset, tuple(SYNTHETIC)).find_presets()

    def find(name: str) -> Mapping[str, Any] | None:
        found = presets.get(name)
        return read_yaml(found) if isinstance(found, Path) else found

    return find


def preset_names() -> tuple[str, ...]:
    """What the datasets declare, such as ``zinc/learned`` and ``zinc/learned-t3``."""
    return tuple(sorted(f"{entry.name}/{name}" for entry in CATALOG.values() for name in entry.find_presets()))
