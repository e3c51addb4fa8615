"""Systems by name: what ``--model`` knows, Policy-learn among them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from torch import nn

from policylearn.models.protocol import GraphModel
from policylearn.nn import Features
from policylearn.registry import Registry
from policylearn.settings import ConfigError, Level
from policylearn.settings.run_config import POLICY_LEARN, RunConfig
from policylearn.settings.schema import Positive, Settings, all_names, plain, put
from policylearn.wording import hint

FindPreset = Callable[[str], Mapping[str, Any] | None]
"""The settings that a dataset declares under a name; None where it declares none."""
TransformSpec = tuple[str, Mapping[str, Any]]
"""Name and settings of a transform of the data (`data.transforms`) whose structures a system reads."""


@dataclass(frozen=True)
class Inputs:
    """What a system is built from besides its settings: the features of the data and the outputs of the task.

    Args:
        node_features: what nodes come with.
        edge_features: what edges come with.
        outputs: width of the output.
        level: whether a prediction belongs to a graph or to a node.
        learned: what transforms learned from the training graphs (vocabularies, degrees), by their name; one that
            learns nothing has an entry too.
        descriptors: numbers per graph in the extra 'descriptors'.
        regression: whether the targets are numbers, and not classes.
    """

    node_features: Features = field(default=Features())
    edge_features: Features = field(default=Features())
    outputs: int = 1
    level: Level = "graph"
    learned: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    descriptors: int = 0
    regression: bool = False

    def learned_by(self, transform: str) -> Mapping[str, Any]:
        """What a transform learned, or a `ValueError` where the system is built before that."""
        if transform not in self.learned:
            raise ValueError(
                f"the model needs what the transform '{transform}' learns from the training graphs;"
                " fit it first (fit_apply) and hand its learned values to Inputs(learned=...)"
            )
        return self.learned[transform]


class LayerSettings(Settings, frozen=True):
    """Settings that most systems have, each with defaults of its own."""

    layers: Positive = 6
    """Number of layers."""
    channels: Positive = 64
    """Width C of every layer."""


class RowLimitSettings(LayerSettings, frozen=True):
    """Settings of systems that hold all copies of a batch at once."""

    max_rows: Positive = 1 << 20
    """Rows (one per node and copy) held at once; larger batches are refused (DS-GNN predicts them in pieces)."""


def _copies(settings: Settings, nodes: int) -> int:
    """A system that limits its rows and makes no picks has a copy per node."""
    return nodes if hasattr(settings, "max_rows") and not hasattr(settings, "picks") else 1


@dataclass(frozen=True)
class System:
    """A model that can be asked for by name: its settings, how it is built, and what it needs of the data.

    Args:
        name: as in ``--model``.
        title: one line for people, with authors and year.
        settings: a class of `Settings`; its attributes have docstrings and become options.
        network: from settings and inputs to a model, such as the model's class.
        transforms: which structures the model reads, from settings and inputs.
        normalise: checks settings that are declared elsewhere, such as a policy's, and writes their defaults out.
        reads: structures of the user's own transforms that it reads besides those.
        levels: what it can predict for.
        copies: copies of a graph of so many nodes that a step holds, from settings and nodes; estimates memory.
        label: what it is called in a run's name and in tables, from its settings; the system's name by default.
        facts: what a run's metrics say of it besides its name.
        presets: the settings that a dataset declares for it, from its settings and a look-up of what the dataset
            declares by name; by default those under the system's name.
        recipe: settings that belong to a recipe, from those asked for, its name and whether data is a table.
        note: what a user should know before choosing it, such as what it needs in memory.
    """

    name: str
    title: str
    settings: type[Settings]
    network: Callable[[Any, Inputs], GraphModel]
    transforms: Callable[[Any, Inputs], Sequence[TransformSpec]] = lambda _settings, _inputs: ()
    normalise: Callable[[Any], Any] = lambda settings: settings
    reads: tuple[str, ...] = ()
    levels: tuple[Level, ...] = ("graph",)
    copies: Callable[[Any, int], int] = _copies
    label: Callable[[Any], str] | None = None
    facts: Callable[[Any], Mapping[str, Any]] = lambda _settings: {}
    presets: Callable[[Any, FindPreset], Mapping[str, Any] | None] | None = None
    recipe: Callable[[Mapping[str, Any], str, bool], Mapping[str, Any]] = lambda _asked, _recipe, _table: {}
    note: str = ""

    def read(self, content: Mapping[str, Any]) -> Any:
        """Its settings from a mapping; what is not said is by default."""
        return self.normalise(put(self.settings(), content))

    def build(self, settings: Any, inputs: Inputs) -> nn.Module:
        """The model, or a `ValueError` where it cannot predict what the task wants."""
        if inputs.level not in self.levels:
            raise ValueError(f"model '{self.name}' predicts graphs, not nodes; leave 'model' out for tasks of nodes")
        model = self.network(settings, inputs)
        lacking = [name for name in ("forward", "objective", "depends_on_batch") if not hasattr(model, name)]
        if lacking or not isinstance(model, nn.Module):
            raise ConfigError(
                f"the model '{self.name}' lacks {' and '.join(lacking) or 'the base class nn.Module'}; see"
                " policylearn.models.GraphModel, or take objective = mean_loss and depends_on_batch = False"
            )
        return model

    def label_of(self, settings: Any) -> str:
        """What it is called with these settings."""
        return self.name if self.label is None else self.label(settings)


SYSTEMS = Registry[System]("model", "policylearn.models.systems", ConfigError)


def register(system: System) -> System:
    """Make a system known under its name; returns it."""
    taken = set(system.settings.__struct_fields__) & set(RunConfig.__struct_fields__)
    if taken:
        raise ValueError(f"the model '{system.name}' has a setting '{min(taken)}', as every run has; rename it")
    return SYSTEMS.register(system.name, system)


def build_model(
    name: str = POLICY_LEARN, settings: Mapping[str, Any] | Settings | None = None, inputs: Inputs | None = None
) -> nn.Module:
    """A model by its name in ``policylearn systems``, with default settings and for one number per graph unless told.

    Example:
        >>> model = build_model("policy-learn", {"selection": {"picks": 3}, "prediction": {"channels": 32}})
    """
    system = SYSTEMS[name]
    chosen = settings if isinstance(settings, Settings) else system.read(settings or {})
    return system.build(chosen, Inputs() if inputs is None else inputs)


def chosen_system(config: RunConfig) -> tuple[System, Any]:
    """The system of a run and its settings; a `ConfigError` says what is wrong with them."""
    system = SYSTEMS[config.model]
    for name in config.system.keys() - {*system.settings.__struct_fields__}:
        known = [*all_names(system.settings), *all_names(RunConfig)]
        way_out = hint(name, known, f"'policylearn settings {system.name}' lists all")
        raise ConfigError(f"there is no setting '{name}' of the model '{system.name}'; {way_out}")
    return system, system.read(config.system)


def complete(config: RunConfig) -> RunConfig:
    """The configuration with every setting of its system written out, as a run keeps it: defaults may change."""
    _, settings = chosen_system(config)
    return config.replace(system=plain(settings))
