"""What a comparison compares: a YAML of variants, datasets and seeds, and the runs that these make.

::

    reference: random            # whom all others are compared with
    seeds: 10                    # 0 to 9; or a list, such as [2, 3]
    recipe: modern               # for all; a variant may have its own
    settings: {fit.epochs: 60}   # for all
    data:                        # each with settings of its own, also fewer seeds; {seed} in a path is the seed
      ogbg-molesol: {}
      splits/freesolv-{seed}.csv: {data.target: [expt], data.split_column: split}
      triangles: {dataset: counting-rr, data.target: [triangle]}   # a name of its own
    variants:                    # policy, picks, recipe, or model (a system), and any setting
      random: {policy: random, picks: 2}
      learned: {policy: learned, picks: 2, selection.estimator: reinforce}
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lab.ledger import short_hash
from lab.settings import settings_of
from policylearn.models import complete
from policylearn.settings import ConfigError, RunConfig
from policylearn.settings.run_config import read_yaml
from policylearn.settings.schema import merged, nested
from policylearn.training.presets import run_config
from policylearn.wording import hint

FIELDS = ("reference", "seeds", "recipe", "settings", "data", "variants")
SHORT_FOR = {"policy": "selection.name", "picks": "selection.picks"}
"""Of the settings of a variant."""


@dataclass(frozen=True)
class Comparison:
    """What is compared.

    Args:
        name: of the file.
        reference: the variant that all others are compared with.
        seeds: of the trainings.
        data: settings of each dataset, by its name.
        variants: settings of each variant, by its name.
        recipe: for all variants that have none of their own.
        settings: for all.
    """

    name: str
    reference: str
    seeds: tuple[int, ...]
    data: Mapping[str, Mapping[str, Any]]
    variants: Mapping[str, Mapping[str, Any]]
    recipe: str | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class CompareJob:
    """One training: a variant on a dataset with a seed."""

    data: str
    variant: str
    seed: int
    config: RunConfig

    @property
    def settings(self) -> dict[str, Any]:
        """What makes it what it is."""
        return settings_of(self.config)

    @property
    def record(self) -> str:
        """Where its record goes; other settings have another name."""
        return f"{label_of(self.data)}/{self.variant}-{self.seed}-{short_hash(self.settings)}"


def read_comparison(path: str | Path) -> Comparison:
    """A comparison from its YAML, or a `ConfigError` that names what is wrong."""
    path = Path(path)
    content = read_yaml(path)
    for key in content:
        if key not in FIELDS:
            raise ConfigError(f"{path}: there is no '{key}' in a comparison; {hint(str(key), FIELDS, 'see its docs')}")
    for key in ("data", "variants"):
        if not isinstance(content.get(key), dict) or not content[key]:
            raise ConfigError(f"{path}: '{key}' must map names to settings")
    seeds = content.get("seeds", 1)
    chosen = tuple(range(seeds)) if isinstance(seeds, int) else tuple(seeds) if isinstance(seeds, list) else ()
    if not chosen or not all(isinstance(seed, int) and seed >= 0 for seed in chosen):
        raise ConfigError(f"{path}: 'seeds' must be a whole number >= 1, or a list of seeds (got {seeds})")
    variants = {str(name): dict(settings or {}) for name, settings in content["variants"].items()}
    reference = str(content.get("reference", next(iter(variants))))
    if reference not in variants:
        raise ConfigError(f"{path}: the reference '{reference}' is no variant; {hint(reference, variants, '')}")
    return Comparison(
        path.stem,
        reference,
        chosen,
        {str(name): dict(settings or {}) for name, settings in content["data"].items()},
        variants,
        content.get("recipe"),
        dict(content.get("settings") or {}),
    )


def check_variant(comparison: Comparison, name: str) -> str:
    """The name, if a variant has it; else a `ConfigError` that tells which there are."""
    if name not in comparison.variants:
        way_out = hint(name, comparison.variants, f"the variants are {', '.join(comparison.variants)}")
        raise ConfigError(f"there is no variant '{name}' in the comparison {comparison.name}; {way_out}")
    return name


def jobs_of(comparison: Comparison) -> list[CompareJob]:
    """Every training, seed by seed, so that what is done first can be compared first."""
    return [
        _job(comparison, data, variant, seed)
        for place, seed in enumerate(comparison.seeds)
        for data, own in comparison.data.items()
        if place < own.get("seeds", len(comparison.seeds))
        for variant in comparison.variants
    ]


def _job(comparison: Comparison, data: str, variant: str, seed: int) -> CompareJob:
    said: dict[str, Any] = {} if comparison.recipe is None else {"recipe": comparison.recipe}
    for settings in (comparison.settings, comparison.data[data], comparison.variants[variant], {"fit.seed": seed}):
        own = {SHORT_FOR.get(key, key): value for key, value in settings.items() if key not in ("seeds", "dataset")}
        said = merged(said, nested(own))
    dataset = comparison.data[data].get("dataset", data).replace("{seed}", str(seed))
    config = run_config(dataset, said, source=f"{comparison.name}, variant '{variant}'")
    return CompareJob(data, variant, seed, complete(config).replace(grid={}))


def label_of(data: str) -> str:
    """A dataset's name in one word, such as a table's without folder, seed and ending."""
    return Path(data).name.replace("-{seed}", "").replace("{seed}", "").split(".")[0]
