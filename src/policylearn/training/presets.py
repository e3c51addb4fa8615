"""The paper's settings for each of its datasets and policies, shipped as YAML beside the code."""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import get_args

from policylearn.data.catalog import find_entry
from policylearn.data.synthetic import is_synthetic, synthetic_names
from policylearn.models.config import EstimatorName, PolicyName
from policylearn.training.config import RunConfig
from policylearn.training.data_source import TABLES
from policylearn.training.parsing import ConfigError, changed, read_config

SHIPPED = Path(__file__).parents[1] / "configs"
MANY_PICKS = 3
"""From this T on, a file with the suffix ``-t3`` holds where there is one."""
STAND_INS = {"degree": "random", "centrality": "random"}
"""The paper does not train with these; they differ from the other in which nodes they pick alone."""
WITHOUT_PICKS = ("full", "none")
FOR_MOLECULES: EstimatorName = "straight_through"
"""How a policy learns on a table of SMILES, as in the shipped settings for molecules; docs/decisions.md says why."""


def preset(dataset: str, policy: str, picks: int) -> RunConfig:
    """The paper's settings; sensible ones for data that the paper does not use.

    Args:
        dataset: a name as in ``policylearn datasets``, a packed .npz or a CSV.
        policy: learned, random, full, none, degree or centrality.
        picks: T; policies without picks do not read it.
    """
    policies = get_args(PolicyName)
    if policy not in policies:
        close = difflib.get_close_matches(policy, policies, 1)
        hint = f"did you mean '{close[0]}'?" if close else f"the policies are {', '.join(policies)}"
        raise ConfigError(f"there is no policy '{policy}'; {hint}")
    if picks < 0:
        raise ConfigError(f"'picks' must be >= 0 (got {picks}); the policy 'full' marks every node")
    chosen = {"name": policy, "picks": 0 if policy in WITHOUT_PICKS else picks}
    path = find_preset(dataset, policy, picks)
    base = RunConfig() if path is None else read_config(path)
    if policy == "learned" and dataset.endswith(TABLES):
        chosen["estimator"] = FOR_MOLECULES
    return changed(base, {"data": {"name": dataset}, "selection": chosen}, f"{dataset}/{policy}")


def find_preset(dataset: str, policy: str, picks: int) -> Path | None:
    """The file with the settings; None for data without one, and a `ConfigError` or `DataError` for what is unknown."""
    name = STAND_INS.get(policy, policy)
    plain, many = (SHIPPED / dataset / f"{stem}.yaml" for stem in (name, f"{name}-t{MANY_PICKS}"))
    if f"{dataset}/{name}" in preset_names():
        return many if picks >= MANY_PICKS and many.exists() else plain
    if not (dataset.endswith((".npz", *TABLES)) or is_synthetic(dataset)):
        find_entry(dataset, tuple(synthetic_names()))
    return None


def preset_names() -> tuple[str, ...]:
    """What is shipped, such as ``zinc/learned`` and ``zinc/learned-t3``."""
    return tuple(sorted(f"{path.parent.name}/{path.stem}" for path in SHIPPED.glob("*/*.yaml")))
