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

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lab.ledger import short_hash
from lab.settings import look_up, settings_of
from policylearn.models import complete
from policylearn.settings import ConfigError, RunConfig
from policylearn.settings.run_config import read_yaml
from policylearn.settings.schema import Seed, Settings, merged, nested, put
from policylearn.training.presets import run_config

SHORT_FOR = {"policy": "selection.name", "picks": "selection.picks"}
"""Of the settings of a variant."""


class Comparison(Settings, frozen=True):
    """What is compared."""

    name: str = ""
    """Of the file."""
    reference: str = ""
    """The variant that all others are compared with; the first by default."""
    seeds: tuple[Seed, ...] = (0,)
    """Of the trainings."""
    data: dict[str, dict[str, Any]] = {}
    """Settings of each dataset, by its name."""
    variants: dict[str, dict[str, Any]] = {}
    """Settings of each variant, by its name."""
    recipe: str | None = None
    """For all variants that have none of their own."""
    settings: dict[str, Any] = {}
    """For all."""


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
    if isinstance(content.get("seeds"), int):
        content["seeds"] = list(range(content["seeds"]))
    try:
        found = put(Comparison(name=path.stem), content)
        for key in ("seeds", "data", "variants"):
            if not getattr(found, key):
                raise ConfigError(f"'{key}' must not be empty")
        found = found.replace(reference=found.reference or next(iter(found.variants)))
        look_up("variant", found.reference, found.variants)
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from None
    return found


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
