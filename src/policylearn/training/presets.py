"""The settings that each dataset declares for each policy; the paper's own are YAML files beside the code."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_args

from policylearn.data.convert import is_table
from policylearn.data.datasets import CATALOG, find_entry
from policylearn.data.synthetic import is_synthetic, synthetic_names
from policylearn.settings import PolicyName
from policylearn.settings.parsing import ConfigError, changed, merged, nested, read_config
from policylearn.settings.run_config import POLICY, RecipeName, RunConfig
from policylearn.training.recipes import recipe_settings
from policylearn.training.systems import chosen_system
from policylearn.wording import hint

MANY_PICKS = 3
"""From this T on, a file with the suffix ``-t3`` holds where there is one."""
STAND_INS = {"degree": "random", "centrality": "random"}
"""The paper does not train with these; they differ from the other in which nodes they pick alone."""
WITHOUT_PICKS = ("full", "none")


def preset(
    dataset: str, policy: str, picks: int, recipe: RecipeName | None = None, *, model: str = POLICY
) -> RunConfig:
    """The settings of a dataset and a policy: what the command takes, and what Python should start from.

    Args:
        dataset: a name as in ``policylearn datasets``, a packed .npz or a CSV.
        policy: learned, random, full, none, degree or centrality.
        picks: T; policies without picks do not read it.
        recipe: `paper` or `modern`; None is `modern` for a table of SMILES and `paper` for everything else.
        model: `policy`, or a system by its name, which reads neither policy nor picks.
    """
    if model != POLICY:
        return _system_preset(dataset, model, recipe)
    policies = get_args(PolicyName)
    if policy not in policies:
        way_out = hint(policy, policies, f"the policies are {', '.join(policies)}")
        raise ConfigError(f"there is no policy '{policy}'; {way_out}")
    if picks < 0:
        raise ConfigError(f"'picks' must be >= 0 (got {picks}); the policy 'full' marks every node")
    chosen = {"name": policy, "picks": 0 if policy in WITHOUT_PICKS else picks}
    found = find_preset(dataset, policy, picks)
    base = read_config(found) if isinstance(found, Path) else changed(RunConfig(), dict(found or {}), dataset)
    table = is_table(dataset)
    chosen_recipe = recipe if recipe is not None else ("modern" if table else "paper")
    base = changed(base, recipe_settings(chosen_recipe, table=table), chosen_recipe)
    return changed(base, {"data": {"name": dataset}, "selection": chosen}, f"{dataset}/{policy}")


def run_config(
    data: str | Path, settings: Mapping[str, Any] | None = None, *, source: str = "the settings"
) -> RunConfig:
    """What ``policylearn train DATA`` trains: the settings of the data (see `preset`), and those given over them.

    Args:
        data: a name as in ``policylearn datasets``, a packed .npz or a table of SMILES.
        settings: by dotted name, such as ``{"data.target": "logS", "fit.epochs": 10}``, or nested.
        source: where they come from, for messages.
    """
    given = merged(nested(dict(settings or {})), {"data": {"name": str(data)}})
    if isinstance(given["data"].get("target"), str):
        given["data"]["target"] = [given["data"]["target"]]
    usual, selection = RunConfig(), given.get("selection")
    chosen = selection if isinstance(selection, Mapping) else {}
    base = preset(
        str(data),
        chosen.get("name", usual.selection.name),
        chosen.get("picks", usual.selection.picks),
        given.get("recipe"),
        model=given.get("model", usual.model),
    )
    return changed(base, given, source)


def _system_preset(dataset: str, model: str, recipe: RecipeName | None) -> RunConfig:
    """The settings that a dataset declares for a system; the system's own where it declares none."""
    found = None if _is_own(dataset) else find_entry(dataset, tuple(synthetic_names())).find_presets().get(model)
    base = read_config(found) if isinstance(found, Path) else changed(RunConfig(), dict(found or {}), dataset)
    chosen_recipe = recipe if recipe is not None else ("modern" if is_table(dataset) else "paper")
    base = changed(base, recipe_settings(chosen_recipe, table=False), chosen_recipe)
    config = changed(base, {"model": model, "data": {"name": dataset}}, f"{dataset}/{model}")
    chosen_system(config)  # a wrong name is said before data are read
    return config


def _is_own(dataset: str) -> bool:
    """Whether data are somebody's own, or drawn."""
    return dataset.endswith(".npz") or is_table(dataset) or is_synthetic(dataset)


def find_preset(dataset: str, policy: str, picks: int) -> Path | Mapping[str, Any] | None:
    """What the dataset's entry declares; None for data without settings, a `DataError` for an unknown name."""
    if _is_own(dataset):
        return None
    presets = find_entry(dataset, tuple(synthetic_names())).find_presets()
    name = STAND_INS.get(policy, policy)
    many = presets.get(f"{name}-t{MANY_PICKS}") if picks >= MANY_PICKS else None
    return many or presets.get(name)


def preset_names() -> tuple[str, ...]:
    """What the datasets declare, such as ``zinc/learned`` and ``zinc/learned-t3``."""
    return tuple(sorted(f"{entry.name}/{name}" for entry in CATALOG.values() for name in entry.find_presets()))
